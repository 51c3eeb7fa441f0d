package manageapi_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// A key ends at the time that it was made with, and is refused with a sentence from then on; that one which is used ends
// within a week is said before. It is known who made it.
func TestAPIKeyExpires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	end := b.Clock.Now().Add(10 * 24 * time.Hour)
	b.problem(http.MethodPost, "/v1/api-keys", `{"label":"CI","role":"viewer","expiresAt":"2020-01-01T00:00:00Z"}`,
		http.StatusUnprocessableEntity)
	k := b.keyed().as(b.key("admin", "", model.Admin))
	made := parsed[api.APIKey](b, k.must(http.StatusCreated, http.MethodPost, "/v1/api-keys",
		`{"label":"CI","role":"operator","tenant":"acme","expiresAt":"`+end.Format(time.RFC3339)+`"}`))
	require.Equal(t, end, made.ExpiresAt)
	require.Equal(t, "admin", made.MadeBy.Actor)
	ci := k.as("Bearer " + made.Key)

	kinds := func() (all []string) {
		needs, err := b.Runtime.Needs(t.Context(), b.Clock.Now())
		require.NoError(t, err)
		for _, n := range needs {
			if n.Kind == model.NeedAPIKey {
				all = append(all, n.Tenant+" "+n.Action)
			}
		}
		return all
	}
	b.Clock.Advance(4 * 24 * time.Hour)
	require.Empty(t, kinds(), "it was never used")
	ci.must(http.StatusOK, http.MethodGet, "/v1/exports", "")
	require.Equal(t, []string{"acme hiregate api-key show " + made.ID}, kinds())

	b.Clock.Advance(6 * 24 * time.Hour)
	require.Contains(t, ci.must(http.StatusUnauthorized, http.MethodGet, "/v1/exports", "").body, "this API key has expired")
	require.Empty(t, kinds())
	out, _, err := b.cli("api-key", "show", made.ID)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^expires +2026-11-30`, out)
	require.Regexp(t, `(?m)^made by +admin`, out)

	_, _, err = b.cli("api-key", "set", "Nightly", "--expires", "soon")
	require.ErrorContains(t, err, "--expires")
	_, _, err = b.cli("api-key", "set", "Nightly", "--expires", b.Clock.Now().Add(time.Hour).Format(time.RFC3339))
	require.NoError(t, err)
	all := get[api.List[api.APIKey]](b, "/v1/api-keys").Items
	n := slices.IndexFunc(all, func(one api.APIKey) bool { return one.Label == "Nightly" })
	require.Equal(t, b.Clock.Now().Add(time.Hour).UTC(), all[n].ExpiresAt)
}
