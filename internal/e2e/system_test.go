package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/failpoint"
)

const (
	inboundSecret  = "inbound-signing-secret"
	outboundSecret = "outbound-signing-secret"
)

// system is a gateway with a Temporal server of its own. The tenant is acme, at /hooks/acme.
type system struct {
	setup
	t                              *testing.T
	dir                            string
	http, admin, temporalPort, own int
	ui                             int // the port of Temporal's UI; 0: there is none
	gateway, temporal              *process
	namespaces                     []string // that Temporal begins with; by default the usual one
}

// setup is what systems differ in, as lines of the Caddyfile.
type setup struct {
	env []string // of the gateway
	// former says that the gateway is of an earlier commit.
	former bool
	// failpoint is where the gateway kills itself; empty: nowhere.
	failpoint failpoint.Point
	global    string // in the block of the head
	database  string // address; by default SQLite in the system's folder
	options   string // in the block of the gateway
	// connection is the option temporal with its block; by default the server's own address.
	connection string
	delay      string // shutdown_delay; by default 250ms
	documents  string // address, of a bucket with its block; by default a folder in the system's folder
	adminHost  string // by default 127.0.0.1
	// tenant is in the block of the tenant acme. PARTNER stands for an address that is free for a partner, GATEWAY for
	// the site's.
	tenant string
	routes string // in the site
	// leaves says what the test leaves overdue at its end; empty: nothing.
	leaves string
}

// newSystem starts Temporal and a gateway with these lines in the block of the tenant acme. PARTNER in them stands for
// an address that is free for a partner.
func newSystem(t *testing.T, tenant string) *system {
	t.Helper()
	return newSystemWith(t, setup{tenant: tenant})
}

// newSystemWith is newSystem with more that differs.
func newSystemWith(t *testing.T, with setup) *system {
	t.Helper()
	s := newConfiguration(t, with)
	s.startTemporal()
	s.startGateway()
	return s
}

// newReceiver is newSystemWith without Temporal: exports are accepted, and wait.
func newReceiver(t *testing.T, with setup) *system {
	t.Helper()
	with.leaves = "what waits for Temporal"
	s := newConfiguration(t, with)
	s.startGateway()
	return s
}

func newConfiguration(t *testing.T, with setup) *system {
	t.Helper()
	ports := freePorts(t, 4)
	s := &system{setup: with, t: t, dir: t.TempDir(), http: ports[0], admin: ports[1], temporalPort: ports[2],
		own: ports[3]}
	s.configure()
	return s
}

func (s *system) configure() {
	s.t.Helper()
	config := fmt.Sprintf(`{
	admin %[11]s:%[2]d
	auto_https off
	persist_config off
	grace_period 10s
	shutdown_delay %[12]s
	%[10]s
	hiregate {
		dev
		public_url http://127.0.0.1:%[1]d
		database %[7]s
		documents %[4]s
		temporal %[3]s
		egress allow 127.0.0.0/8
		%[8]s
		tenant acme {
			secret %[5]s
			%[6]s
		}
	}
}
http://127.0.0.1:%[1]d {
	bind shared/127.0.0.1
	handle /hooks/* {
		export_receiver {
			tenant_from path 1
		}
	}
	handle_path /documents/* {
		documents
	}
	handle /healthz* {
		healthz
	}
	%[9]s
	metrics /metrics
}
`, s.http, s.admin, cmp.Or(s.connection, loopback(s.temporalPort)), cmp.Or(s.documents, "file:"+s.dir+"/documents"), inboundSecret, strings.NewReplacer("PARTNER", s.partner(), "GATEWAY", loopback(s.http)).Replace(s.tenant),
		cmp.Or(s.database, "sqlite:"+s.dir+"/hiregate.db"), s.options, s.routes, s.global, cmp.Or(s.adminHost, "127.0.0.1"),
		cmp.Or(s.delay, "250ms"))
	require.NoError(s.t, os.WriteFile(s.caddyfile(), []byte(config), 0o600))
}

func (s *system) caddyfile() string      { return filepath.Join(s.dir, "Caddyfile") }
func (s *system) url(path string) string { return "http://" + loopback(s.http) + path }
func (s *system) partner() string        { return loopback(s.own) }

// remove deletes the files of the system's folder that a pattern names, of which there is one at least.
func (s *system) remove(pattern string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, pattern))
	require.NoError(s.t, err)
	require.NotEmpty(s.t, files)
	for _, file := range files {
		require.NoError(s.t, os.Remove(file))
	}
}

func (s *system) startTemporal() {
	s.t.Helper()
	args := []string{"--db", filepath.Join(s.dir, "temporal.db"), flag("port", s.temporalPort), flag("ui-port", s.ui),
		"--lifeline", "--log-level=error"}
	for _, name := range s.namespaces {
		args = append(args, "--namespace="+name)
	}
	s.temporal = start(s.t, nil, temporalDev(s.t), args...)
	s.temporal.line("ready on")
}

// startGateway starts the gateway and waits until it accepts.
func (s *system) startGateway() {
	s.t.Helper()
	s.gateway = s.runGateway()
	require.Eventually(s.t, func() bool {
		resp, err := http.Get(s.url("/healthz"))
		if err != nil {
			return s.gateway.hasEnded()
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, patience, 20*time.Millisecond, "the gateway does not come up")
	require.False(s.t, s.gateway.hasEnded(), "the gateway ended:\n%s", s.gateway.out.String())
	s.t.Cleanup(s.awaitNothingOverdue) // before the gateway is killed
}

// awaitNothingOverdue has the test fail if the gateway, where it still runs, names exports that wait for longer than their
// next step says.
func (s *system) awaitNothingOverdue() {
	if s.t.Failed() || s.leaves != "" || s.gateway.hasEnded() {
		return
	}
	var overdue []string
	assert.Eventually(s.t, func() bool {
		overdue = s.overdue()
		return len(overdue) == 0
	}, patience, 200*time.Millisecond, "exports are overdue at the end of the test")
	if len(overdue) > 0 {
		s.t.Log(overdue)
	}
}

// overdue returns what `hiregate status` says of exports that wait for longer than their next step says.
func (s *system) overdue() (sentences []string) {
	resp, err := http.Get(fmt.Sprintf("http://%s:%d/hiregate/v1/status", cmp.Or(s.adminHost, "127.0.0.1"), s.admin))
	if err != nil {
		return []string{err.Error()}
	}
	defer resp.Body.Close()
	var status struct {
		Needs []struct{ Kind, Sentence string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return []string{err.Error()}
	}
	for _, need := range status.Needs {
		if need.Kind == "exports_overdue" || need.Kind == "exports_undispatched" {
			sentences = append(sentences, need.Sentence)
		}
	}
	return sentences
}

func (s *system) runGateway() *process {
	s.t.Helper()
	path, env := hiregate(s.t), append(s.env, "XDG_CONFIG_HOME="+s.dir, "XDG_DATA_HOME="+s.dir)
	if s.former {
		path = former(s.t)
	}
	if s.failpoint != "" {
		path, env = failpoints(s.t), append(env, "HIREGATE_FAILPOINT="+string(s.failpoint))
	}
	return start(s.t, env, path, "run", "--config", s.caddyfile(), "--adapter", "caddyfile")
}

// send signs an export and posts it, on a connection of its own. The signature is made here, not by the code that is
// tested.
func (s *system) send(id string, body []byte) (status int, answer []byte, err error) {
	return s.post(http.DefaultClient, id, body, func(r *http.Request) { r.Close = true })
}

// keptConnection is send on a connection that is kept for the next. It is opened again where an answer says that it
// ends, and counted; a request is never repeated, which Go's client would do for some.
func (s *system) keptConnection(
	opened *atomic.Int64,
) func(id string, body []byte) (status int, answer []byte, err error) {
	s.t.Helper()
	dialer := new(net.Dialer)
	transport := &http.Transport{MaxConnsPerHost: 1,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			opened.Add(1)
			return dialer.DialContext(ctx, network, address)
		}}
	s.t.Cleanup(transport.CloseIdleConnections)
	return func(id string, body []byte) (int, []byte, error) {
		return s.post(&http.Client{Transport: transport}, id, body, func(r *http.Request) { r.GetBody = nil })
	}
}

func (s *system) post(
	through *http.Client, id string, body []byte, how func(*http.Request),
) (status int, answer []byte, err error) {
	return postSigned(through, s.url("/hooks/acme"), inboundSecret, id, body, how)
}

// postSigned posts an export to a hook, signed with a secret. The request may be changed before.
func postSigned(
	through *http.Client, hook, secret, id string, body []byte, how func(*http.Request),
) (status int, answer []byte, err error) {
	r, err := http.NewRequest(http.MethodPost, hook, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	r.Header.Set("X-Service-Signature", hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-Service-Event", "CANDIDATE-EXPORT")
	r.Header.Set("X-Service-UUID", id)
	how(r)
	resp, err := through.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// accepted sends an export that must be accepted, under an id of its own.
func (s *system) accepted(body []byte) (id string) {
	s.t.Helper()
	id = uuid.NewString()
	status, answer, err := s.send(id, body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusAccepted, status, "%s", answer)
	return id
}

// minimal is an export that no other is equal to.
func minimal(id string) []byte {
	return fmt.Appendf(nil, `{"candidate":{"person":{"id":{"value":%q,"schemeId":"Service Candidate","schemeAgencyId":"Service"}},"profiles":[]}}`, id)
}

// shown is what the gateway tells of an export; only what tests ask for.
type shown struct {
	Workflow   string `json:"workflow"`
	Deliveries []struct {
		Integration string    `json:"integration"`
		Outcome     string    `json:"outcome"`
		Class       string    `json:"class"`
		Reason      string    `json:"reason"`
		Round       int       `json:"round"`
		NextAt      time.Time `json:"nextAt"`
		Attempts    []struct {
			StartedAt time.Time `json:"startedAt"`
			Status    int       `json:"status"`
			Manual    bool      `json:"manual"`
		} `json:"history"`
	} `json:"deliveries"`
}

// show asks the running gateway for an export, as `hiregate export show` does.
func (s *system) show(id string) (e shown, ok bool) {
	s.t.Helper()
	resp, err := http.Get("http://" + loopback(s.admin) + "/hiregate/v1/tenants/acme/exports/" + id)
	if err != nil {
		return e, false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return e, false
	}
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&e))
	return e, true
}

// awaitOutcome waits until an export's last delivery has an outcome.
func (s *system) awaitOutcome(id, outcome string) (e shown) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var ok bool
		e, ok = s.show(id)
		return ok && len(e.Deliveries) > 0 && e.Deliveries[len(e.Deliveries)-1].Outcome == outcome
	}, patience, 200*time.Millisecond, "export %s does not come to be %s", id, outcome)
	return e
}

// metric adds up the samples of a metric whose labels match.
func (s *system) metric(name, labels string) float64 {
	s.t.Helper()
	resp, err := http.Get(s.url("/metrics"))
	require.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	sum := 0.0
	for _, line := range regexp.MustCompile(`(?m)^`+name+`(\{[^}]*`+labels+`[^}]*\})? (\S+)$`).FindAllSubmatch(text, -1) {
		v, err := strconv.ParseFloat(string(line[2]), 64)
		require.NoError(s.t, err)
		sum += v
	}
	return sum
}

// awaitMetric waits until a metric, which is set now and then, has a value.
func (s *system) awaitMetric(name, labels string, value float64) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.metric(name, labels) == value }, patience, 200*time.Millisecond, name)
}

func (s *system) temporalClient() client.Client {
	s.t.Helper()
	return s.temporalClientOf(s.temporalPort, client.DefaultNamespace)
}

func (s *system) temporalClientOf(port int, namespace string) client.Client {
	s.t.Helper()
	c, err := client.Dial(client.Options{HostPort: loopback(port), Namespace: namespace})
	require.NoError(s.t, err)
	s.t.Cleanup(c.Close)
	return c
}
