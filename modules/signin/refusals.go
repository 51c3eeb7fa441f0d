package signin

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	// refusalsEvery is how often refusals are written at most. Anybody can cause them: they wait in memory, counted.
	refusalsEvery = 2 * time.Second
	// differentRefusals is how many different ones wait at most. What comes beyond them is left out.
	differentRefusals = 64
)

// refusals are the authorization requests that were refused and are not written yet.
type refusals struct {
	mu   sync.Mutex
	kept map[identity.Refusal]identity.Refusal // by themselves without count and times
}

// refused counts an authorization request that leads nowhere.
func (p *Provider) refused(r identity.Refusal) {
	key := r
	key.Count, key.FirstAt, key.LastAt = 0, time.Time{}, time.Time{}
	p.refusals.mu.Lock()
	defer p.refusals.mu.Unlock()
	if before, ok := p.refusals.kept[key]; ok {
		r.Count, r.FirstAt = before.Count+1, before.FirstAt
	} else if len(p.refusals.kept) >= differentRefusals {
		return
	}
	if p.refusals.kept == nil {
		p.refusals.kept = map[identity.Refusal]identity.Refusal{}
		time.AfterFunc(refusalsEvery, p.writeRefusals)
	}
	p.refusals.kept[key] = r
}

// writeRefusals writes what was refused since the last time.
func (p *Provider) writeRefusals() {
	p.refusals.mu.Lock()
	all := p.refusals.kept
	p.refusals.kept = nil
	p.refusals.mu.Unlock()
	db := p.db()
	release, ok := db.Acquire()
	if !ok {
		return // the gateway has ended, and a few counts with it
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := db.Write(ctx, func(tx *store.Tx) error {
		for _, r := range all {
			if err := tx.CountRefusal(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		p.Log.Warn("refused authorization requests could not be noted", zap.Error(err))
	}
}
