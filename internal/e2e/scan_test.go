package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
)

// TestNobodyGetsADocumentBeforeItIsClean lets a candidate be exported while a scanner looks through their documents:
// the export waits, the clean one is then served, and of the harmful one nothing is left.
func TestNobodyGetsADocumentBeforeItIsClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	goOn := filepath.Join(dir, "go-on")
	script := filepath.Join(dir, "scanner")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ntest -e "+goOn+" || exit 2 # not ready\nif grep -q "+
		"harmful; then echo Test.Finding; exit 1; fi\n"), 0o700))
	s := newSystemWith(t, setup{options: "scan exec " + script})
	s.put("/tenants/initech", map[string]any{"name": "Initech", "secrets": []string{}})
	partner := s.startRecorder(func(string, int) int { return http.StatusOK })
	s.post201("/tenants/initech/integrations", map[string]any{"name": "hris", "url": "http://" + s.partner() + "/in/7",
		"secret": outboundSecret})
	a := s.hire(1)[0]
	documents := "/tenants/initech/job-applications/" + a + "/documents"
	s.post201(documents+"?id=clean&fileName=resume-of-marker.pdf", []byte("%PDF-1.4 clean"))
	s.post201(documents+"?id=bad", []byte("%PDF-1.4 harmful"))
	s.post201(documents+"?id=deleted", []byte("%PDF-1.4 other"))
	require.Len(t, s.files(), 3)
	s.post201("/tenants/initech/job-applications/"+a+"/transitions", map[string]any{"step": "hired"})
	require.Eventually(t, func() bool { return s.unscanned() == 3 }, patience, 20*time.Millisecond)
	require.Empty(t, partner.of("CANDIDATE-EXPORT"), "the export did not wait for the scan")
	status, _, err := s.manage(http.MethodDelete, documents+"/deleted", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, status)
	s.gateway.kill() // the scans go on where they were
	s.startGateway()
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))

	export := partner.awaitExports(t, 1)[0]
	urls := attachmentURLs(t, export.body)
	require.Len(t, urls, 3, "the export was made before the scan ended")
	for n, want := range []int{http.StatusOK, http.StatusGone, http.StatusGone} {
		resp, err := http.Get(urls[n])
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, "document %d", n)
	}
	var list struct {
		Items []struct{ ID, Scan, Finding string }
	}
	s.read(documents, &list)
	raw, err := json.Marshal(list.Items)
	require.NoError(t, err)
	require.JSONEq(t,
		`[{"ID":"clean","Scan":"clean","Finding":""},{"ID":"bad","Scan":"refused","Finding":"Test.Finding"}]`, string(raw))
	require.Eventually(t, func() bool { return len(s.files()) <= 2 }, patience, 20*time.Millisecond,
		"the harmful file is still there")

	// Exports after it don't mention what was refused.
	s.post201("/tenants/initech/candidates/c-0/exports", nil)
	require.Len(t, attachmentURLs(t, partner.awaitExports(t, 2)[1].body), 1)
	require.NotContains(t, s.gateway.out.String(), "resume-of-marker")
	c := s.temporalClient()
	var workflows *workflowservice.ListWorkflowExecutionsResponse
	require.Eventually(t, func() bool { // Temporal lists what began a moment later
		workflows, err = c.ListWorkflow(t.Context(),
			&workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'scan'"})
		return err == nil && len(workflows.Executions) == 3
	}, patience, 50*time.Millisecond, "Temporal lists other scans than three")
	for n, w := range workflows.Executions {
		s.history(c, []string{"resume-of-marker", "Test.Finding", "initech"}, fmt.Sprint("scan/document-", n+1),
			w.Execution.WorkflowId)
	}
}

// unscanned returns how many documents the log names that could not be scanned.
func (s *system) unscanned() int {
	documents := map[string]bool{}
	for _, m := range regexp.MustCompile(`could not be scanned.*"document":(\d+)`).FindAllStringSubmatch(s.gateway.out.String(), -1) {
		documents[m[1]] = true
	}
	return len(documents)
}

// files are the names in the document store.
func (s *system) files() (names []string) {
	s.t.Helper()
	require.NoError(s.t, filepath.WalkDir(filepath.Join(s.dir, "documents"),
		func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				names = append(names, d.Name())
			}
			return err
		}))
	return names
}

// TestAnApplicationsFilesAreScanned applies while documents are scanned: the application is taken at once, and its
// export goes out when its file was found clean.
func TestAnApplicationsFilesAreScanned(t *testing.T) {
	t.Parallel()
	goOn := filepath.Join(t.TempDir(), "go-on")
	s, token := newApply(t, emailAndResume, `scan exec sh -c "test -e `+goOn+` || exit 2"`)
	partner := s.startRecorder(func(string, int) int { return http.StatusOK })
	s.post201("/tenants/initech/integrations", map[string]any{"name": "hris", "url": "http://" + s.partner() + "/in/7",
		"secret": outboundSecret})
	pdf := base64.StdEncoding.EncodeToString([]byte("%PDF-1.4"))
	status, id, answer, err := s.apply(token, "",
		strings.NewReader(`{"jobBoardCode":"NURSE-1","source":"","answers":[{"questionId":"email","value":"ada@example.com"},{"questionId":"resume","value":"`+pdf+`"}]}`))
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, status, "%s", answer)
	scan := func() string {
		var list struct{ Items []struct{ Scan string } }
		s.read("/tenants/initech/job-applications/"+id+"/documents", &list)
		require.Len(t, list.Items, 1)
		return list.Items[0].Scan
	}
	require.Equal(t, "pending", scan())
	require.Eventually(t, func() bool { return strings.Contains(s.gateway.out.String(), "could not be scanned") },
		patience, 20*time.Millisecond)
	require.Empty(t, partner.of("CANDIDATE-EXPORT"))
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	resp, err := http.Get(attachmentURLs(t, partner.awaitExports(t, 1)[0].body)[0])
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "clean", scan())
}
