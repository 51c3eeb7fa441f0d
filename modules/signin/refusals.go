package signin

import (
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/batch"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// refusals has the refused authorization requests that are not written yet. Their key has no count and no times.
type refusals = batch.Writer[identity.Refusal, identity.Refusal]

func newRefusals(p *Provider) *refusals {
	return &refusals{Most: 64, Within: 5 * time.Second, Store: p.db,
		Write: func(tx *store.Tx, all map[identity.Refusal]identity.Refusal) error {
			for _, r := range all {
				if err := tx.CountRefusal(r); err != nil {
					return err
				}
			}
			return nil
		},
		Failed: func(err error) {
			p.Log.Warn("refused authorization requests could not be counted", zap.Error(err))
		}}
}

// countRefusal counts an authorization request that must not lead anywhere.
func (p *Provider) countRefusal(r identity.Refusal) {
	metrics.SignInRefused(r.Reason)
	key := r
	key.Count, key.FirstAt, key.LastAt = 0, time.Time{}, time.Time{}
	p.refusals.Add(key, func(before identity.Refusal, known bool) identity.Refusal {
		if known {
			r.Count, r.FirstAt = before.Count+1, before.FirstAt
		}
		return r
	})
}
