package console

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// Operators search answers: the address has the text sealed, keeps the filters, and shows nothing to others.
func TestAnswersAreSearched(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	b.export("acme", uuid(2), model.Delivered)
	text := "ALERT(1)"
	w := b.send(ops, http.MethodPost, "/exports/search", url.Values{"text": {text}, "tenant": {"acme"}, "status": {"5xx"}})
	require.Equal(t, http.StatusSeeOther, w.Code)
	to, err := url.Parse(w.Header().Get("Location"))
	require.NoError(t, err)
	require.NotContains(t, to.String(), url.QueryEscape(text))
	require.Equal(t, []string{"acme", "5xx"}, []string{to.Query().Get("tenant"), to.Query().Get("status")})
	page := b.see(ops, "/exports?"+to.RawQuery, http.StatusOK)
	require.Contains(t, page, uuid(1))
	require.NotContains(t, page, uuid(2))
	require.Contains(t, page, "of 1 exports")
	require.Equal(t, http.StatusForbidden, b.send(viewer, http.MethodPost, "/exports/search", url.Values{"text": {text}}).Code)
	require.NotContains(t, b.see(viewer, "/exports?"+to.RawQuery, http.StatusOK), "of 1 exports", "it is the list without the text")
}
