package e2e

import (
	"bytes"
	"encoding/json"
	goflag "flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/redelivery"
	"github.com/hiregate/hiregate/workflows/replaytest"
	"github.com/hiregate/hiregate/workflows/scan"
	"github.com/hiregate/hiregate/workflows/submission"
	"github.com/hiregate/hiregate/workflows/verification"
)

// With -record, the histories of these runs are written to where the replay tests of the workflows look for them, and
// TestUpgrade writes what it starts on (CONTRIBUTING.md).
var record = goflag.String("record", "", "write what this `release` leaves, such as 0.1.0, to the testdata folders")

// workerName is where a history names the worker, and so its host: its identity, and the task queue of its own,
// <host>:<uuid>.
var workerName = regexp.MustCompile(`"(identity|name)": "[^"]*[@:][^"]*"`)

// TestHistories runs exports as they come, and looks at what Temporal keeps of them: nothing of the candidate, and a
// history that the workflow's code agrees with.
func TestHistories(t *testing.T) {
	t.Parallel()
	s := newSystem(t,
		"integration hris {\nurl http://PARTNER/inbound?client=acme\nsecret "+outboundSecret+"\nretry 100ms 200ms\n}"+
			"\nintegration raw {\nurl http://PARTNER/raw?client=acme\nsecret "+outboundSecret+"\nretry 100ms 200ms\ndocuments passthrough\n}")
	s.startRecorder(func(event string, n int) int {
		if n == 1 { // of each event, the first is refused
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	object, err := os.ReadFile(sample(t, "document-object.json"))
	require.NoError(t, err)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "doc-2") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(object)
	}))
	t.Cleanup(service.Close)
	full, err := os.ReadFile(sample(t, "export-full.json"))
	require.NoError(t, err)
	full = replaytest.Unmistakable([]byte(strings.ReplaceAll(string(full), "http://127.0.0.1:9099", service.URL)))

	c := s.temporalClient()
	require.Eventually(t, func() bool { // the gateway registers its search attributes by itself
		_, err := c.CountWorkflow(t.Context(),
			&workflowservice.CountWorkflowExecutionsRequest{Query: "HiregateTenant IS NULL AND HiregateOutcome IS NULL"})
		return err == nil
	}, patience, 50*time.Millisecond)
	words := append(replaytest.Personal(t, full), service.URL, s.partner(), inboundSecret, outboundSecret,
		"marker-candidate")
	s.history(c, words, "export/with-documents", "export/acme/"+s.accepted(full))
	s.history(c, words, "export/without-documents", "export/acme/"+s.accepted(minimal("marker-candidate")))
	s.history(c, words, "verification/refused-once", s.verification(c))

	// What waits for Temporal leaves as a group, but for the first ones, of which each starter has one.
	s.temporal.signal(syscall.SIGTERM)
	s.temporal.exitCode()
	for n := range 20 {
		s.accepted(minimal(fmt.Sprint("marker-candidate-", n)))
	}
	members := []string{s.accepted(full)}
	for n := range 9 {
		members = append(members, s.accepted(minimal(fmt.Sprint("marker-candidate-", 20+n))))
	}
	s.startTemporal()
	group := s.groupOf(c, members)
	s.history(c, words, "export/group", group)

	out := s.cli("export", "redeliver", "--tenant", "acme", "--integration", "raw", "--since", "1h", "--mode", "all",
		"--json", "--detach")
	s.history(c, words, "redelivery/range", redelivery.WorkflowID(decoded[shownRedelivery](t, out).ID))

	log := s.gateway.out.String()
	require.Contains(t, log, "a document could not be fetched", "the log was not read")
	for _, word := range words {
		if word != s.partner() { // the address of a partner, without its path, is told
			require.NotContains(t, log, word, "the log holds something personal or secret")
		}
	}
}

// TestHistoriesOfGroupsThatFail is TestHistories for a group of which a partner refuses some attempts and another one
// all, and for a group that is held, and parked. Their exports end soon, so that they need not be waited for.
func TestHistoriesOfGroupsThatFail(t *testing.T) {
	t.Parallel()
	var refused atomic.Int64
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/refuses":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case refused.Add(1) <= 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(partner.Close)
	tenant := ""
	for _, name := range []string{"hris", "refuses", "closed"} {
		tenant += fmt.Sprintf("integration %[1]s {\nurl %[2]s/%[1]s?client=acme\nsecret %[3]s\nretry 4s\nverify off\n"+
			"documents passthrough\n}\n", name, partner.URL, outboundSecret)
	}
	s := newSystem(t, tenant)
	s.cli("integration", "disable", "acme/closed")
	full, err := os.ReadFile(sample(t, "export-full.json"))
	require.NoError(t, err)
	full = replaytest.Unmistakable(full)
	words := append(replaytest.Personal(t, full), partner.URL, inboundSecret, outboundSecret, "marker-candidate")
	c := s.temporalClient()
	for name, integrations := range map[string][]string{"failed": {"hris", "refuses"}, "parked": {"closed"}} {
		s.gateway.kill()
		group := minimals("marker-candidate-"+name+"-", 9)
		group = append(group, waiting("full-"+name, full))
		var keys []string
		for _, e := range group {
			e.Key = "key-" + strings.TrimPrefix(e.Key, "marker-candidate-")
			e.Integrations, e.DeliverTill = integrations, time.Now().Add(45*time.Second)
			keys = append(keys, e.Key)
		}
		acceptAll(t, "sqlite://"+filepath.Join(s.dir, "hiregate.db"), group)
		s.startGateway()
		s.history(c, words, "export/group-"+name, s.groupOf(c, keys))
	}
}

// groupOf waits until one workflow is found by each of the exports, and returns its ID.
func (s *system) groupOf(c client.Client, members []string) (id string) {
	s.t.Helper()
	for _, member := range members {
		require.Eventually(s.t, func() bool {
			list, err := c.ListWorkflow(s.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
				Query: fmt.Sprintf("WorkflowType = 'export' AND HiregateTenant = 'acme' AND HiregateExport = '%s'", member)})
			if err != nil || len(list.Executions) != 1 || id != "" && id != list.Executions[0].Execution.WorkflowId {
				return false
			}
			id = list.Executions[0].Execution.WorkflowId
			return true
		}, patience, 50*time.Millisecond, "export %s is not found in the group %s", member, id)
	}
	return id
}

// history waits for a workflow to complete, and looks at its history: the workflow's code agrees with it, and none of
// the words is in it. name is where a recording of it goes: the workflow's folder and a file.
func (s *system) history(c client.Client, words []string, name, workflowID string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		w, err := c.DescribeWorkflowExecution(s.t.Context(), workflowID, "")
		return err == nil && w.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	}, patience, 50*time.Millisecond, "%s does not complete", workflowID)
	h := &history.History{}
	for events := c.GetWorkflowHistory(s.t.Context(), workflowID, "", false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(s.t, err)
		h.Events = append(h.Events, event)
	}
	replayer := worker.NewWorkflowReplayer()
	replayer.RegisterWorkflowWithOptions(export.Workflow, workflow.RegisterOptions{Name: export.WorkflowName})
	replayer.RegisterWorkflowWithOptions(verification.Workflow, workflow.RegisterOptions{Name: verification.WorkflowName})
	replayer.RegisterWorkflowWithOptions(redelivery.Workflow, workflow.RegisterOptions{Name: redelivery.WorkflowName})
	replayer.RegisterWorkflowWithOptions(scan.Workflow, workflow.RegisterOptions{Name: scan.WorkflowName})
	replayer.RegisterWorkflowWithOptions(submission.Workflow, workflow.RegisterOptions{Name: submission.WorkflowName})
	require.NoError(s.t, replayer.ReplayWorkflowHistory(nil, h), name)
	raw, err := protojson.MarshalOptions{Indent: "\t"}.Marshal(h)
	require.NoError(s.t, err)
	replaytest.RequireNothingOf(s.t, words, raw)
	if *record != "" {
		folder, file, _ := strings.Cut(name, "/")
		path := filepath.Join("..", "..", "workflows", folder, "testdata", *record, file+".json")
		require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
		var indented bytes.Buffer // protojson varies its white space on purpose
		require.NoError(s.t, json.Indent(&indented, raw, "", "\t"))
		recorded := workerName.ReplaceAll(indented.Bytes(), []byte(`"$1": "recorded"`))
		require.NoError(s.t, os.WriteFile(path, append(recorded, '\n'), 0o644))
	}
}

// verification is the id of the workflow that verified the integration hris.
func (s *system) verification(c client.Client) string {
	s.t.Helper()
	var list *workflowservice.ListWorkflowExecutionsResponse
	require.Eventually(s.t, func() (found bool) { // the list follows the workflows a moment later
		var err error
		list, err = c.ListWorkflow(s.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "WorkflowType = 'verification' AND HiregateIntegration = 'hris' AND HiregateTenant = 'acme'"})
		return err == nil && len(list.Executions) == 1
	}, patience, 50*time.Millisecond, "the verification is not found by its search attributes")
	return list.Executions[0].Execution.WorkflowId
}
