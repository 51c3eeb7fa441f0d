package export_test

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

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fixture is the deliver activity over a real store and a real partner, with a clock of its own. The partner is verified.
type fixture struct {
	*export.Activities
	t       *testing.T
	file    string // the database
	env     *testsuite.TestActivityEnvironment
	config  *config.Config
	partner *httptest.Server
	status  atomic.Int64            // the partner's answer
	answer  func(*http.Request) int // the partner's answer in the place of status; nil: status
	header  sync.Map                // of the partner's answer
	asked   atomic.Int64            // requests that came to the partner
	log     *observer.ObservedLogs  // of the dispatcher that runs
	mu      sync.Mutex
	now     time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hiregate.db")
	storetest.Fill(t, file)
	b := newFixtureOn(t, "sqlite://"+file)
	b.file = file
	return b
}

// newFixtureOn is newFixture with the database of an address.
func newFixtureOn(t *testing.T, address string) *fixture {
	t.Helper()
	b := &fixture{t: t, now: noon}
	b.status.Store(http.StatusOK)
	b.partner = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked.Add(1)
		b.header.Range(func(name, value any) bool { w.Header().Set(name.(string), value.(string)); return true })
		if b.answer != nil {
			w.WriteHeader(b.answer(r))
			return
		}
		w.WriteHeader(int(b.status.Load()))
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, "a document")
		}
	}))
	t.Cleanup(b.partner.Close)
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := documents.OpenFiles(t.TempDir())
	require.NoError(t, err)
	loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	b.config = &config.Config{Names: names, Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}}), PublicURL: "http://gate.example",
		Tenants: map[string]*model.Tenant{"acme": {Name: "acme", Integrations: []model.Integration{{
			Tenant: "acme", Name: "hris", URL: b.partner.URL + "/inbound", Secret: "s", Options: model.Options{Documents: model.Rehost}, Verify: true,
		}}}}}
	force := new(config.InForce)
	force.Push(b.config)
	archive := &documents.Archive{Store: db, Files: files, InForce: force, Now: b.Clock, Log: zap.NewNop()}
	b.Activities = &export.Activities{Attempter: &delivery.Attempter{Store: db, Archive: archive, InForce: force,
		Capacity: delivery.NewCapacity(delivery.AttemptsAtOnce, delivery.BytesAtOnce), Now: b.Clock, Log: zap.NewNop()}}
	b.env = newNode(b.Activities)
	b.set(model.Configured)
	return b
}

// newNode returns where the activity of a node runs.
func newNode(a *export.Activities) *testsuite.TestActivityEnvironment {
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(a.Deliver, activity.RegisterOptions{Name: export.DeliverName})
	return env
}

// elsewhere has something done on another node.
func (b *fixture) elsewhere(do func()) {
	here := b.env
	defer func() { b.env = here }()
	b.env = newNode(&export.Activities{Attempter: &delivery.Attempter{Store: b.Store, Archive: b.Archive, InForce: b.InForce,
		Capacity: b.Capacity, Now: b.Clock, Log: b.Log}})
	do()
}

func (b *fixture) Clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *fixture) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *fixture) integration() *model.Integration { return &b.config.Tenants["acme"].Integrations[0] }

func (b *fixture) set(state model.IntegrationState) {
	b.t.Helper()
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(b.integration(), store.IntegrationStatus{State: state, Reason: "as the test has it", UpdatedAt: b.Clock()})
	}))
}

func (b *fixture) accept(key string) *model.Export {
	b.t.Helper()
	e := inbox.NewExport("acme", key, []byte(fmt.Sprintf(`{"candidate":{"person":{"id":{"value":%q,"schemeId":"Service Candidate","schemeAgencyId":"Service"}}}}`, key)), b.Clock())
	_, err := inbox.Accept(b.t.Context(), b.Store, e)
	require.NoError(b.t, err)
	return e
}

// part is the input of the activities for an export.
func part(e *model.Export) export.Part {
	return export.Part{Exports: []int64{e.ID}, Round: e.Round, To: []string{"hris"}, Till: e.DeliverTill}
}

// deliver runs the activity once, for one integration, when the next attempt is due. It gives the result, without the
// export, or how long the activity asks to wait and why.
func (b *fixture) deliver(e *model.Export) (res export.DeliverResult, wait time.Duration, class string) {
	b.t.Helper()
	if d, err := b.Store.Delivery(b.t.Context(), e.ID, "hris", e.Round); err == nil && d.Due().After(b.Clock()) {
		b.advance(d.Due().Sub(b.Clock()))
	}
	all, wait, retry := b.deliverAll(part(e))
	if retry != nil {
		return res, wait, retry.Type()
	}
	require.Len(b.t, all, 1)
	res = all[0]
	res.Of, res.Count = "", 0
	return res, 0, ""
}

// deliverAll runs the activity once. It gives the results, or how long the activity asks to wait and why.
func (b *fixture) deliverAll(part export.Part) (res []export.DeliverResult, wait time.Duration, why *temporal.ApplicationError) {
	b.t.Helper()
	value, err := b.env.ExecuteActivity(export.DeliverName, part)
	if err == nil {
		require.NoError(b.t, value.Get(&res))
		return res, 0, nil
	}
	require.True(b.t, errors.As(err, &why), "%v", err)
	return res, why.NextRetryDelay(), why
}

func (b *fixture) delivery(e *model.Export) *model.Delivery {
	b.t.Helper()
	d, err := b.Store.Delivery(b.t.Context(), e.ID, "hris", e.Round)
	require.NoError(b.t, err)
	return d
}

// begun is what begins rounds.
type begun struct {
	*dispatch.Reconciler
	*rounds.Redeliverer
	*rounds.Releaser
}

func (b *fixture) redeliverer() begun {
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(b.t, err)
	b.t.Cleanup(c.Close)
	d := &dispatch.Dispatcher{Store: b.Store, Client: c, Namespace: "default", InForce: b.InForce, Archive: b.Archive, Now: b.Clock,
		Log: zap.NewNop(), Attributes: new(atomic.Bool)}
	return begun{&dispatch.Reconciler{Dispatcher: d}, &rounds.Redeliverer{Dispatcher: d}, &rounds.Releaser{Dispatcher: d}}
}
