package send

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/schemas"
)

func TestSendSaysWhatIsWrongBeforeItSends(t *testing.T) {
	t.Parallel()
	var requests int
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	t.Cleanup(server.Close)
	pdf := clitest.File(t, "a.pdf", clitest.PDF)
	folder := t.TempDir()
	noAttachments := clitest.File(t, "minimal.json", []byte(`{"candidate":{"person":{"id":{"value":"c-1"}}}}`))
	notJSON := clitest.File(t, "broken.json", []byte(`{"candidate":`))
	for _, test := range []struct {
		want string
		args []string
	}{
		{"send takes one URL, such as: hiregate send http", []string{}},
		{"send takes one URL", []string{"http://a", "http://b"}},
		{"did you mean http://localhost:8080/hooks/acme?", []string{"localhost:8080/hooks/acme"}},
		{"did you mean http://127.0.0.1:8080/hooks/acme?", []string{"127.0.0.1:8080/hooks/acme"}},
		{"did you mean http://localhost:8080/hooks/acme?", []string{":8080/hooks/acme"}},
		{"did you mean http://localhost/hooks/acme?", []string{"/hooks/acme"}},
		{"did you mean http://[::1]:8080/hooks/acme?", []string{"[::1]:8080/hooks/acme"}},
		{"did you mean https://gate.example.com/hooks/acme?", []string{"gate.example.com/hooks/acme"}},
		{"ftp:// can't be sent to", []string{"ftp://gate.example.com"}},
		{"names no host", []string{"http:///hooks"}},
		{"is not a URL", []string{"http://a b/"}},
		{"carries user information", []string{"http://me:pw@gate.example.com/"}},
		{"there is no secret: give one with --secret-file or --secret, or in the environment variable HIREGATE_SECRET",
			[]string{"URL", "--secret", ""}},
		{"--event EXPORT is not an event of the service", []string{"URL", "--event", "export"}},
		{"leave out --payload and --document", []string{"URL", "--event", "VERIFY", "--payload", noAttachments}},
		{"leave out --payload and --document", []string{"URL", "--event", "VERIFY", "--document", pdf}},
		{"VERIFY carries no UUID", []string{"URL", "--event", "VERIFY", "--uuid", "u"}},
		{"--uuid must be 1 to 255 visible ASCII", []string{"URL", "--uuid", "a b"}},
		{"--count must be at least 1", []string{"URL", "--count", "0"}},
		{"--concurrency must be 1 to 1024", []string{"URL", "--concurrency", "0"}},
		{"--concurrency must be 1 to 1024", []string{"URL", "--concurrency", "2000"}},
		{"--timeout must be above 0s and at most 20s", []string{"URL", "--timeout", "21s"}},
		{"--wait must not be negative", []string{"URL", "--wait", "-1s"}},
		{`--rate "fast" is not a rate: write it like 200/s or 30/m`, []string{"URL", "--rate", "fast"}},
		{"is not a rate", []string{"URL", "--rate", "0/s"}},
		{"is not a rate", []string{"URL", "--rate", "5/h"}},
		{"is not a rate", []string{"URL", "--rate", "NaN/s"}},
		{"--service-name: service name", []string{"URL", "--service-name", "a b"}},
		{"there is no such file; check the path", []string{"URL", "--payload", folder + "/missing.json"}},
		{"can't be read", []string{"URL", "--payload", folder}},
		{"there is no such file; check the path", []string{"URL", "--document", folder + "/missing.pdf"}},
		{"is not a file: name one file each", []string{"URL", "--document", folder}},
		{"the payload has no attachments: add some, or leave out --payload",
			[]string{"URL", "--payload", noAttachments, "--document", pdf}},
		{"the payload has no attachment URLs to rewrite", []string{"URL", "--payload", notJSON, "--document", pdf}},
		{"--secret and --secret-file are both given: leave one out", []string{"URL", "--secret-file", pdf}},
		{"unknown flag: --secrets: did you mean --secret? `hiregate send --help` lists the flags",
			[]string{"URL", "--secrets", "x"}},
		{"`hiregate send --help` lists the flags", []string{"URL", "--timeout", "soon"}},
	} {
		args := append([]string{"--secret", secret}, test.args...)
		for i := range args {
			args[i] = strings.Replace(args[i], "URL", server.URL+"/acme", 1)
		}
		out, log, err := send(t, args...)
		require.ErrorContains(t, err, test.want, "%v", test.args)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), secret)
		require.Empty(t, out, "usage would hide the sentence")
		require.NotContains(t, log, "Usage:")
	}
	require.Zero(t, requests)
}

func TestSecretFromTheEnvironment(t *testing.T) {
	t.Setenv(terminal.SecretVariable, secret)
	receiver := startListener(t)
	_, _, err := sendToPartner(t, receiver.url+"/acme")
	require.NoError(t, err)
	_, _, err = sendToPartner(t, receiver.url+"/acme", "--secret", "another")
	require.Error(t, err, "the flag wins")
}

func TestNoAnswerIsASentence(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := l.Addr().String()
	require.NoError(t, l.Close())
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	trusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	trusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	trusted.StartTLS()
	t.Cleanup(trusted.Close)
	silent := httptest.NewServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(silent.Close)
	for want, url := range map[string]string{
		"nothing listens at " + closed + ": start the receiver":  "http://" + closed + "/acme",
		"speaks plain HTTP: write http:// instead of https://":   strings.Replace(plain.URL, "http", "https", 1) + "/acme",
		"is of an authority that is not known here":              trusted.URL + "/acme",
		"closed the connection before it answered":               silent.URL + "/acme",
		"the host name of nowhere.invalid could not be resolved": "http://nowhere.invalid/acme",
	} {
		out, _, err := send(t, url, "--secret", secret)
		require.EqualError(t, err, "1 of 1 were not acknowledged")
		require.Contains(t, out, want)

		out, _, err = send(t, url, "--secret", secret, "--count", "2", "--json")
		require.Error(t, err)
		s := clitest.JSONLines[summary](t, out, "summary")[0]
		require.Equal(t, 2, s.Failed)
		require.Len(t, s.Reasons, 1, "the same reason is told once")
	}
}

// receiver records the last request and answers as told.
func receiver(t *testing.T, status int, answer string) (url string, last func() (http.Header, []byte)) {
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/acme", func() (http.Header, []byte) { return header, body }
}

func TestHeadersOfAnExport(t *testing.T) {
	t.Parallel()
	url, last := receiver(t, 202, `{"receipt":"rcpt-1"}`)
	out, _, err := send(t, url, "--secret", secret, "--payload", fullExport)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^202 Accepted in `, out)
	require.Regexp(t, `(?m)^ +receipt +rcpt-1$`, out)
	header, body := last()
	sample, err := os.ReadFile(fullExport)
	require.NoError(t, err)
	require.Equal(t, sample, body, "without --document no byte is changed")
	require.Equal(t, "https://service.example/candidates/c0a8b5f2-6c1e-4c55-9a53-0d2f6a1d7e10", header.Get("Link"))
	require.Equal(t, "job-3b7e", header.Get("X-Service-Export-Context"))
	require.Equal(t, "CANDIDATE-EXPORT", header.Get("X-Service-Event"))
	require.Contains(t, out, header.Get("X-Service-UUID"))

	_, _, err = send(t, url, "--secret", secret, "--service-name", "Acme", "--uuid", "mine")
	require.NoError(t, err)
	header, body = last()
	require.NotContains(t, header, "X-Acme-Export-Context", "the minimal export has no job")
	require.Equal(t, "mine", header.Get("X-Acme-UUID"))
	require.Equal(t, "Acme", header.Get("User-Agent"))
	doc, err := schemas.Guard(body)
	require.NoError(t, err)
	require.Equal(t, "https://service.example/candidates/"+doc.CandidateID, header.Get("Link"))

	_, _, err = send(t, url, "--secret", secret, "--event", "VERIFY")
	require.Error(t, err, "202 is not 200")
	header, body = last()
	require.Equal(t, `{"data":"Service Verify Event"}`, string(body))
	require.Empty(t, header.Get("Link")+header.Get("X-Service-UUID"))
}

func TestMinimalExportIsValidAndRandom(t *testing.T) {
	t.Parallel()
	validator, err := schemas.New("Acme")
	require.NoError(t, err)
	candidates := map[string]bool{}
	for documents := range 3 {
		p, err := newPayload("", "Acme", documents)
		require.NoError(t, err)
		require.NoError(t, p.problem)
		require.Empty(t, validator.Export(p.spans))
		require.Len(t, p.spans.Attachments, documents)
		candidates[p.spans.CandidateID] = true
	}
	require.Len(t, candidates, 3)
}

func TestContextFitsIntoAHeader(t *testing.T) {
	t.Parallel()
	job := func(id string) []byte {
		quoted, err := json.Marshal(id)
		require.NoError(t, err)
		return []byte(`{"candidate":{"profiles":[{},{"associatedPositionOpenings":[{"positionOpeningId":{"value":` +
			string(quoted) + `}}]}]}}`)
	}
	require.Equal(t, "job-1", exportContext(job("job-1")))
	require.Equal(t, "a%0D%0Ab%20%C3%B8", exportContext(job("a\r\nb ø")))
	require.Empty(t, exportContext([]byte(`{"candidate":{"profiles":"none"}}`)))
}

func TestFindingsAreAReadableList(t *testing.T) {
	t.Parallel()
	url, _ := receiver(t, 422, `{"message":"The body breaks the schema.","findings":[
		{"pointer":"/candidate/person/id/schemeId","rule":"const: Service Candidate","found":"string of 3 characters"},
		{"pointer":"/candidate/person/applyDate","rule":"date: YYYY-MM-DD","found":"number"}]}`)
	out, _, err := send(t, url, "--secret", secret)
	require.Error(t, err)
	require.Regexp(t, `^422 Unprocessable Entity in [^ ]+: The body breaks the schema\.\n`, out)
	require.Contains(t, out, ""+
		"AT                             RULE                      FOUND\n"+
		"/candidate/person/id/schemeId  const: Service Candidate  string of 3 characters\n"+
		"/candidate/person/applyDate    date: YYYY-MM-DD          number\n")

	out, _, err = send(t, url, "--secret", secret, "--json")
	require.Error(t, err)
	require.Len(t, clitest.JSONLines[answer](t, out, "answer")[0].Findings, 2)
}

func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	for answered, want := range map[string]string{
		`{"title":"Bad Request","status":400,"detail":"send it so","findings":[]}`: ": send it so",
		`{"message":"not so"}`:                       ": not so",
		`{"error":"no","message":"never"}`:           ": never",
		`{"error":"no"}`:                             ": no",
		`{"detail":7}`:                               "",
		`{"detail":"said","message":"said nothing"}`: ": said",
	} {
		url, _ := receiver(t, 400, answered)
		out, _, err := send(t, url, "--secret", secret)
		require.Error(t, err)
		require.Regexp(t, `^400 Bad Request in [^ ]+`+want+`\n`, out)
	}
}

func TestForeignAnswersAreShownSafely(t *testing.T) {
	t.Parallel()
	url, _ := receiver(t, 503, "busy\x1b[2J\n"+strings.Repeat("x", 1000))
	out, _, err := send(t, url, "--secret", secret)
	require.Error(t, err)
	require.Regexp(t, `^503 Service Unavailable in [^ ]+: busy\\x1b\[2J\\nxxx`, out)
	require.Less(t, len(out), 600)
	require.Regexp(t, `(?m)^ +retry after +7s$`, out)
}

func TestAnythingCanBeSent(t *testing.T) {
	t.Parallel()
	url, last := receiver(t, 200, "")
	_, log, err := send(t, url, "--secret", secret, "--any-2xx", "--payload",
		clitest.File(t, "broken.json", []byte(`{"candidate":`)))
	require.NoError(t, err)
	require.Contains(t, log, "The payload is not an export, and is still sent: ")
	header, body := last()
	require.Equal(t, `{"candidate":`, string(body))
	require.NotContains(t, header, "Link")
}

// Caddy answers an address that no site serves with an empty 200: whoever sends there must not take that for received.
func TestA2xxWithoutAReceiptIsNoAcknowledgement(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "{}", "OK"} {
		url, _ := receiver(t, 200, answer)
		out, _, err := send(t, url, "--secret", secret)
		require.EqualError(t, err, "1 of 1 were not acknowledged")
		require.Regexp(t, `^200 OK in [^ ]+: there is no receipt in the answer, so no gateway stored the export`, out)
		_, _, err = send(t, url, "--secret", secret, "--any-2xx")
		require.NoError(t, err)
		_, _, err = send(t, url, "--secret", secret, "--event", "VERIFY")
		require.NoError(t, err, "VERIFY has no receipt")
	}
}

// Documents that the gateway gave up, as where its egress refuses this machine, are not waited for.
func TestDocumentsThatAreGivenUpAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/acme/receipts/rcpt-1" {
			io.WriteString(w, `{"documents":{"referenced":1,"fetched":0,"givenUp":1}}`)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, `{"receipt":"rcpt-1"}`)
	}))
	t.Cleanup(server.Close)
	args := []string{server.URL + "/acme", "--secret", secret, "--wait", "1h", "--document", "main_test.go"}
	out, _, err := send(t, args...)
	require.NoError(t, err)
	require.Contains(t, out, "The gateway gave up 1 documents of the last export, and fetched 0 of 1; the sender is gone.")
	out, _, err = send(t, append(args, "--json")...)
	require.NoError(t, err)
	require.Equal(t, []fetches{{Kind: "documents", Expected: 1, GivenUp: 1}}, clitest.JSONLines[fetches](t, out, "documents"))
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var sorted []time.Duration
	require.Zero(t, percentile(sorted, 50))
	for i := range 200 {
		sorted = append(sorted, time.Duration(i+1))
	}
	require.Equal(t, time.Duration(100), percentile(sorted, 50))
	require.Equal(t, time.Duration(190), percentile(sorted, 95))
	require.Equal(t, time.Duration(198), percentile(sorted, 99))
	require.Equal(t, time.Duration(1), percentile(sorted[:1], 99))
}

func TestTallyBoundsItsReasons(t *testing.T) {
	t.Parallel()
	tally := newTally()
	for i := range maxReasons + 50 {
		tally.add(&answer{Error: strings.Repeat("x", i+1)})
	}
	s := tally.summary(200)
	require.Len(t, s.Reasons, maxReasons+1)
	require.Equal(t, 50, s.Reasons["other reasons"])
	require.Equal(t, maxReasons+50, s.Failed)
	require.Equal(t, 50, s.NotSent)
	var out bytes.Buffer
	require.NoError(t, s.print(&out))
	require.Regexp(t, `(?m)^no answer +150\nnot sent +50\n`, out.String())
}

func TestProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := newProgress(&log, 3)
	p.step(true)
	p.step(false)
	require.Empty(t, log.String())
	p.tick()
	p.finish()
	require.Equal(t, "2 of 3 answered, 1 not acknowledged\n", log.String())
}
