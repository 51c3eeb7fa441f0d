package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
)

// A candidate wants to be forgotten while their export is tried at a partner that is down. Nothing is sent any more,
// not even by a gateway that is started anew; the workflow ends by itself, and the files are gone.
func TestErasureOnRequest(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	var up atomic.Bool
	partner := s.startRecorder(func(event string, _ int) int {
		if event == "CANDIDATE-EXPORT" && !up.Load() {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	s.gateway.line("integration configured")
	service := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the résumé of Zoë") }))
	t.Cleanup(service.Close)
	attachment := fmt.Sprintf(
		`{"id":{"value":"d","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},"url":%q}`,
		service.URL+"/cv")
	id := s.accepted([]byte(strings.Replace(string(minimal("c-zoe")), `"profiles":[]`,
		`"profiles":[{"attachments":[`+attachment+`]}]`, 1)))
	e := s.awaitOutcome(id, "retrying")
	require.True(t, s.holds("the résumé of Zoë"))

	erase := func(args ...string) (out string, code int) {
		return run(t, nil, hiregate(t), append([]string{"export", "erase", "--admin", loopback(s.admin), "--tenant", "acme",
			"--candidate", "c-zoe", "--yes"}, args...)...)
	}
	out, code := erase()
	require.NotZero(t, code, out)
	require.Contains(t, out, "its delivery to hris is retrying")
	out, code = erase("--cancel")
	require.Zero(t, code, out)
	require.Contains(t, out, "acme/"+id)
	up.Store(true)
	e = s.awaitOutcome(id, "failed")
	require.Contains(t, e.Deliveries[0].Reason, "was erased")
	tried := len(partner.of("CANDIDATE-EXPORT"))
	require.Equal(t, 1.0, s.metric("hiregate_exports_erased_total", ""))

	c := s.temporalClient()
	require.Eventually(t, func() bool {
		w, err := c.DescribeWorkflowExecution(t.Context(), "export/acme/"+id, "")
		return err == nil && w.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	}, patience, 100*time.Millisecond, "its workflow goes on")
	s.gateway.kill()
	s.startGateway()
	valid := s.accepted(minimal("c-jo"))
	s.awaitOutcome(valid, "delivered")
	sent := partner.of("CANDIDATE-EXPORT")
	require.Equal(t, valid, sent[len(sent)-1].id)
	require.Len(t, sent, tried+1, "the erased export was sent")
	require.False(t, s.holds("the résumé of Zoë"))
}

// holds tells whether a document with this content is among the files.
func (s *system) holds(content string) (found bool) {
	s.t.Helper()
	require.NoError(s.t, filepath.WalkDir(filepath.Join(s.dir, "documents"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			found = found || bytes.Contains(raw, []byte(content))
			return err
		}))
	return found
}
