package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// killsInStep is how often the gateway is killed while another system is kept in step.
const killsInStep = 20

// TestAnotherSystemIsKeptInStep kills the gateway again and again while people apply, move and are erased. A program of
// another language, which is sent events and reads lists, ends with what the gateway has: it misses no event, and the last
// one before a kill comes again under the same id.
func TestAnotherSystemIsKeptInStep(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef0123456789abcdef"
	python, err := exec.LookPath("python3")
	require.NoError(t, err)
	s := newReceiver(t, setup{})
	folder := t.TempDir()
	s.put("/tenants/initech", map[string]any{"name": "Initech", "secrets": []string{}})
	s.put("/tenants/initech/steps", map[string]any{"items": []any{map[string]any{"id": "talk", "name": "Talk"}}})
	other := start(t, []string{"SECRET=" + secret}, python, filepath.Join("..", "..", "testdata", "keep_in_step.py"),
		fmt.Sprintf("http://%s/hiregate/v1/tenants/initech", loopback(s.admin)), fmt.Sprint(s.own), folder)
	other.line("ready")
	s.put("/tenants/initech/event-subscriptions/other", map[string]any{"url": "http://" + s.partner() + "/events", "secret": secret})

	written := make(chan int)
	rounds := make(chan struct{}, killsInStep)
	go func() {
		n := 0
		defer func() { written <- n }()
		for range rounds {
			for range 10 {
				at := fmt.Sprintf("/tenants/initech/job-applications/a-%d", n)
				s.untilDone(http.MethodPut, "/tenants/initech/candidates/c", map[string]any{"gender": fmt.Sprint(n)})
				s.untilDone(http.MethodPut, at, map[string]any{"candidate": "c"})
				s.untilDone(http.MethodPost, at+"/transitions", map[string]any{"step": "talk"})
				if n%3 == 0 {
					s.untilDone(http.MethodDelete, at, nil)
				}
				n++
			}
		}
	}()
	for range killsInStep {
		before := lines(folder)
		rounds <- struct{}{}
		require.Eventually(t, func() bool { return lines(folder) > before+5 }, patience, 5*time.Millisecond, "no event comes")
		s.gateway.kill()
		s.startGateway()
	}
	close(rounds)
	n := <-written
	require.Greater(t, n, killsInStep)

	var want []string
	for cursor := ""; ; {
		status, raw, err := s.manage(http.MethodGet, "/tenants/initech/events?limit=500"+cursor, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, string(raw))
		var page struct {
			Items []struct{ ID string }
			Next  *string
		}
		require.NoError(t, json.Unmarshal(raw, &page))
		for _, one := range page.Items {
			want = append(want, one.ID)
		}
		if page.Next == nil {
			break
		}
		cursor = "&cursor=" + *page.Next
	}
	require.Eventually(t, func() bool { return lines(folder) >= len(want) }, patience, 20*time.Millisecond, "events are missed")
	raw, err := os.ReadFile(filepath.Join(folder, "events"))
	require.NoError(t, err)
	var got []string
	sequences := map[string]int64{}
	for line := range strings.Lines(string(raw)) {
		var e struct {
			ID   string
			Data struct {
				JobApplication string
				Sequence       int64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		got = append(got, e.ID)
		if e.Data.JobApplication != "" {
			sequences[e.Data.JobApplication]++
			require.Equal(t, sequences[e.Data.JobApplication], e.Data.Sequence, e.ID)
		}
	}
	require.Equal(t, want, got, "all, once, in their order")
	require.Len(t, sequences, n)

	require.Eventually(t, func() bool {
		var kept struct {
			Applications map[string]struct{ Status struct{ Step string } }
		}
		raw, err := os.ReadFile(filepath.Join(folder, "applications.json"))
		if err != nil || json.Unmarshal(raw, &kept) != nil || len(kept.Applications) != n-(n+2)/3 {
			return false
		}
		for _, a := range kept.Applications {
			if a.Status.Step != "talk" {
				return false
			}
		}
		return true
	}, patience, 50*time.Millisecond, "the other system is not in step")
}

// lines counts the events that the other system has.
func lines(folder string) int {
	raw, _ := os.ReadFile(filepath.Join(folder, "events"))
	return strings.Count(string(raw), "\n")
}

// untilDone has the gateway do something, which may be killed at any moment. What was done before needs no repeat.
func (s *system) untilDone(method, path string, in any) {
	require.Eventually(s.t, func() bool {
		status, _, err := s.manage(method, path, in)
		return err == nil && (status/100 == 2 || status == http.StatusConflict || status == http.StatusNotFound)
	}, patience, 20*time.Millisecond, "%s %s is not done", method, path)
}
