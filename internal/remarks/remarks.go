// Package remarks counts the requests that come for tenants, by their result, and what is remarkable about the exports:
// accepted deviations, and refusals of what was signed right. A stranger can raise counts, and cause one write in two
// seconds.
package remarks

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/batch"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	// most bounds what waits to be written: there are some thirty names for each tenant.
	most = 32_768
	// within bounds a write.
	within = 5 * time.Second
	// silent is how long a tenant's refusals cause no further line in the log.
	silent = time.Minute
)

// Notes counts remarks, and stores them in batches. Make it with New.
type Notes struct {
	log     *zap.Logger
	pending batch.Writer[key, model.Remark]

	mu    sync.Mutex
	lines map[string]*line // by tenant
}

type key struct {
	tenant string
	kind   model.RemarkKind
	name   string
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.tenant, other.tenant), cmp.Compare(k.kind, other.kind), cmp.Compare(k.name, other.name))
}

// line is the last line in the log about a tenant's refusals.
type line struct {
	at    time.Time
	since int64 // refusals since then
}

// New makes notes that are stored in the database that store returns.
func New(db func() *store.DB, log *zap.Logger) *Notes {
	return &Notes{log: log, lines: map[string]*line{}, pending: batch.Writer[key, model.Remark]{
		Most: most, Within: within, Store: db,
		Write: func(tx *store.Tx, all map[key]model.Remark) error {
			for _, k := range slices.SortedFunc(maps.Keys(all), key.compare) { // nodes don't deadlock
				if err := tx.AddRemark(all[k]); err != nil {
					return err
				}
			}
			return nil
		},
		Failed: func(err error) { log.Warn("refusals and deviations could not be counted", zap.Error(err)) },
	}}
}

// Deviation notes that an export with a listed deviation was accepted.
func (n *Notes) Deviation(tenant, name, pointer string, now time.Time) {
	metrics.Deviation(tenant, name)
	n.add(model.Remark{Tenant: tenant, Kind: model.DeviationAccepted, Name: name, Pointer: pointer, Last: now})
}

// Refused notes that an export that was signed right was refused.
func (n *Notes) Refused(tenant, result, rule, pointer string, now time.Time) {
	n.add(model.Remark{Tenant: tenant, Kind: model.ExportRefused, Name: result, Rule: rule, Pointer: pointer, Last: now})
	if count := n.due(tenant, now); count > 0 {
		n.log.Warn("exports of a tenant were refused, although they were signed right; what the service does not send "+
			"again is lost", zap.String("tenant", tenant), zap.Int64("exports", count), zap.String("result", result),
			zap.String("rule", rule), zap.String("pointer", pointer))
	}
}

// Verified notes that a verification event of a tenant's service was answered with 200.
func (n *Notes) Verified(tenant string, now time.Time) {
	n.add(model.Remark{Tenant: tenant, Kind: model.VerifyAnswered, Name: "verified", Last: now})
}

// Received counts a request of anybody for a tenant, by its result.
func (n *Notes) Received(tenant, result string, now time.Time) {
	n.add(model.Remark{Tenant: tenant, Kind: model.RequestReceived, Name: result, Last: now})
}

// due returns how many refusals the line tells that is due now; 0: none is.
func (n *Notes) due(tenant string, now time.Time) (count int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := n.lines[tenant]
	if last == nil {
		last = new(line)
		n.lines[tenant] = last
	}
	last.since++
	if now.Sub(last.at) < silent {
		return 0
	}
	count, *last = last.since, line{at: now}
	return count
}

// add counts one remark of now, which is m.Last.
func (n *Notes) add(m model.Remark) {
	n.pending.Add(key{m.Tenant, m.Kind, m.Name}, func(before model.Remark, known bool) model.Remark {
		if m.First = m.Last; known {
			m.First = before.First
		}
		m.Count = before.Count + 1
		return m
	})
}

// Flush stores what is counted.
func (n *Notes) Flush() { n.pending.Flush() }
