package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hropen"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// newService is a system whose tenant initech, kept in the database, sends exports.
func newService(t *testing.T) *system {
	t.Helper()
	s := newSystem(t, "")
	s.put("/tenants/initech", map[string]any{"name": "Initech", "secrets": []string{}})
	return s
}

// manage asks the management API, below /v1, at the admin endpoint. What is sent is JSON, or bytes as they are.
func (s *system) manage(method, path string, in any) (status int, answer []byte, err error) {
	var body io.Reader
	contentType := "application/json"
	switch in := in.(type) {
	case nil:
	case []byte:
		body, contentType = bytes.NewReader(in), "application/pdf"
	default:
		raw, err := json.Marshal(in)
		if err != nil {
			return 0, nil, err
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, "http://"+loopback(s.admin)+"/hiregate/v1"+path, body)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", contentType)
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

func (s *system) put(path string, in any) {
	s.t.Helper()
	status, answer, err := s.manage(http.MethodPut, path, in)
	require.NoError(s.t, err)
	require.Equal(s.t, 2, status/100, "PUT %s: %s", path, answer)
}

func (s *system) post201(path string, in any) (answer []byte) {
	s.t.Helper()
	status, answer, err := s.manage(http.MethodPost, path, in)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusCreated, status, "POST %s: %s", path, answer)
	return answer
}

// run runs the program to its end.
func (s *system) run(args ...string) (out string, err error) {
	s.t.Helper()
	c := exec.Command(hiregate(s.t), append(args, "--admin", loopback(s.admin))...)
	both, err := c.CombinedOutput()
	return string(both), err
}

// rawPartner answers each request with the same bytes, after reading it, and keeps what came. Without an answer it
// hangs up; with silence it never answers.
type rawPartner struct {
	net.Listener
	requests chan []byte
}

const silence = "silence"

func startRawPartner(t *testing.T, answer string) *rawPartner {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &rawPartner{l, make(chan []byte, 64)}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn, answer)
		}
	}()
	return p
}

func (p *rawPartner) serve(conn net.Conn, answer string) {
	defer conn.Close()
	var request bytes.Buffer
	piece := make([]byte, 64<<10)
	for !complete(request.Bytes()) {
		n, err := conn.Read(piece)
		if err != nil {
			return
		}
		request.Write(piece[:n])
	}
	p.requests <- request.Bytes()
	if answer == silence {
		_, _ = conn.Read(piece) // until the other side gives up
		return
	}
	_, _ = conn.Write([]byte(answer))
}

// complete tells whether a request is there with all of its body.
func complete(raw []byte) bool {
	head, body, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	for _, line := range bytes.Split(head, []byte("\r\n")) {
		var length int
		if n, _ := fmt.Sscanf(string(line), "Content-Length: %d", &length); n == 1 {
			return len(body) >= length
		}
	}
	return true
}

func TestIntegrationIsConfiguredByA200Alone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	secret := filepath.Join(s.dir, "hris.secret")
	require.NoError(t, os.WriteFile(secret, []byte(outboundSecret+"\n"), 0o600))
	for name, c := range map[string]struct{ answer, says string }{
		"ok":       {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "is set, and configured"},
		"created":  {"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nhi", "201"},
		"moved":    {"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", "302"},
		"broken":   {"HTTP/1.1 500 Oh\r\nContent-Length: 14\r\n\r\nout of coffee\n", "500"},
		"hangs-up": {"", "without an answer|closed|hung up|broke off"},
		"hangs":    {silence, "20s|within|in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startRawPartner(t, c.answer)
			out, err := s.run("integration", "set", "initech/"+name, "--url", "http://"+p.Addr().String()+"/in/"+name,
				"--secret-file", secret)
			require.Regexp(t, c.says, out)
			status, answer, manageErr := s.manage(http.MethodGet, "/tenants/initech/integrations/"+name, nil)
			require.NoError(t, manageErr)
			if name == "ok" {
				require.NoError(t, err, out)
				require.Equal(t, http.StatusOK, status)
				require.Contains(t, string(answer), `"state":"configured"`)
				return
			}
			require.Error(t, err, "it looked like a success: %s", out)
			require.Equal(t, http.StatusNotFound, status, "an integration was kept that did not answer 200")
			if name == "broken" {
				require.Contains(t, out, "out of coffee", "what the partner said is not shown")
			}
		})
	}
}

func TestIntegrationAddressesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	secret := filepath.Join(s.dir, "hris.secret")
	require.NoError(t, os.WriteFile(secret, []byte(outboundSecret), 0o600))
	for address, says := range map[string]string{
		"http://" + s.partner():                  "identifier",
		"http://" + s.partner() + "/in#here":     "fragment",
		"http://ada:secret@" + s.partner() + "/": "password|user",
		"https://10.1.2.3/in":                    "private|egress",
		"ftp://hr.example.com/in":                "http",
	} {
		out, err := s.run("integration", "set", "initech/x", "--url", address, "--secret-file", secret)
		require.Error(t, err, address)
		require.Regexp(t, says, out, address)
		require.NotContains(t, out, "ada:secret")
	}
}

// full puts what is in export-full.json through the management API, as initech's.
func (s *system) full(sampled []byte) (candidate string) {
	s.t.Helper()
	names, err := webhook.NamesFor("Service")
	require.NoError(s.t, err)
	c, applications, err := hropen.Read(names, sampled)
	require.NoError(s.t, err)
	s.put("/tenants/initech/candidates/"+url.PathEscape(c.ID), c)
	for _, a := range applications {
		a.Job.BoardCode = "NURSE-1"
		a.JobApplication.Job = a.Job.BoardCode
		s.put("/tenants/initech/jobs/"+a.Job.BoardCode, a.Job)
		s.put("/tenants/initech/job-applications/"+url.PathEscape(a.ID), a.JobApplication)
		for _, d := range a.Attachments {
			q := url.Values{"id": {d.ID}, "fileName": {d.ID + ".pdf"}, "description": d.Descriptions}
			s.post201("/tenants/initech/job-applications/"+url.PathEscape(a.ID)+"/documents?"+q.Encode(),
				[]byte("%PDF-1.4 "+d.ID))
		}
	}
	return c.ID
}

func TestSampleExportIsBuiltFromWhatWasPutIn(t *testing.T) {
	t.Parallel()
	s := newService(t)
	p := startRawPartner(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	s.post201("/tenants/initech/integrations", map[string]any{"name": "hris",
		"url": "http://" + p.Addr().String() + "/in/7", "secret": outboundSecret})
	verify := <-p.requests
	requireHeaders(t, verify, p.Addr().String(), map[string]string{"X-Service-Event": "VERIFY"})

	sampled, err := os.ReadFile(sample(t, "export-full.json"))
	require.NoError(t, err)
	candidate := s.full(sampled)
	answer := s.post201("/tenants/initech/candidates/"+url.PathEscape(candidate)+"/exports", map[string]any{})
	var made struct {
		UUID       string
		Deliveries []struct{ Integration, Outcome string }
	}
	require.NoError(t, json.Unmarshal(answer, &made))
	require.Len(t, made.Deliveries, 1)
	require.Equal(t, "delivered", made.Deliveries[0].Outcome, "%s", answer)

	raw := <-p.requests
	requireHeaders(t, raw, p.Addr().String(), map[string]string{
		"X-Service-Event": "CANDIDATE-EXPORT", "X-Service-UUID": made.UUID, "X-Service-Export-Context": "NURSE-1",
		"Link": s.url("/console/candidates/initech/" + url.PathEscape(candidate)),
	})
	_, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	urls := attachmentURLs(t, body)
	require.Len(t, urls, 2)
	was := attachmentURLs(t, sampled)
	text := string(body)
	for n := range urls {
		text = strings.Replace(text, urls[n], was[n], 1)
	}
	require.Equal(t, tokens(t, sampled), tokens(t, []byte(text)), "another value, or another order of keys")

	for n, address := range urls {
		resp, err := http.Get(address)
		require.NoError(t, err)
		var document struct {
			Content            []byte
			MimeType, FileName string
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&document))
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, fmt.Sprintf("%%PDF-1.4 doc-%d", n+1), string(document.Content))
		require.Equal(t, fmt.Sprintf("doc-%d.pdf", n+1), document.FileName)
		require.Equal(t, "application/pdf", document.MimeType)
	}
}

// requireHeaders compares a raw request header by header: those named, and those that every delivery has, and no
// other. The signature is that of openssl.
func requireHeaders(t *testing.T, raw []byte, host string, want map[string]string) {
	t.Helper()
	head, body, ok := strings.Cut(string(raw), "\r\n\r\n")
	require.True(t, ok)
	c := exec.Command("openssl", "dgst", "-sha256", "-hmac", outboundSecret, "-hex")
	c.Stdin = strings.NewReader(body)
	out, err := c.Output()
	require.NoError(t, err)
	digest := strings.TrimSpace(string(out[bytes.LastIndexByte(out, ' ')+1:]))
	all := map[string]string{"Host": host, "Content-Type": "application/json", "Content-Length": fmt.Sprint(len(body)),
		"User-Agent": "Service", "X-Service-Signature": digest}
	for name, value := range want {
		all[name] = value
	}
	got := map[string]string{}
	for _, line := range strings.Split(head, "\r\n")[1:] {
		name, value, _ := strings.Cut(line, ": ")
		require.NotContains(t, got, name, "a header is there twice")
		got[name] = value
	}
	require.Equal(t, all, got)
}

func attachmentURLs(t *testing.T, body []byte) (urls []string) {
	t.Helper()
	var export struct {
		Candidate struct {
			Profiles []struct{ Attachments []struct{ URL string } }
		}
	}
	require.NoError(t, json.Unmarshal(body, &export))
	for _, p := range export.Candidate.Profiles {
		for _, a := range p.Attachments {
			urls = append(urls, a.URL)
		}
	}
	return urls
}

// tokens is a JSON text as the sequence of its tokens, in which white space and escapes make no difference and the
// order of keys does.
func tokens(t *testing.T, text []byte) (all []any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, token)
	}
}

// hire makes n job applications and the step hired, whose helper exports to everybody.
func (s *system) hire(n int) (applications []string) {
	s.t.Helper()
	s.put("/tenants/initech/steps", map[string]any{"items": []model.Step{{ID: "new", Name: "New"},
		{ID: "hired", Name: "Offer accepted", Category: "Hired"}}})
	s.put("/tenants/initech/steps/hired/helper", map[string]any{"integrations": []string{}})
	s.put("/tenants/initech/jobs/NURSE-1", map[string]any{"id": "job-1", "title": "Nurse", "customFields": []any{}})
	for n := range n {
		id := fmt.Sprint(n)
		s.put("/tenants/initech/candidates/c-"+id, map[string]any{"name": map[string]string{"given": "Ada"}})
		s.put("/tenants/initech/job-applications/a-"+id, map[string]any{"candidate": "c-" + id, "jobBoardCode": "NURSE-1"})
		applications = append(applications, "a-"+id)
	}
	return applications
}
