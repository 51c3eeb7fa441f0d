package apply_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/relay"
	"github.com/hiregate/hiregate/internal/store"
)

// What applicants sent is erased after its time, also of a tenant that has left the configuration.
func TestSubmissionsOfARemovedTenantAreErased(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	r.requireTaken(r.apply(application(t, code, fine(t)), me...))
	r.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	r.requireTaken(r.apply(application(t, code, with(fine(t), "email", "grace@example.com")), me...))
	r.Reconfigure(func(c *config.Config) { delete(c.Tenants, "acme") })
	for range 2 { // the one that waits fails first
		r.Clock.Advance(relay.KeptFor + time.Hour)
		require.NoError(t, r.Runtime.Relay.Loop().Round(t.Context()))
	}
	all := r.submissions(t)
	require.Len(t, all, 2)
	for _, s := range all {
		_, err := r.Runtime.Store().SubmissionContent(t.Context(), s)
		require.ErrorIs(t, err, store.ErrNotFound, "%s", s.State)
	}
}

// A service compares the answer to a question that has options with these, however their accents are written.
func TestAnOptionIsSentAsTheServiceOffersIt(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	const option, composed = "Cafe\u0301", "Caf\u00e9"
	r.answer(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/apply/v2/authentication":
			io.WriteString(w, `{"token":"t"}`)
		case "/apply/v2/application":
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set(contentType, asJSON)
			io.WriteString(w, `[{"id":"place","format":"Select","label":"Place","options":["`+option+`"]},
				{"id":"ways","format":"Radio","label":"Ways","options":["`+option+`"]},
				{"id":"lastName","format":"Text","label":"Name"}]`)
		}
	})
	answers := []answered{{"place", option}, {"ways", option}, {"lastName", option}}
	r.requireTaken(r.apply(application(t, code, answers), r.bearer(partner)...))
	require.Contains(t, string(<-r.bodies), `[{"questionId":"place","value":"`+option+`"},{"questionId":"ways","value":"`+option+
		`"},{"questionId":"lastName","value":"`+composed+`"}]`)
}
