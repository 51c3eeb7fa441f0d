package export

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

const (
	starters     = 8
	offersAtOnce = 1024
	offerAge     = 2 * time.Second // an offer that waited longer for a starter is left to the sweep
	measureEvery = time.Second
)

// Dispatcher starts the workflow of every accepted export. Starting is idempotent: Temporal refuses a second workflow
// of the same id, and that counts as started. So any node may start any export, and none has to claim one.
type Dispatcher struct {
	Store   *store.DB
	Client  client.Client
	InForce *config.InForce
	Archive *documents.Archive
	Now     func() time.Time
	Log     *zap.Logger
	// Attributes says whether the search attributes are registered.
	Attributes *atomic.Bool

	once     sync.Once
	queue    *offers
	underway sync.Map    // the IDs of the exports that are being started
	away     atomic.Bool // Temporal did not answer the last start
}

// Offer has an export's workflow started soon. It never waits: an export that finds no room is found by the sweep.
func (d *Dispatcher) Offer(e *hiring.Export) {
	d.ready()
	if d.away.Load() {
		return
	}
	d.queue.add(e, d.Now())
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
				select {
				case <-d.queue.queued:
					o := d.queue.next()
					if !d.away.Load() && d.Now().Sub(o.at) < offerAge {
						d.dispatch(ctx, o.export)
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	group.Go(func() { newSweeper(d).run(ctx) })
	group.Go(func() { d.measure(ctx) })
	group.Go(func() { d.rescue(ctx) })
	group.Wait()
}

// answered notes that Temporal answered a start.
func (d *Dispatcher) answered() {
	if d.away.CompareAndSwap(true, false) {
		d.Log.Info("Temporal is back; starting the workflows that wait")
	}
	metrics.Temporal(true)
}

// unanswered notes that Temporal did not answer a start.
func (d *Dispatcher) unanswered() {
	if d.away.CompareAndSwap(false, true) {
		d.Log.Warn("Temporal does not answer; exports are accepted and wait in the store")
	}
	metrics.Temporal(false)
}

// measure updates the gauges of the backlog. The sweep can't: while more exports come in than Temporal takes, a sweep
// does not end.
func (d *Dispatcher) measure(ctx context.Context) {
	for wait.For(ctx, measureEvery) {
		commits, writes := d.Store.Commits()
		metrics.Store(d.Store.WALSize(), commits, writes)
		n, oldest, err := d.Store.Backlog(ctx)
		if err != nil {
			continue
		}
		age := time.Duration(0)
		if n > 0 {
			age = d.Now().Sub(oldest)
		}
		metrics.Backlog(n, age)
	}
}
