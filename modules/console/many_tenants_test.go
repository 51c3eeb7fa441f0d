package console

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

var nextPage = regexp.MustCompile(`rel="next" href="/console([^"]+)"`)

// With many tenants each page shows some of the integrations, and leads to the others.
func TestPagesOfManyTenants(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const tenants = 120
	b.Reconfigure(func(c *config.Config) {
		for n := range tenants {
			t := gatewaytest.Tenant(fmt.Sprintf("t-%03d", n))
			t.Integrations = []model.Integration{{Tenant: t.Name, Name: "hris", URL: "https://hr.example/" + t.Name, Secret: "s", Verify: true}}
			c.Tenants[t.Name] = t
		}
	})
	for n := range tenants { // each has a cause of its own
		b.Status(t, fmt.Sprintf("t-%03d", n), "hris", store.IntegrationStatus{State: model.NotConfigured,
			Reason: fmt.Sprintf("VERIFY was answered %d; it must be exactly 200", 300+n), UpdatedAt: b.Clock.Now()})
	}
	for _, path := range []string{"/", "/integrations"} {
		seen, pages := map[string]bool{}, 0
		for next := path; next != ""; pages++ {
			page := b.see(ops, next, http.StatusOK)
			shown := 0
			for n := range tenants {
				link := fmt.Sprintf("/tenants/t-%03d/integrations/hris\"", n)
				if strings.Contains(page, link) {
					seen[link] = true
					shown++
				}
			}
			require.LessOrEqual(t, shown, 80, path)
			found := nextPage.FindStringSubmatch(page)
			if next = ""; found != nil {
				next = strings.ReplaceAll(found[1], "&amp;", "&")
			}
		}
		require.Len(t, seen, tenants, path)
		require.Equal(t, 3, pages, path)
	}
	choices := b.see(ops, "/redeliveries", http.StatusOK)
	for n := range tenants {
		require.Contains(t, choices, fmt.Sprintf(">t-%03d/hris</option>", n))
	}
}
