package manageapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// authorOf is who triggered an export, as the API shows it.
func (b *fixture) authorOf(uuid string) *model.Author {
	b.t.Helper()
	return get[struct{ Author *model.Author }](b, acme+"/exports/"+uuid).Author
}

// An export that a step or a person triggers has an author, who is in the audit under the name of that time. One that
// was received has none.
func TestATriggeredExportHasAnAuthor(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.people()
		b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: b.Clock.Now()})
		b.must(http.StatusCreated, http.MethodPut, acme+"/steps/hired/helper", `{"integrations":["hris"]}`)
		keyed := b.keyed()
		k := keyed.as(keyed.key("k-1", "acme", model.Operator))
		entered := parsed[struct{ Export string }](b, k.must(http.StatusCreated, http.MethodPost,
			application+"/transitions", `{"step":"hired"}`))
		want := &model.Author{Actor: "k-1", Name: "k-1"}
		require.Equal(t, want, b.authorOf(entered.Export))
		require.Contains(t, b.entries("limit=500"), [3]string{"acme", "export", "exports/" + entered.Export})

		b.deliver(model.Delivered, 200)
		exported := parsed[exportedAnswer](b, k.must(http.StatusCreated, http.MethodPost, acme+"/candidates/c-1/exports",
			`{"integration":"hris"}`))
		require.Equal(t, want, b.authorOf(exported.UUID))

		b.export("acme", "u-1")
		require.Nil(t, b.authorOf("u-1"))
	})
}

// The audit has the user who ran the command line at the admin endpoint, as a claim. Elsewhere nobody is believed that.
func TestTheAuditHasTheUserOfALocalCommand(t *testing.T) {
	b := setup(t)
	b.export("acme", "u-1", quarantined)
	t.Setenv("SUDO_USER", "olga")
	_, _, err := b.cli("export", "release", "acme/u-1")
	require.NoError(t, err)
	last := func() model.AuditEntry {
		page, _, err := b.Runtime.Store().ListAudit(t.Context(), store.AuditFilter{Limit: 1})
		require.NoError(t, err)
		return page[0]
	}
	require.Equal(t, model.AdminEndpoint, last().Actor)
	require.True(t, last().Claimed)
	require.Regexp(t, "^olga as ", last().Name)
	out, _, err := b.cli("audit", "list")
	require.NoError(t, err)
	require.Regexp(t, `admin endpoint \(olga as \S+, claimed\) +release`, out)

	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{}`)
	require.Equal(t, model.Author{Actor: model.AdminEndpoint}, last().Author, "nobody said who they are")
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/umbrella", `{}`, "Authorization", "Basic YQpiOg==")
	require.Equal(t, "a b", last().Name, "what is claimed is one line")
	b.keyed().must(http.StatusUnauthorized, http.MethodPut, "/v1/tenants/globex2", `{}`, "Authorization", "Basic cm9vdDo=")
	for _, e := range b.Logged.All() {
		require.NotContains(t, e.Message, "olga")
		for _, v := range e.ContextMap() {
			require.NotContains(t, fmt.Sprint(v), "olga")
		}
	}
}
