package manageapi_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
)

// The program of docs/management-api.md that keeps another system in step ends with what the gateway has when events come backwards,
// and each of them twice.
func TestAnotherSystemIsInStepWhateverTheOrderOfEvents(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef0123456789abcdef"
	python, err := exec.LookPath("python3")
	require.NoError(t, err)
	b := setup(t)
	b.people()
	b.must(http.StatusCreated, http.MethodPut, acme+"/event-subscriptions/other",
		`{"url":"https://other.example/events","secret":"`+secret+`"}`)
	for n := range 6 {
		at := fmt.Sprintf("%s/b-%d", acmeApplications, n)
		b.must(http.StatusCreated, http.MethodPut, at, `{"candidate":"c-1"}`)
		b.must(http.StatusCreated, http.MethodPost, at+"/transitions", `{"step":"applied"}`)
		if n%3 == 0 {
			b.must(http.StatusNoContent, http.MethodDelete, at, "")
		}
	}
	events := get[struct{ Items []json.RawMessage }](b, acme+"/events?limit=500").Items
	require.Greater(t, len(events), 12)

	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(free.Addr().String())
	require.NoError(t, err)
	require.NoError(t, free.Close())
	folder := t.TempDir()
	program := exec.CommandContext(t.Context(), python, filepath.Join("..", "..", "testdata", "keep_in_step.py"), b.url+acme, port, folder)
	program.Env = append(os.Environ(), "SECRET="+secret)
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)

	for n := range 2 * len(events) {
		body := events[len(events)-1-n/2]
		var e struct{ ID string }
		require.NoError(t, json.Unmarshal(body, &e))
		at := fmt.Sprint(b.Clock.Now().Unix())
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "%s.%s.%s", e.ID, at, body)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:"+port+"/events", strings.NewReader(string(body)))
		require.NoError(t, err)
		r.Header.Set("Webhook-Id", e.ID)
		r.Header.Set("Webhook-Timestamp", at)
		r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusNoContent, answer.StatusCode)
	}
	raw, err := os.ReadFile(filepath.Join(folder, "events"))
	require.NoError(t, err)
	require.Equal(t, len(events), strings.Count(string(raw), "\n"), "each once")
	want := map[string]string{}
	for _, a := range get[api.JobApplicationList](b, acmeApplications).Items {
		want[a.ID] = a.Status.Step
	}
	require.Len(t, want, 5)
	require.Eventually(t, func() bool {
		var kept struct {
			Applications map[string]struct{ Status struct{ Step string } }
		}
		raw, err := os.ReadFile(filepath.Join(folder, "applications.json"))
		if err != nil || json.Unmarshal(raw, &kept) != nil || len(kept.Applications) != len(want) {
			return false
		}
		for id, a := range kept.Applications {
			if step, there := want[id]; !there || step != a.Status.Step {
				return false
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond)
}
