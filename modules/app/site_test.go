package app_test

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	_ "github.com/hiregate/hiregate/modules"
	app "github.com/hiregate/hiregate/modules/app"
)

// site is a Caddy in this process, at a free port, with its files in a folder.
type site struct {
	t      *testing.T
	folder string
	port   int
	client *http.Client
	before float64 // exports that were accepted in this process before; -1: not known yet
}

func newSite(t *testing.T) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	t.Cleanup(func() { require.NoError(t, caddy.Stop()) })
	// Each request on a connection of its own: a kept one would stay with the configuration that took it.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return &site{t: t, folder: t.TempDir(), port: l.Addr().(*net.TCPAddr).Port, client: client, before: -1}
}

// settings are what the configurations of a site differ in.
type settings struct {
	tenants  []string
	database string // path
	bind     string
	handlers string // further directives
	log      string
	options  string // further ones of the block hiregate
	servers  string // those of the block servers
	scheme   string // default: http
	delay    string // shutdown_delay; default: 300ms
}

func (s *site) with(tenants ...string) settings {
	return settings{tenants: tenants, database: s.path("hiregate.db"), bind: "shared/127.0.0.1", log: "output discard"}
}

func (s *site) path(name string) string { return filepath.Join(s.folder, name) }

func (s *site) adapt(c settings) []byte {
	s.t.Helper()
	var tenants strings.Builder
	for _, name := range c.tenants {
		fmt.Fprintf(&tenants, "tenant %s {\nsecret %[1]s-secret\n}\n", name)
	}
	text := fmt.Sprintf(`{
	admin off
	persist_config off
	auto_https off
	grace_period 5s
	shutdown_delay %[11]s
	log {
		%[8]s
	}
	servers {
		%[10]s
	}
	hiregate {
		dev
		public_url http://127.0.0.1:%[1]d
		database sqlite://%[2]s
		documents file://%[3]s
		temporal %[4]s
		%[5]s
		%[9]s
	}
}
%[12]s://127.0.0.1:%[1]d {
	bind %[6]s
	handle /hooks/* {
		export_receiver {
			tenant_from path 1
		}
	}
	metrics /metrics
	%[7]s
}`, s.port, c.database, s.path("documents"), gatewaytest.Nowhere, tenants.String(), c.bind, c.handlers, c.log, c.options, c.servers,
		cmp.Or(c.delay, "300ms"), cmp.Or(c.scheme, "http"))
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil)
	require.NoError(s.t, err)
	return config
}

// certificate writes a certificate, which nobody else knows, and its key.
func (s *site) certificate() (certificate, key string) {
	s.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(s.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(s.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(s.t, err)
	certificate, key = s.path("certificate.pem"), s.path("key.pem")
	require.NoError(s.t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(s.t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return certificate, key
}

func (s *site) tryToLoad(c settings) error { return caddy.Load(s.adapt(c), true) }

func (s *site) load(c settings) {
	s.t.Helper()
	require.NoError(s.t, s.tryToLoad(c))
	if s.before < 0 {
		s.before = s.total()
	}
}

// take listens at the site's port of another address, for the rest of the test.
func (s *site) take(host string) {
	s.t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(s.port)))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { l.Close() })
}

func (s *site) unreachable() bool {
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err == nil {
		conn.Close()
	}
	return err != nil
}

// export is a signed one, whose body depends on its key alone.
func (s *site) export(tenant, key string) (*http.Request, error) {
	body := fmt.Appendf(nil,
		`{"candidate":{"person":{"id":{"value":%q,"schemeId":"Service Candidate","schemeAgencyId":"Service"}}}}`, key)
	r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/hooks/%s", s.port, tenant),
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Service-Event", webhook.EventExport)
	r.Header.Set("X-Service-UUID", key)
	r.Header.Set("X-Service-Signature", webhook.Sign(tenant+"-secret", body))
	return r, nil
}

func (s *site) post(client *http.Client, tenant, key string) (int, error) {
	r, err := s.export(tenant, key)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func (s *site) send(tenant, key string) int {
	s.t.Helper()
	status, err := s.post(s.client, tenant, key)
	require.NoError(s.t, err)
	return status
}

func (s *site) accepted(tenant, key string) {
	s.t.Helper()
	require.Equal(s.t, http.StatusAccepted, s.send(tenant, key))
}

var acceptedLine = regexp.MustCompile(`^hiregate_received_total\{.*result="accepted".*\} (\S+)$`)

// total reads from the metrics of the configuration in force how many exports were accepted.
func (s *site) total() (sum float64) {
	s.t.Helper()
	answer, err := s.client.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", s.port))
	require.NoError(s.t, err)
	defer answer.Body.Close()
	require.Equal(s.t, http.StatusOK, answer.StatusCode)
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if found := acceptedLine.FindStringSubmatch(lines.Text()); found != nil {
			n, err := strconv.ParseFloat(found[1], 64)
			require.NoError(s.t, err)
			sum += n
		}
	}
	require.NoError(s.t, lines.Err())
	return sum
}

// counts checks how many exports were accepted since the first configuration.
func (s *site) counts(n int) {
	s.t.Helper()
	require.Equal(s.t, float64(n), s.total()-s.before)
}

// held is how often what is shared is held.
type held struct{ database, runtime int }

func (s *site) references(c settings) held {
	s.t.Helper()
	id, err := store.Identity("sqlite://" + c.database)
	require.NoError(s.t, err)
	of, running := app.PoolReferences(gateway.Settings{
		Database: id, Documents: s.path("documents"), Temporal: gatewaytest.Nowhere, Namespace: "default"})
	return held{of, running}
}

// stored opens a database, which must not be open, and lists its exports as "tenant key", sorted.
func (s *site) stored(c settings) (all []string) {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), "sqlite://"+c.database, store.Options{})
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, db.Close()) }()
	for filter := (store.ExportFilter{Limit: store.MaxPage}); ; {
		page, next, err := db.ListExports(s.t.Context(), filter)
		require.NoError(s.t, err)
		for _, e := range page {
			all = append(all, e.Tenant+" "+e.Key)
		}
		if next == 0 {
			slices.Sort(all)
			return all
		}
		filter.Cursor = next
	}
}

// files are all that is in the site's folder.
func (s *site) files() (names []string) {
	s.t.Helper()
	require.NoError(s.t, filepath.WalkDir(s.folder, func(path string, _ fs.DirEntry, err error) error {
		if path != s.folder {
			names = append(names, path)
		}
		return err
	}))
	return names
}

var notOurs = regexp.MustCompile(`github\.com/hiregate/hiregate/modules/app(_test\.|\.Test)`)

var shared = regexp.MustCompile(
	`github\.com/hiregate/hiregate/|go\.temporal\.io/|google\.golang\.org/grpc|database/sql`)

// ours are the goroutines of what configurations share.
func ours() (stacks []string) {
	buf := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if shared.MatchString(stack) && !notOurs.MatchString(stack) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
