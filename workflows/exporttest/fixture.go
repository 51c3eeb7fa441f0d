// Package exporttest has what the tests of workflows/export, dispatch and rounds share: a fixture over a real store and a real
// partner, and Temporals that answer as a test says.
package exporttest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/rounds"
)

var Noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Fixture is the deliver activity over a real store and a real partner, with a clock of its own. The partner is verified.
type Fixture struct {
	*export.Activities
	T       *testing.T
	File    string // the database
	Env     *testsuite.TestActivityEnvironment
	Config  *config.Config
	Partner *httptest.Server
	Status  atomic.Int64            // the partner's answer
	Answer  func(*http.Request) int // the partner's answer in the place of status; nil: status
	Header  sync.Map                // of the partner's answer
	Asked   atomic.Int64            // requests that came to the partner
	Logs    *observer.ObservedLogs  // of the dispatcher that runs
	mu      sync.Mutex
	now     time.Time
}

func NewFixture(t *testing.T) *Fixture {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hiregate.db")
	storetest.Fill(t, file)
	b := NewFixtureOn(t, "sqlite://"+file)
	b.File = file
	return b
}

// NewFixtureOn is NewFixture with the database of an address.
func NewFixtureOn(t *testing.T, address string) *Fixture {
	t.Helper()
	b := &Fixture{T: t, now: Noon}
	b.Status.Store(http.StatusOK)
	b.Partner = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.Asked.Add(1)
		b.Header.Range(func(name, value any) bool { w.Header().Set(name.(string), value.(string)); return true })
		if b.Answer != nil {
			w.WriteHeader(b.Answer(r))
			return
		}
		w.WriteHeader(int(b.Status.Load()))
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, "a document")
		}
	}))
	t.Cleanup(b.Partner.Close)
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := documents.OpenFiles(t.TempDir())
	require.NoError(t, err)
	loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	b.Config = &config.Config{Names: names, Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}}), PublicURL: "http://gate.example",
		Tenants: map[string]*model.Tenant{"acme": {Name: "acme", Integrations: []model.Integration{{
			Tenant: "acme", Name: "hris", URL: b.Partner.URL + "/inbound", Secret: "s", Options: model.Options{Documents: model.Rehost}, Verify: true,
		}}}}}
	force := new(config.InForce)
	force.Push(b.Config)
	archive := &documents.Archive{Store: db, Files: files, InForce: force, Now: b.Clock, Log: zap.NewNop()}
	b.Activities = &export.Activities{Attempter: &delivery.Attempter{Store: db, Archive: archive, InForce: force,
		Capacity: delivery.NewCapacity(delivery.AttemptsAtOnce, delivery.BytesAtOnce), Now: b.Clock, Log: zap.NewNop()}}
	b.Env = newNode(b.Activities)
	b.Set(model.Configured)
	return b
}

// newNode returns where the activity of a node runs.
func newNode(a *export.Activities) *testsuite.TestActivityEnvironment {
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(a.Deliver, activity.RegisterOptions{Name: export.DeliverName})
	return env
}

// elsewhere has something done on another node.
func (b *Fixture) elsewhere(do func()) {
	here := b.Env
	defer func() { b.Env = here }()
	b.Env = newNode(&export.Activities{Attempter: &delivery.Attempter{Store: b.Store, Archive: b.Archive, InForce: b.InForce,
		Capacity: b.Capacity, Now: b.Clock, Log: b.Log}})
	do()
}

func (b *Fixture) Clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *Fixture) Advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *Fixture) Integration() *model.Integration { return &b.Config.Tenants["acme"].Integrations[0] }

func (b *Fixture) Set(state model.IntegrationState) {
	b.T.Helper()
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(b.Integration(), store.IntegrationStatus{State: state, Reason: "as the test has it", UpdatedAt: b.Clock()})
	}))
}

func (b *Fixture) Accept(key string) *model.Export {
	b.T.Helper()
	e := inbox.NewExport("acme", key, []byte(fmt.Sprintf(`{"candidate":{"person":{"id":{"value":%q,"schemeId":"Service Candidate","schemeAgencyId":"Service"}}}}`, key)), b.Clock())
	_, err := inbox.Accept(b.T.Context(), b.Store, e)
	require.NoError(b.T, err)
	return e
}

// Part is the input of the activities for an export.
func Part(e *model.Export) export.Part {
	return export.Part{Exports: []int64{e.ID}, Round: e.Round, To: []string{"hris"}, Till: e.DeliverTill}
}

// DeliverOnce runs the activity once, for one integration, when the next attempt is due. It gives the result, without the
// export, or how long the activity asks to wait and why.
func (b *Fixture) DeliverOnce(e *model.Export) (res export.DeliverResult, wait time.Duration, class string) {
	b.T.Helper()
	if d, err := b.Store.Delivery(b.T.Context(), e.ID, "hris", e.Round); err == nil && d.Due().After(b.Clock()) {
		b.Advance(d.Due().Sub(b.Clock()))
	}
	all, wait, retry := b.DeliverAll(Part(e))
	if retry != nil {
		return res, wait, retry.Type()
	}
	require.Len(b.T, all, 1)
	res = all[0]
	res.Of, res.Count = "", 0
	return res, 0, ""
}

// DeliverAll runs the activity once. It gives the results, or how long the activity asks to wait and why.
func (b *Fixture) DeliverAll(part export.Part) (res []export.DeliverResult, wait time.Duration, why *temporal.ApplicationError) {
	b.T.Helper()
	value, err := b.Env.ExecuteActivity(export.DeliverName, part)
	if err == nil {
		require.NoError(b.T, value.Get(&res))
		return res, 0, nil
	}
	require.True(b.T, errors.As(err, &why), "%v", err)
	return res, why.NextRetryDelay(), why
}

func (b *Fixture) Delivery(e *model.Export) *model.Delivery {
	b.T.Helper()
	d, err := b.Store.Delivery(b.T.Context(), e.ID, "hris", e.Round)
	require.NoError(b.T, err)
	return d
}

// Begun has what begins rounds, and what finds the lost.
type Begun struct {
	*dispatch.Reconciler
	*rounds.Redeliverer
	*rounds.Releaser
}

func (b *Fixture) Redeliverer() Begun {
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(b.T, err)
	b.T.Cleanup(c.Close)
	d := &dispatch.Dispatcher{Store: b.Store, Client: c, Namespace: "default", InForce: b.InForce, Archive: b.Archive, Now: b.Clock,
		Log: zap.NewNop(), Attributes: new(atomic.Bool)}
	return Begun{&dispatch.Reconciler{Dispatcher: d}, &rounds.Redeliverer{Dispatcher: d}, &rounds.Releaser{Dispatcher: d}}
}
