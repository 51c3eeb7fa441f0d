package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The start page says what has happened to the integrations of a tenant: nothing but good, nothing at all, that one was
// disabled, and that one fails. Its pictures are of that.
func TestStartPageSaysWhatHappened(t *testing.T) {
	t.Parallel()
	s := &scene{ports: newDevPorts(t), dir: t.TempDir(), names: plain}
	s.system = &system{t: t, admin: s.ports.admin}
	dev(t, s.dir, s.ports).line(devReady)
	var down atomic.Bool
	s.partner = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/payroll/") && down.Load() {
			http.Error(w, "Maintenance until tomorrow.", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.partner.Close)
	of := "/tenants/" + s.tenant
	s.put(of, map[string]any{"name": "Northgate Logistics", "secrets": []string{inboundSecret}})
	add := func(name string) {
		s.put(of+"/integrations/"+name, map[string]any{"url": s.partner.URL + "/" + name + "/in", "secret": "their-signing-secret",
			"retry": []string{"1s", "1s", "15m"}})
	}
	sent := 0
	send := func(n int) {
		for range n {
			s.sent(minimal(uuid.NewString()))
			sent++
		}
	}
	c := startChromium(t, "--accept-lang=en")
	c.as(looks[0])
	console := s.ports.url("/console")
	c.signInTo(console, "ops@example.com")
	says := func(picture, heading, lead string, states map[string]int64) {
		t.Helper()
		if os.Getenv(picturesVariable) != "" { // what came is stored once a minute
			require.Eventually(t, func() bool { return s.came24h() == sent }, 3*time.Minute, time.Second)
		}
		c.open(console + "?tenant=" + s.tenant)
		require.Equal(t, []string{heading}, c.texts("h1"), picture)
		require.Contains(t, c.text("main"), lead, picture)
		c.fits("console-" + picture)
		var status struct {
			Integrations []struct{ Tenant, State string }
		}
		_, answer, err := s.manage(http.MethodGet, "/status", nil)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(answer, &status))
		found := map[string]int64{}
		for _, i := range status.Integrations {
			if i.Tenant == s.tenant {
				found[i.State]++
			}
		}
		require.Equal(t, states, found, picture)
	}

	add("hris")
	add("payroll")
	send(24)
	s.awaitState("hris", "configured")
	s.awaitState("payroll", "configured")
	require.Eventually(t, func() bool { return s.waitsFor() == nil }, patience, 50*time.Millisecond)
	says("attention-well", "Nothing needs you", "Integrations: 2 deliver.", map[string]int64{"configured": 2})

	add("analytics")
	says("attention-never-sent", "Nothing needs you", "Integrations: 2 deliver, 1 has received nothing yet.",
		map[string]int64{"configured": 2, "unproven": 1})

	s.cli("integration", "disable", s.tenant+"/payroll", "--reason", "they move their servers until noon")
	says("attention-one-disabled", "Nothing needs you", "Integrations: 1 delivers, 1 has received nothing yet, 1 is disabled.",
		map[string]int64{"configured": 1, "unproven": 1, "disabled": 1})

	s.cli("integration", "enable", s.tenant+"/payroll")
	s.awaitState("payroll", "configured")
	down.Store(true)
	send(14)
	s.awaitState("payroll", "failing")
	s.awaitState("analytics", "configured")
	require.Eventually(t, func() bool { return slices.Equal(s.waitsFor(), []string{"payroll"}) }, patience, 50*time.Millisecond)
	says("attention-failing", "1 thing needs you", "The other integrations: 2 deliver.",
		map[string]int64{"configured": 2, "failing": 1})
}

// waitsFor returns the integrations of the tenant that exports wait for.
func (s *scene) waitsFor() (names []string) {
	var status struct {
		Integrations []struct {
			Tenant, Name string
			Waiting      int64
		}
	}
	_, answer, err := s.manage(http.MethodGet, "/status", nil)
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(answer, &status))
	for _, i := range status.Integrations {
		if i.Tenant == s.tenant && i.Waiting > 0 {
			names = append(names, i.Name)
		}
	}
	return names
}

// came24h returns how many exports of the tenant came in the last day, as the start page counts them.
func (s *scene) came24h() (n int) {
	var flow struct{ Quarters []struct{ Received int } }
	_, answer, err := s.manage(http.MethodGet, "/overview?tenant="+s.tenant, nil)
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(answer, &flow))
	for _, q := range flow.Quarters {
		n += q.Received
	}
	return n
}
