package console

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Administrators label tenants, and each list of a label says so.
func TestLabelsOfTenants(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertTenant(&model.Tenant{Name: "initech", Zone: "Europe/Berlin"}, b.Clock.Now())
	})
	require.NoError(t, b.Runtime.Directory.Refresh(t.Context()))
	b.post(viewer, "/tenants/acme/labels", url.Values{"labels": {"region=north"}}, http.StatusForbidden)
	b.post(ops, "/tenants/initech/labels", url.Values{"labels": {"Region"}}, http.StatusUnprocessableEntity)
	b.post(ops, "/tenants/initech/labels", url.Values{"labels": {" tier=gold  region=north"}}, http.StatusSeeOther)
	text := b.see(ops, "/tenants/initech", http.StatusOK)
	require.Contains(t, text, `value="region=north tier=gold"`)
	require.Contains(t, text, `value="Europe/Berlin"`, "the rest stays")
	text = b.see(ops, "/tenants?label=tier=gold", http.StatusOK)
	require.Contains(t, text, `href="/console/tenants/initech"`)
	require.NotContains(t, text, `who2"><a href="/console/tenants/globex"`)
	require.Contains(t, text, `href="/console/integrations?label=tier`)
	require.NotContains(t, b.see(ops, "/integrations?label=tier=gold", http.StatusOK), "acme / hris")
	require.Contains(t, b.see(ops, "/?label=tier=gold", http.StatusOK), "<bdi>tier=gold</bdi>")
	require.Contains(t, b.see(ops, "/redeliveries?label=tier=gold", http.StatusOK), "<bdi>tier=gold</bdi>")
	exports := b.see(ops, "/exports?label=region=north&outcome=failed", http.StatusOK)
	require.Contains(t, exports, `href="/console/exports?outcome=failed"><bdi>region=north</bdi>`)
	require.Contains(t, exports, `href="/console/exports?label=region%3Dnorth"`, "each question keeps the label")
}
