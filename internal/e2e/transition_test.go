package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEnteringAStepWithAHelperExportsOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	partner := s.startRecorder(func(string, int) int { return http.StatusOK })
	s.post201("/tenants/initech/integrations", map[string]any{"name": "hris", "url": "http://" + s.partner() + "/in/7",
		"secret": outboundSecret})
	a := s.hire(1)[0]
	s.post201("/tenants/initech/job-applications/"+a+"/documents?id=doc-1&fileName=r.pdf", []byte("%PDF-1.4"))
	s.post201("/tenants/initech/job-applications/"+a+"/transitions", map[string]any{"step": "hired"})
	export := partner.awaitExports(t, 1)[0]
	require.Contains(t, string(export.body), `"category":"Hired"`)
	urls := attachmentURLs(t, export.body)
	require.Len(t, urls, 1)
	resp, err := http.Get(urls[0])
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)

	status, answer, err := s.manage(http.MethodPost, "/tenants/initech/job-applications/"+a+"/transitions",
		map[string]any{"step": "hired"})
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, status, "%s", answer)
	wait(t, 2*time.Second)
	require.Len(t, partner.of("CANDIDATE-EXPORT"), 1)
}

// TestTransitionAndItsExportAreThereOrNeither kills the gateway around transitions, again and again: after the restart
// a transition has exactly one export, or has not happened.
func TestTransitionAndItsExportAreThereOrNeither(t *testing.T) {
	const rounds, atOnce = 6, 8
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newService(t)
	partner := s.startRecorder(func(string, int) int { return http.StatusOK })
	s.post201("/tenants/initech/integrations", map[string]any{"name": "hris", "url": "http://" + s.partner() + "/in/7",
		"secret": outboundSecret})
	applications := s.hire(rounds * atOnce)

	answered := map[string]bool{}
	var mu sync.Mutex
	for round := range rounds {
		var group sync.WaitGroup
		for _, a := range applications[round*atOnce : (round+1)*atOnce] {
			pause := time.Duration(random.IntN(12000)) * time.Microsecond
			group.Go(func() {
				wait(t, pause)
				status, _, err := s.manage(http.MethodPost, "/tenants/initech/job-applications/"+a+"/transitions",
					map[string]any{"step": "hired"})
				mu.Lock()
				defer mu.Unlock()
				answered[a] = err == nil && status == http.StatusCreated
			})
		}
		wait(t, time.Duration(2000+random.IntN(12000))*time.Microsecond)
		s.gateway.kill()
		group.Wait()
		s.startGateway()
	}

	happened := map[string]string{} // by UUID
	for _, a := range applications {
		var application struct{ Status struct{ Step string } }
		s.read("/tenants/initech/job-applications/"+a, &application)
		var history struct {
			Items []struct{ Export string }
		}
		s.read("/tenants/initech/job-applications/"+a+"/transitions", &history)
		if answered[a] {
			require.Equal(t, "hired", application.Status.Step, "an answered transition is gone")
		}
		if application.Status.Step != "hired" {
			require.Empty(t, history.Items, "a transition is in the history that did not happen")
			continue
		}
		require.Len(t, history.Items, 1)
		require.NotEmpty(t, history.Items[0].Export, "a transition happened without its export")
		happened[history.Items[0].Export] = a
	}
	var exports struct {
		Items []struct{ ID, Candidate string }
	}
	s.read("/tenants/initech/exports?limit=500", &exports)
	require.Len(t, exports.Items, len(happened), "an export is there whose transition did not happen")
	for _, e := range exports.Items {
		require.Equal(t, "a-"+e.Candidate[len("c-"):], happened[e.ID])
	}
	t.Logf("%d of %d transitions happened", len(happened), len(applications))
	require.Eventually(t, func() bool {
		arrived := map[string]bool{}
		for _, r := range partner.of("CANDIDATE-EXPORT") {
			arrived[r.id] = true
		}
		return len(arrived) == len(happened)
	}, patience, 100*time.Millisecond, "not every export arrived")
}

// read reads a resource of the management API.
func (s *system) read(path string, into any) {
	s.t.Helper()
	status, answer, err := s.manage(http.MethodGet, path, nil)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, status, "GET %s: %s", path, answer)
	require.NoError(s.t, json.Unmarshal(answer, into), fmt.Sprintf("GET %s", path))
}
