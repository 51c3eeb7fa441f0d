// Package secretuse notes what the requests at the hooks are signed with: a rotation can end when nothing comes with
// the old secret any more, and who signs with a wrong one should be noticed.
package secretuse

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	// every is how long a secret that is used, and a tenant with wrong signatures, causes no further write and no
	// further line in the log.
	every = time.Minute
	// look is how often due writes are looked for.
	look = time.Second
	// atOnce is how many rows a transaction writes.
	atOnce = 500
	// lastWithin is for the last write, as the process ends.
	lastWithin = 5 * time.Second
)

// Notes collects what the requests were signed with, and stores it at a bounded pace, out of their way. It holds
// tenants of the configuration, so that no stranger can make it grow. Make it with New.
type Notes struct {
	store   func() *store.DB
	inForce *config.InForce
	log     *zap.Logger

	mu  sync.Mutex
	all map[key]*note
}

// key is an inbound secret of a tenant; without one, it is about signatures that matched none.
type key struct {
	tenant string
	secret model.Secret
}

type note struct {
	last    time.Time
	count   int64 // since it was written
	written time.Time
}

// New makes notes that are stored in the database that Run finds open.
func New(store func() *store.DB, inForce *config.InForce, log *zap.Logger) *Notes {
	return &Notes{store: store, inForce: inForce, log: log, all: map[key]*note{}}
}

// Note notes that a request was signed with a tenant's secret of that number, counted from 1; 0: with none of them.
func (n *Notes) Note(t *model.Tenant, number int, now time.Time) {
	of := key{tenant: t.Name}
	if number > 0 {
		of.secret = t.Secrets[number-1]
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	one, ok := n.all[of]
	if !ok {
		one = new(note)
		n.all[of] = one
	}
	one.last = now
	one.count++
}

// Loop stores what is noted, and once more at its end.
func (n *Notes) Loop() loop.Loop {
	shown := time.Time{}
	return loop.Loop{Name: "secret_uses", Every: look, Failed: "the last uses of secrets can't be stored or read; it is tried again",
		Round: func(ctx context.Context) error {
			now := time.Now()
			err := n.Flush(ctx, now, every)
			if err == nil && now.Sub(shown) >= every {
				if err = n.show(ctx); err == nil {
					shown = now
				}
			}
			return err
		},
		End: func() {
			last, cancel := context.WithTimeout(context.Background(), lastWithin)
			defer cancel()
			if err := n.Flush(last, time.Now(), 0); err != nil {
				n.log.Warn("the last uses of secrets of this minute are not stored", zap.Error(err))
			}
		}}
}

// due is a note that is to be written.
type due struct {
	key
	note
}

// Flush stores what was noted, but nothing that was stored less than a gap ago. What could not be stored is still
// noted.
func (n *Notes) Flush(ctx context.Context, now time.Time, gap time.Duration) error {
	all := n.take(now, gap)
	for page := range slices.Chunk(all, atOnce) {
		err := n.store().Write(ctx, func(tx *store.Tx) error {
			for _, one := range page {
				if err := one.write(tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		n.wrote(page, now)
	}
	return nil
}

func (d due) write(tx *store.Tx) error {
	if d.secret == "" {
		return tx.AddRefusedSignatures(d.tenant, d.count, d.last)
	}
	return tx.UpsertSecretUse(d.tenant, d.secret.Fingerprint(d.tenant), d.last)
}

// take returns what is due, in an order that all nodes have, and forgets what has nothing new.
func (n *Notes) take(now time.Time, gap time.Duration) (all []due) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for of, one := range n.all {
		switch {
		case now.Sub(one.written) < gap:
		case one.count == 0:
			delete(n.all, of)
		default:
			all = append(all, due{of, *one})
		}
	}
	slices.SortFunc(all, func(a, b due) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.secret, b.secret))
	})
	return all
}

// wrote notes that these are stored, and logs those whose signatures were wrong.
func (n *Notes) wrote(page []due, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range page {
		one := n.all[d.key]
		one.count -= d.count
		one.written = now
		if d.secret == "" {
			n.log.Warn("requests at a hook were refused: their signature matches no secret of the tenant",
				zap.String("tenant", d.tenant), zap.Int64("requests", d.count))
		}
	}
}

// show has the metrics say when each secret was last used, on whichever node.
func (n *Notes) show(ctx context.Context) error {
	c := n.inForce.Current()
	if c == nil {
		return nil
	}
	uses, err := n.store().ListSecretUses(ctx)
	if err != nil {
		return err
	}
	all := map[string][]time.Time{}
	for t := range c.All() {
		all[t.Name] = uses.Of(t)
	}
	metrics.SecretsUsed(all)
	return nil
}
