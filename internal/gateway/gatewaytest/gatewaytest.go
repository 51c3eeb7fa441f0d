// Package gatewaytest runs a gateway for tests of the handlers: a real store and a real folder, and Temporal away.
package gatewaytest

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	_ "modernc.org/sqlite" // for what the store does not tell

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// Nowhere is an address at which nobody listens.
const Nowhere = "127.0.0.1:1"

// Fixture is a gateway of its own, with what a test needs beside it.
type Fixture struct {
	*gateway.Gateway
	Clock  *Clock
	Folder string // holds hiregate.db, and the documents in documents
	Log    *zap.Logger
	Logged *observer.ObservedLogs // everything that Log and the gateway logged, from debug level on
}

// New starts a gateway for tenants; without any, for acme and globex. It ends with the test.
func New(t testing.TB, tenants ...*model.Tenant) *Fixture {
	t.Helper()
	return NewAt(t, t.TempDir(), Nowhere, tenants...)
}

// NewAt is New with its files in a folder, and with Temporal at an address.
func NewAt(t testing.TB, folder, temporal string, tenants ...*model.Tenant) *Fixture {
	t.Helper()
	path := filepath.Join(folder, "hiregate.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // it may be the folder of one that ended
		storetest.Fill(t, path)
	}
	return newOn(t, "sqlite://"+path, folder, temporal, tenants)
}

// NewOn is New on the database of an address.
func NewOn(t testing.TB, address string) *Fixture {
	t.Helper()
	return newOn(t, address, t.TempDir(), Nowhere, nil)
}

func newOn(t testing.TB, address, folder, temporal string, tenants []*model.Tenant) *Fixture {
	t.Helper()
	if len(tenants) == 0 {
		tenants = []*model.Tenant{Tenant("acme"), Tenant("globex")}
	}
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	validator, err := compiled()
	require.NoError(t, err)
	core, logged := observer.New(zapcore.DebugLevel)
	b := &Fixture{Clock: &Clock{now: Noon}, Folder: folder, Log: zap.New(core), Logged: logged}

	database := &gateway.Database{Address: address}
	runtime, err := gateway.NewRuntime(gateway.Settings{
		Database: database.Address, Documents: filepath.Join(folder, "documents"), Temporal: temporal, Namespace: "default",
	}, database, b.Log)
	require.NoError(t, err)
	guard := egress.New(egress.Policy{})
	t.Cleanup(func() {
		require.NoError(t, runtime.Destruct())
		require.NoError(t, database.Destruct())
		guard.Close()
	})
	require.NoError(t, runtime.Start(t.Context()))

	c := &config.Config{Names: names, Egress: guard, PublicURL: "https://gate.example.com",
		Workflows:    "https://temporal-ui.example.com/namespaces/default/workflows/",
		CandidateURL: "https://recruiting.example.com/candidates/{candidate}", Tenants: map[string]*model.Tenant{},
		Stored: runtime.Directory}
	for _, tenant := range tenants {
		c.Tenants[tenant.Name] = tenant
	}
	runtime.InForce.Push(c)
	b.Gateway = &gateway.Gateway{Config: c, Validator: validator, Runtime: runtime, Now: b.Clock.Now}
	return b
}

// Reconfigure puts another configuration in force, as a reload does: what change makes of a copy of the present one, which
// background work may be reading.
func (b *Fixture) Reconfigure(change func(*config.Config)) {
	before, next, g := b.Config, *b.Config, *b.Gateway
	next.Tenants = map[string]*model.Tenant{}
	for name, t := range before.Tenants {
		tenant := *t
		tenant.Integrations = slices.Clone(t.Integrations)
		next.Tenants[name] = &tenant
	}
	change(&next)
	g.Config = &next
	b.Gateway = &g
	b.Runtime.InForce.Push(&next)
	b.Runtime.InForce.Drop(before)
}

// AllowLoopback lets what is sent reach programs of this machine.
func (b *Fixture) AllowLoopback(t *testing.T) {
	t.Helper()
	guard := egress.New(egress.Policy{Allow: []egress.Allowance{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(guard.Close)
	b.Reconfigure(func(c *config.Config) { c.Egress = guard })
}

// compiled is the validator, which any number of gateways can share.
var compiled = sync.OnceValues(func() (*schemas.Validator, error) { return schemas.New("Service") })

// Tenant is a tenant with the given secrets; without any, with <name>-secret.
func Tenant(name string, secrets ...model.Secret) *model.Tenant {
	if len(secrets) == 0 {
		secrets = []model.Secret{model.Secret(name + "-secret")}
	}
	return &model.Tenant{Name: name, Secrets: secrets}
}

// Write writes to the gateway's store.
func (b *Fixture) Write(t testing.TB, fn func(*store.Tx) error) {
	t.Helper()
	require.NoError(t, b.Runtime.Store().Write(t.Context(), fn))
}

// Exports reads all exports of the store, without their bodies, newest first.
func (b *Fixture) Exports(t testing.TB) []*model.Export {
	t.Helper()
	page, next, err := b.Runtime.Store().ListExports(t.Context(), store.ExportFilter{Limit: store.MaxPage})
	require.NoError(t, err)
	require.Zero(t, next, "there are more exports than a page holds")
	return page
}

// Fingerprints counts the different fingerprints of requests that are kept with their Idempotency-Key.
func (b *Fixture) Fingerprints(t testing.TB) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.Folder, "hiregate.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(DISTINCT fingerprint) FROM idempotency`).Scan(&n))
	return n
}

// Noon is the time at which a Clock begins.
var Noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Clock stands still until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
