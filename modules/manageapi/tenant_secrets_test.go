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

// An inbound secret ends at a date; who still signs with it a week before is named. What has ended stays in the list until
// another secret is added.
func TestInboundSecretEndsAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{"secrets":["the former secret of it","the next secret of it"]}`)
	const path = "/v1/tenants/initech/secrets/1"
	now := b.Clock.Now()
	end := now.Add(10 * 24 * time.Hour)
	for body, want := range map[string]int{`{"endsAt":"2020-01-01T00:00:00Z"}`: http.StatusUnprocessableEntity,
		`{"endsAt":"2060-01-01T00:00:00Z"}`: http.StatusUnprocessableEntity, `{"endsAt":1}`: http.StatusBadRequest} {
		b.problem(http.MethodPut, path, body, want)
	}
	b.problem(http.MethodPut, "/v1/tenants/initech/secrets/3", `{}`, http.StatusNotFound)
	_, _, err := b.cli("tenant", "end-secret", "initech", "1", "--at", end.Format(time.RFC3339))
	require.NoError(t, err)
	shown := get[api.Signatures](b, "/v1/tenants/initech/signatures")
	require.Equal(t, end, shown.Secrets[0].EndsAt)
	require.Zero(t, shown.Secrets[1].EndsAt)
	out, _, err := b.cli("tenant", "show", "initech")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^secret 1 ends +2026-11-30`, out)

	tenant := func() *model.Tenant {
		found, ok := b.Gateway.Config.Tenant("initech")
		require.True(t, ok)
		return found
	}
	require.Equal(t, []string{"the former secret of it", "the next secret of it"}, tenant().SigningKeysAt(end.Add(-time.Second)))
	require.Equal(t, []string{"", "the next secret of it"}, tenant().SigningKeysAt(end))
	b.must(http.StatusOK, http.MethodPut, "/v1/tenants/initech", `{"name":"Initech"}`) // which keeps the end
	require.Equal(t, end, tenant().SecretEnds["the former secret of it"].UTC())

	used := func(number int, at time.Time) {
		b.Runtime.Signatures.Note(tenant(), number, at)
		require.NoError(t, b.Runtime.Signatures.Flush(t.Context(), time.Now(), 0))
	}
	warned := func() bool {
		needs, err := b.Runtime.Needs(t.Context(), b.Clock.Now())
		require.NoError(t, err)
		return slices.ContainsFunc(needs, func(n model.Need) bool { return n.Kind == model.NeedSecret && n.Tenant == "initech" })
	}
	used(1, now)
	require.False(t, warned(), "it ends in ten days")
	b.Clock.Advance(5 * 24 * time.Hour)
	require.True(t, warned())
	used(2, b.Clock.Now())
	require.False(t, warned(), "the service signs with the other one")
	used(1, b.Clock.Now())
	require.True(t, warned(), "somebody signs with both")
	_, _, err = b.cli("tenant", "end-secret", "initech", "1", "--never")
	require.NoError(t, err)
	require.False(t, warned())
	require.Empty(t, tenant().SecretEnds)

	_, _, err = b.cli("tenant", "end-secret", "initech", "1", "--at", b.Clock.Now().Add(time.Hour).Format(time.RFC3339))
	require.NoError(t, err)
	b.Clock.Advance(time.Hour)
	require.Len(t, get[api.Signatures](b, "/v1/tenants/initech/signatures").Secrets, 2)
	secret, _, err := b.cli("tenant", "add-secret", "initech")
	require.NoError(t, err)
	require.Equal(t, []string{"the next secret of it", secret[:len(secret)-1]}, tenant().SigningKeys())
	_, _, err = b.cli("tenant", "end-secret", "initech", "1")
	require.NoError(t, err)
	require.Len(t, tenant().Secrets, 1)
	var done []string
	for _, entry := range get[api.List[model.AuditEntry]](b, "/v1/audit?tenant=initech").Items {
		done = append(done, entry.Action+" "+entry.Object+" "+entry.Detail)
	}
	require.Contains(t, done, "set secrets/1 It ends at 2026-11-30T12:00:00Z.")
	require.Contains(t, done, "set secrets/1 It goes on.")
}
