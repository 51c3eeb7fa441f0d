package manageapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
)

// Links with which clients see their exports are listed until they end, without the links themselves, and are revoked.
func TestPortalLinksAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.problem(http.MethodPost, "/v1/tenants/acme/portal", `{}`, http.StatusConflict)
	b.Gateway.PortalLink = func(p gateway.Portal) (string, error) {
		return "https://gate.example/console/portal?ticket=" + p.ID, nil
	}
	b.problem(http.MethodPost, "/v1/tenants/acme/portal", `{"label":"`+strings.Repeat("x", 256)+`"}`, http.StatusUnprocessableEntity)
	_, _, err := b.cli("tenant", "portal", "acme", "--label", "Sam Rivera", "--bodies")
	require.NoError(t, err)
	b.must(http.StatusOK, http.MethodPost, "/v1/tenants/globex/portal", "")

	all := get[api.List[api.PortalLink]](b, "/v1/tenants/acme/portals").Items
	require.Len(t, all, 1)
	require.Equal(t, api.PortalLink{ID: all[0].ID, Label: "Sam Rivera", Bodies: true, MadeBy: all[0].MadeBy, CreatedAt: b.Clock.Now().UTC(),
		ExpiresAt: b.Clock.Now().Add(time.Hour).UTC()}, all[0])
	require.Equal(t, model.AdminEndpoint, all[0].MadeBy.Actor)
	out, _, err := b.cli("portal", "list", "acme")
	require.NoError(t, err)
	require.Contains(t, out, "Sam Rivera")
	require.NotContains(t, out, "ticket")

	b.problem(http.MethodDelete, "/v1/tenants/globex/portals/"+all[0].ID, "", http.StatusNotFound)
	_, _, err = b.cli("portal", "remove", "acme/"+all[0].ID, "--yes")
	require.NoError(t, err)
	b.problem(http.MethodDelete, "/v1/tenants/acme/portals/"+all[0].ID, "", http.StatusNotFound)
	require.Empty(t, get[api.List[api.PortalLink]](b, "/v1/tenants/acme/portals").Items)
	require.Equal(t, "remove portals/"+all[0].ID, func() string {
		entry := get[api.List[model.AuditEntry]](b, "/v1/audit?tenant=acme&limit=1").Items[0]
		return entry.Action + " " + entry.Object
	}())
	b.Clock.Advance(time.Hour)
	require.Empty(t, get[api.List[api.PortalLink]](b, "/v1/tenants/globex/portals").Items)
}
