package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An export goes through the gateway under a seal_key, and nothing of its candidate can be read in any of the
// gateway's files, nor in those of Temporal, while it runs or afterwards. The key is changed and the former one
// dropped; all of it can be read, by the gateway alone.
func TestNothingOfACandidateLiesOpen(t *testing.T) {
	t.Parallel()
	const line, fileName, path = "Zoe Lovelace programmed the Analytical Engine. ", "zoe-lovelace-1843.txt",
		"/notes-of-1843"
	file := strings.Repeat(line, 4000)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			w.Header().Set("Content-Type", "application/json")
			document := map[string]any{"content": []byte(file), "mimeType": "text/plain", "fileName": fileName}
			_ = json.NewEncoder(w).Encode(document)
			return
		}
		_, _ = io.WriteString(w, file)
	}))
	t.Cleanup(service.Close)

	s := newSystemWith(t, setup{options: "seal_key " + sealText(0), tenant: `integration hris {
		url http://PARTNER/hris
		secret ` + outboundSecret + `
	}
	integration inlined {
		url http://PARTNER/inlined
		secret ` + outboundSecret + `
		documents inline
	}`})
	partner := s.startRecorder(ok)
	partner.says = "we took Zoe Lovelace in"
	attachment := func(path string) string {
		return fmt.Sprintf(`{"id":{"value":"d","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},"url":%q}`, service.URL+path)
	}
	body := strings.Replace(string(minimal("c-1")), `"profiles":[]`,
		`"profiles":[{"attachments":[`+attachment(path)+`,`+attachment("/cv-of-1843")+`]}]`, 1)
	body = strings.Replace(body, `"person":{`, `"person":{"name":{"given":"Zoe","family":"Lovelace"},"communication":{"email":[{"address":"zoe@analytical.example"}]},`, 1)
	const id = "u-1843"
	status, answer, err := s.post(http.DefaultClient, id, []byte(body), func(r *http.Request) {
		r.Header.Set("Link", "https://service.example/candidates/zoe")
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, status, "%s", answer)
	sent := map[string]request{}
	delivered := func(exports int) {
		t.Helper()
		for _, r := range partner.awaitExports(t, exports) {
			if before, ok := sent[r.path]; ok {
				require.True(t, bytes.Equal(before.body, r.body), "another body went out to %s", r.path)
			}
			require.Equal(t, "https://service.example/candidates/zoe", r.header.Get("Link"))
			sent[r.path] = r
		}
		require.Len(t, sent, 2)
		require.Eventually(t, func() bool {
			e, ok := s.show(id)
			if !ok || len(e.Deliveries) < exports {
				return false
			}
			for _, d := range e.Deliveries {
				if d.Outcome != "delivered" {
					return false
				}
			}
			return true
		}, patience, 100*time.Millisecond, "it is not delivered")
	}
	// readable asks for all that was sealed.
	readable := func() {
		t.Helper()
		var urls struct {
			Candidate struct {
				Profiles []struct{ Attachments []struct{ URL string } }
			}
		}
		require.NoError(t, json.Unmarshal(sent["/hris"].body, &urls))
		for n, one := range urls.Candidate.Profiles[0].Attachments {
			r, err := http.NewRequest(http.MethodGet, one.URL, nil)
			require.NoError(t, err)
			r.Header.Set("Accept", "application/octet-stream")
			resp, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.EqualValues(t, len(file), resp.ContentLength)
			require.Contains(t, resp.Header.Get("Content-Disposition"), []string{fileName, "document"}[n])
			require.True(t, file == string(got), "another file came")
		}
		out, code := run(t, nil, hiregate(t), "export", "show", "acme/"+id, "--admin", loopback(s.admin))
		require.Zero(t, code, out)
		require.Contains(t, out, "we took Zoe Lovelace in")
	}
	base := base64.StdEncoding.EncodeToString([]byte(line + line))[:60]
	nothingLiesOpen := func() {
		t.Helper()
		for _, one := range []string{`"given":"Zoe"`, "Lovelace", "zoe@analytical", "zoe-lovelace", "analytical.example", "1843.txt", path, "cv-of-1843",
			service.URL, base} {
			require.Empty(t, s.filesWith(one), "%q lies open", one)
		}
	}
	delivered(2)
	require.Contains(t, string(sent["/inlined"].body), base)
	readable()
	nothingLiesOpen()
	require.NotEmpty(t, s.filesWith("u-1843"), "this finds nothing at all")
	s.gateway.signal(syscall.SIGTERM)
	require.Zero(t, s.gateway.exitCode())
	nothingLiesOpen()

	redelivered := func(exports int) {
		t.Helper()
		out, code := run(t, nil, hiregate(t), "export", "redeliver", "acme/"+id, "--admin", loopback(s.admin))
		require.Zero(t, code, out)
		delivered(exports)
	}
	with := func(texts ...string) {
		t.Helper()
		s.options = "seal_key " + strings.Join(texts, " ")
		s.configure()
	}
	with(sealText(1), sealText(0))
	s.startGateway()
	readable()
	redelivered(4)
	s.gateway.line("were sealed with the first key of seal_key")
	s.gateway.kill()

	with(sealText(1))
	s.startGateway()
	readable()
	redelivered(6)
	nothingLiesOpen()
	s.gateway.kill()

	for _, options := range []string{"seal_key " + sealText(0), ""} {
		s.options = options
		s.configure()
		refused := s.runGateway()
		require.NotZero(t, refused.exitCode())
		require.Contains(t, refused.out.String(),
			"of exports: it was sealed in the database with a key that is not configured")
	}
}

// filesWith are the files of the system that hold a text, but for its configuration.
func (s *system) filesWith(text string) (found []string) {
	s.t.Helper()
	require.NoError(s.t, filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == s.caddyfile() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			found = append(found, path)
		}
		return err
	}))
	return found
}
