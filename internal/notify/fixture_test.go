package notify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/notify"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
	"github.com/hiregate/hiregate/internal/webhook"
)

var (
	noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	hris = model.Place{Tenant: "acme", Integration: "hris"}
)

// fixture is two nodes on one database, and a receiver whose answers the test decides.
type fixture struct {
	t      *testing.T
	db     *store.DB // of the first node
	nodes  []*notify.Notifier
	config *config.Config

	mu       sync.Mutex
	now      time.Time
	status   int
	received []message
}

// message is what the receiver got.
type message struct {
	path, id string
	header   http.Header
	raw      []byte

	Type      string         `json:"type"`
	Timestamp time.Time      `json:"timestamp"`
	Data      map[string]any `json:"data"`
}

// each runs a test on each database.
func each(t *testing.T, test func(b *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, address string) { test(newFixture(t, address)) })
}

func newFixture(t *testing.T, address string) *fixture {
	t.Helper()
	b := &fixture{t: t, now: noon, status: http.StatusNoContent}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	integration := model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Secret: "s",
		Verify: true}
	b.config = &config.Config{Names: names, Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}}),
		Tenants: map[string]*model.Tenant{"acme": {Name: "acme", Integrations: []model.Integration{integration}},
			"globex": {Name: "globex"}},
		Subscribers: []model.Subscriber{{URL: server.URL + "/all", Secret: "new", FormerSecret: "old"}}}
	t.Cleanup(b.config.Egress.Close)
	force := new(config.InForce)
	force.Push(b.config)
	for n := range 2 {
		db := b.db
		if n == 0 || strings.HasPrefix(address, "postgres") {
			db, err = store.Open(t.Context(), address, store.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
		}
		if n == 0 {
			b.db = db
		}
		b.nodes = append(b.nodes, &notify.Notifier{Store: db, InForce: force, Now: b.clock, Log: zap.NewNop()})
	}
	b.write(func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(&integration, store.IntegrationStatus{State: model.Configured, UpdatedAt: noon})
	})
	return b
}

func (b *fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	m := message{path: r.URL.Path, id: r.Header.Get("Webhook-Id"), header: r.Header, raw: raw}
	if err := json.Unmarshal(raw, &m); err != nil {
		b.t.Errorf("a body is no JSON: %v", err)
	}
	b.received = append(b.received, m)
	w.WriteHeader(b.status)
}

func (b *fixture) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *fixture) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *fixture) answer(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status = status
}

// together has both nodes do something at once.
func (b *fixture) together(do func(*notify.Notifier) error) {
	b.t.Helper()
	var group sync.WaitGroup
	for _, n := range b.nodes {
		group.Go(func() {
			if err := do(n); err != nil {
				b.t.Error(err)
			}
		})
	}
	group.Wait()
	require.False(b.t, b.t.Failed())
}

// told has both nodes look and send at once, and returns what was received then.
func (b *fixture) told() []message {
	b.t.Helper()
	b.mu.Lock()
	b.received = nil
	b.mu.Unlock()
	b.together(func(n *notify.Notifier) error { return n.Look(b.t.Context()) })
	for range 4 { // those about one integration go one after the other
		b.together(func(n *notify.Notifier) error { return n.Send(b.t.Context()) })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.received
}

// types are what was received, by type.
func types(all []message) []string {
	names := []string{}
	for _, m := range all {
		names = append(names, m.Type)
	}
	return names
}

func (b *fixture) write(fn func(*store.Tx) error) {
	b.t.Helper()
	require.NoError(b.t, b.db.Write(b.t.Context(), fn))
}

// attempts are made at hris now, with these faults; an empty one is a success.
func (b *fixture) attempts(faults ...model.Class) {
	b.t.Helper()
	b.write(func(tx *store.Tx) error {
		for n, fault := range faults {
			tx.CountAttempt(hris, int64(n), &model.Attempt{StartedAt: b.clock(), Fault: fault, Status: 422,
				Error: "hunter2 is not to be told"})
		}
		return nil
	})
}

// signed reports whether a message has a signature of Standard Webhooks under a secret. It is made here, not by the
// code that is tested.
func (m message) signed(secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(m.id + "." + m.header.Get("Webhook-Timestamp") + "."))
	mac.Write(m.raw)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, one := range strings.Fields(m.header.Get("Webhook-Signature")) {
		if one == want {
			return true
		}
	}
	return false
}
