// Package dispatch starts the workflows of exports, and finds those that are overdue: whose start was interrupted, or whose
// workflow Temporal has lost or ended.
package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	starters     = 3
	offersAtOnce = 10_000
	measureEvery = time.Second
	tenantsEvery = 5 * time.Second // a question for each
)

// Dispatcher starts the workflow of every accepted export. Starting is idempotent: Temporal refuses a second workflow
// of the same id, and that counts as started. So any node may start any export, and none has to claim one.
type Dispatcher struct {
	Store  *store.DB
	Client client.Client
	// Namespace is the one of Temporal that Client uses.
	Namespace string
	InForce   *config.InForce
	Archive   *documents.Archive
	Now       func() time.Time
	Log       *zap.Logger
	// Attributes says whether the search attributes are registered.
	Attributes *atomic.Bool
	// Barred says why Temporal may not be asked; empty: it may. Nil: it may always.
	Barred func() string
	// Busy reports whether this node has enough groups to deliver, so that any node may take the next one. Nil: it
	// never has.
	Busy func() bool
	// Crowded reports whether exports of a tenant wait at the gate of an integration. Nil: none ever does.
	Crowded func(tenant string) bool

	once     sync.Once
	queue    *offers
	gathered gathering
	claimed  sync.Map    // the IDs of the exports that wait for a starter, or are being started
	away     atomic.Bool // Temporal did not answer the last start
}

// Offer has an export's workflow started soon. It never waits: an export that finds no room is found by the sweep, and so
// is one of a later round while others wait. Thousands may be released at once, each with a workflow of its own.
func (d *Dispatcher) Offer(e *model.Export) {
	d.ready()
	if d.away.Load() || e.Round > 0 && d.queue.count() >= releasedMost || !d.claim(e) {
		return
	}
	offered := *e
	offered.Body, offered.Sealed = nil, nil // they are in the store
	if e.Round == 0 && d.Crowded != nil && d.Crowded(e.Tenant) {
		d.gathered.add(&offered, func(tenant string) { d.offer(d.gathered.take(tenant)...) })
		return
	}
	d.offer(&offered)
}

// claim reports whether no goroutine of this process has the export already. Call release when it is started.
func (d *Dispatcher) claim(e *model.Export) bool {
	_, claimed := d.claimed.LoadOrStore(e.ID, true)
	return !claimed
}

func (d *Dispatcher) release(exports ...*model.Export) {
	for _, e := range exports {
		d.claimed.Delete(e.ID)
	}
}

func (d *Dispatcher) ready() {
	d.once.Do(func() { d.queue = newOffers(offersAtOnce) })
}

// Run starts workflows until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) {
	d.ready()
	var group sync.WaitGroup
	for range starters {
		group.Go(func() {
			for {
				batch := d.queue.next(ctx)
				if batch == nil {
					return
				}
				if !d.away.Load() {
					_, _ = d.start(ctx, batch, d.Now()) // what fails is found, and logged, by the sweep
				}
				d.release(batch...)
			}
		})
	}
	group.Wait()
}

// Loops find what no starter has, and count what waits.
func (d *Dispatcher) Loops() []loop.Loop {
	return []loop.Loop{newSweeper(d).loop(), d.rescue(), d.settle(),
		{Name: "backlog", Every: measureEvery, Round: d.measure, Failed: "what waits for Temporal could not be counted; the metrics are stale"},
		{Name: "backlog_of_tenants", Every: tenantsEvery, Round: d.measureTenants,
			Failed: "what waits for Temporal could not be counted by tenant; the metrics are stale"}}
}

// Away reports whether Temporal need not be asked: it did not answer the last start, or the gateway stops.
func (d *Dispatcher) Away() bool { return d.InForce.Current() == nil || d.away.Load() }

// answered notes that Temporal answered a start.
func (d *Dispatcher) answered() {
	if d.away.CompareAndSwap(true, false) {
		d.Log.Info("Temporal is back; starting the workflows that wait")
	}
	metrics.Temporal(true)
}

// unanswered notes that Temporal did not answer a start.
func (d *Dispatcher) unanswered() {
	if d.away.CompareAndSwap(false, true) && d.barred() == "" { // the workers log that
		d.Log.Warn("Temporal does not answer; exports are accepted and wait in the store")
	}
	metrics.Temporal(false)
}

func (d *Dispatcher) barred() string {
	if d.Barred == nil {
		return ""
	}
	return d.Barred()
}

// measure updates the gauges of the backlog. The sweep can't: while more exports come in than Temporal takes, a sweep
// does not end.
func (d *Dispatcher) measure(ctx context.Context) error {
	done := d.Store.Work()
	metrics.Writes(done.Commits, done.Writes, done.RoundTrips, done.Waiting)
	n, oldest, err := d.Store.Backlog(ctx)
	if err != nil {
		return err
	}
	age := time.Duration(0)
	if n > 0 {
		age = d.Now().Sub(oldest)
	}
	metrics.Backlog(n, age)
	return nil
}

// measureTenants updates the gauge of each tenant's oldest export that waits, and the size of the database.
func (d *Dispatcher) measureTenants(ctx context.Context) error {
	oldest, err := d.Store.OldestWaiting(ctx)
	if err != nil {
		return err
	}
	ages := map[string]time.Duration{}
	for tenant, since := range oldest {
		ages[tenant] = max(0, d.Now().Sub(since))
	}
	metrics.Waiting(ages)
	size, err := d.Store.Size(ctx)
	if err == nil {
		metrics.DatabaseSize(size, d.Store.WALSize())
	}
	return err
}

// Undispatched says why an export waits whose workflow is not started.
func (d *Dispatcher) Undispatched(e *model.Export, c *config.Config) string {
	if _, ok := c.Tenant(e.Tenant); !ok {
		return "it waits for its tenant, which is not in this gateway's configuration"
	}
	if barred := d.barred(); barred != "" {
		return "it waits for Temporal: " + barred
	}
	if d.away.Load() {
		return "it waits for Temporal, which does not answer, and goes out once that is back"
	}
	return "it waits for Temporal to start its workflow, which happens in a moment"
}
