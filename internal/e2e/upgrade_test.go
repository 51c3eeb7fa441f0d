package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/webhook"
)

// released is a folder for each release, with an archive of what it left in the folder of a system, by database: a
// SQLite database or a dump of PostgreSQL, the documents, and Temporal's database.
const released = "testdata/releases"

const (
	dumped = "postgres.sql" // in a system's folder
	resume = "Zoe Lovelace programmed the Analytical Engine."
)

// TestUpgrade starts the gateway on what each release left. An export that was delivered, one that waits for a partner
// and one in quarantine are as they were, and so are secrets, documents, keys and passwords: the partner gets all three.
// With -record it is the release in HIREGATE_BIN that leaves it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	if *record != "" {
		for _, database := range []string{"sqlite", "postgres"} {
			t.Run(database, func(t *testing.T) {
				t.Parallel()
				recordRelease(t, database)
			})
		}
		return
	}
	archives, err := filepath.Glob(filepath.Join(released, "*", "*.tar.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, archive := range archives {
		release, file := filepath.Split(archive)
		database := strings.TrimSuffix(file, ".tar.gz")
		for _, old := range ages[database] {
			t.Run(fmt.Sprintf("%s on %s after %s", filepath.Base(release), database, old), func(t *testing.T) {
				t.Parallel()
				upgrade(t, archive, old)
			})
		}
	}
}

// ages are how old what a release left is when it is started on, by database: the next attempt of the export that waits is
// due after 24 hours, give or take, and its time is over after 72. What an age changes is the same on both databases.
var ages = map[string][]time.Duration{
	"sqlite":   {time.Hour, 25 * time.Hour, 71 * time.Hour, 73 * time.Hour, 365 * 24 * time.Hour},
	"postgres": {25 * time.Hour},
}

// releaseSetup has content and rows kept without end, because what a release left becomes older and older.
func releaseSetup(database string) setup {
	return setup{database: database, options: "seal_key " + sealText(0) + "\nretention {\nrows forever\n}",
		tenant: "invalid quarantine\nintegration hris {\nurl http://PARTNER/hris\nsecret " + recordedSecret + "\nretry 1s 24h\n}",
		routes: "handle_path /apply/* {\napply_api\n}\nhandle_path /manage/* {\nmanage_api\n}"}
}

// recordedSecret is the secret of the integrations in the recordings. Secrets as short as that are not taken any more, so the next
// recording needs another.
const recordedSecret = "outbound-secret"

// recordRelease has the gateway do some of everything, and writes what it leaves.
func recordRelease(t *testing.T, database string) {
	address := ""
	if database == "postgres" {
		address = storetest.EmptyPostgres(t)
	}
	s := newSystemWith(t, releaseSetup(address))
	partner := s.startRecorder(ok)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"content": []byte(resume), "mimeType": "text/plain", "fileName": "cv.txt"})
	}))
	t.Cleanup(service.Close)

	s.left("delivered", strings.Replace(string(minimal("delivered")), `"profiles":[]`, fmt.Sprintf(
		`"profiles":[{"attachments":[{"id":{"value":"cv","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},"url":%q}]}]`,
		service.URL), 1))
	s.awaitOutcome("delivered", "delivered")
	s.left("quarantined", `{"candidate":{"person":{"name":"quarantined"}}}`)
	s.awaitOutcome("quarantined", "held")
	s.put("/tenants/initech", map[string]any{"name": "Initech", "secrets": []string{}})
	s.post201("/tenants/initech/integrations", map[string]any{"name": "hris", "url": "http://" + s.partner() + "/initech", "secret": recordedSecret})
	s.hire(1)
	s.post201("/tenants/initech/api-users", map[string]string{"userName": "partner@example.com", "password": "correct horse"})
	key := s.cli("api-key", "set", "HR system", "--tenant", "initech", "--role", "operator")
	key = key[strings.Index(key, "hgk_"):]
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "key"), []byte(strings.Fields(key)[0]), 0o600))

	partner.mu.Lock()
	partner.answer = func(string, int) int { return http.StatusServiceUnavailable }
	partner.mu.Unlock()
	s.left("waits", string(minimal("waits")))
	require.Eventually(t, func() bool {
		e, ok := s.show("waits")
		return ok && len(e.Deliveries) == 1 && len(e.Deliveries[0].Attempts) == 2
	}, patience, 100*time.Millisecond, "it is not attempted twice")

	for _, p := range []*process{s.gateway, s.temporal} {
		p.signal(syscall.SIGTERM)
		p.exitCode()
	}
	if address != "" {
		dump, err := storetest.Dump(address)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, dumped), dump, 0o600))
	}
	archive, err := filepath.Abs(filepath.Join(released, *record, database+".tar.gz"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(archive), 0o755))
	out, err := exec.Command("tar", "-C", s.dir, "--exclude=./Caddyfile", "--exclude=./caddy", "-czf", archive, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// left sends an export under an id that TestUpgrade knows.
func (s *system) left(id, body string) {
	s.t.Helper()
	status, answer, err := s.send(id, []byte(body))
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusAccepted, status, "%s", answer)
}

func upgrade(t *testing.T, archive string, old time.Duration) {
	s := newConfiguration(t, releaseSetup(""))
	out, err := exec.Command("tar", "-C", s.dir, "-xzf", archive).CombinedOutput()
	require.NoError(t, err, "%s", out)
	age(t, s.dir, old)
	if dump, err := os.ReadFile(filepath.Join(s.dir, dumped)); err == nil {
		s.database = storetest.EmptyPostgres(t)
		require.NoError(t, storetest.Restore(s.database, dump))
		s.configure()
	}
	partner := s.startRecorder(ok)
	partner.accepts = func(r request) bool {
		return r.header.Get("X-Service-Signature") == webhook.Sign(recordedSecret, r.body)
	}
	s.startTemporal()
	s.startGateway()
	s.gateway.line("integration configured") // it has another address

	// What waits is attempted in its workflow, also where it was due before its integration was verified again; once its 72
	// hours are over, it failed, and is delivered in another one.
	s.cli("export", "redeliver", "acme/waits")
	s.awaitOutcome("waits", "delivered")
	s.cli("export", "release", "acme/quarantined")
	s.awaitOutcome("quarantined", "delivered")
	s.cli("export", "redeliver", "acme/delivered")
	require.Eventually(t, func() bool {
		e, ok := s.show("delivered")
		return ok && len(e.Deliveries) == 2 && e.Deliveries[1].Outcome == "delivered"
	}, patience, 100*time.Millisecond, "it is not delivered again")
	arrived := map[string][]byte{}
	for _, r := range partner.of("CANDIDATE-EXPORT") {
		arrived[r.id] = r.body
	}
	require.Equal(t, string(minimal("waits")), string(arrived["waits"]))
	require.Contains(t, string(arrived["quarantined"]), `"name":"quarantined"`)
	urls := attachmentURLs(t, arrived["delivered"])
	require.Len(t, urls, 1)
	_, path, _ := strings.Cut(urls[0], "/documents/") // the body goes out as it did, with the address of then
	var document struct{ Content []byte }
	require.NoError(t, json.Unmarshal([]byte(body(t, s.url("/documents/"+path))), &document))
	require.Equal(t, resume, string(document.Content))

	s.put("/tenants/initech/integrations/hris", map[string]any{"name": "hris", "url": "http://" + s.partner() + "/initech"})
	s.post201("/tenants/initech/candidates/c-0/exports", nil)
	partner.awaitExports(t, len(arrived)+1)

	applyToken(t, s.url("/apply"))
	key, err := os.ReadFile(filepath.Join(s.dir, "key"))
	require.NoError(t, err)
	r, err := http.NewRequest(http.MethodGet, s.url("/manage/v1/tenants/initech/candidates/c-0"), nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+string(key))
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	candidate, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", candidate)
	require.Contains(t, string(candidate), "Ada")
}
