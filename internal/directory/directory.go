// Package directory keeps the stored tenants and their integrations in memory, where each request and each delivery looks them
// up: ten thousand are found as quickly as ten.
package directory

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

// every is how often a node asks whether another one changed something.
const every = time.Second

// Directory is what a database holds of tenants and integrations. What it gives must not be changed.
type Directory struct {
	Store *store.DB
	Log   *zap.Logger

	refreshing sync.Mutex
	kept       atomic.Pointer[snapshot]
}

type snapshot struct {
	version int64
	byName  map[string]*hiring.Tenant
	ordered []*hiring.Tenant // by name
}

// Tenant finds a stored tenant.
func (d *Directory) Tenant(name string) (*hiring.Tenant, bool) {
	s := d.kept.Load()
	if s == nil {
		return nil, false
	}
	t, ok := s.byName[name]
	return t, ok
}

// All are the stored tenants, by name.
func (d *Directory) All() iter.Seq[*hiring.Tenant] {
	s := d.kept.Load()
	if s == nil {
		return func(func(*hiring.Tenant) bool) {}
	}
	return slices.Values(s.ordered)
}

// Refresh reads what the database holds, if it changed. Whoever changed something calls it before they say that it is done.
func (d *Directory) Refresh(ctx context.Context) error {
	d.refreshing.Lock()
	defer d.refreshing.Unlock()
	// The version is read first: should something change meanwhile, the next refresh sees that it has risen.
	version, err := d.Store.DirectoryVersion(ctx)
	if err != nil {
		return err
	}
	if s := d.kept.Load(); s != nil && s.version == version {
		return nil
	}
	all, err := d.Store.Directory(ctx)
	if err != nil {
		return err
	}
	s := &snapshot{version: version, byName: make(map[string]*hiring.Tenant, len(all)), ordered: all}
	for _, t := range all {
		s.byName[t.Name] = t
	}
	d.kept.Store(s)
	return nil
}

// Run refreshes until ctx ends.
func (d *Directory) Run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	away := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := d.Refresh(ctx)
		if err != nil && !away && ctx.Err() == nil {
			d.Log.Warn("tenants and integrations can't be read anew; those known go on", zap.Error(err))
		}
		away = err != nil
	}
}
