package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSignaturesOfATenantAreShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	acme, ok := b.Gateway.Config.Tenant("acme")
	require.True(t, ok)
	const path = "/v1/tenants/acme/signatures"
	require.JSONEq(t, `{"secrets":[{"number":1}],"refused":{"count":0}}`,
		b.must(http.StatusOK, http.MethodGet, path, "").body)
	b.Runtime.Signatures.Note(acme, 1, b.Clock.Now())
	b.Runtime.Signatures.Note(acme, 0, b.Clock.Now())
	require.NoError(t, b.Runtime.Signatures.Flush(t.Context(), time.Now(), 0))
	require.JSONEq(t, `{"secrets":[{"number":1,"lastUsedAt":"2026-11-20T12:00:00Z"}],
		"refused":{"count":1,"lastAt":"2026-11-20T12:00:00Z"}}`, b.must(http.StatusOK, http.MethodGet, path, "").body)
	out, _, err := b.cli("tenant", "show", "acme")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^secret 1 last used +2026-11-20`, out)
	require.Regexp(t, `(?m)^wrong signatures +1\nthe last one +2026-11-20`, out)
	out, _, err = b.cli("tenant", "show", "acme", "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"lastUsedAt":"2026-11-20T12:00:00Z"`)
	require.Contains(t, out, `"id":"acme"`)
}
