// Package tenants keeps the stored tenants and their integrations in memory, where each request and each delivery
// looks them up: ten thousand are found as quickly as ten.
package tenants

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	// every is how often a node looks for changes of other nodes.
	every = time.Second
	// turnWithin is how long a refresh waits for another one, which the database may keep waiting.
	turnWithin = 10 * time.Second
)

// Directory has the tenants and integrations of a database. Make it with New. Callers must not change its results.
type Directory struct {
	Store func() *store.DB
	Log   *zap.Logger

	refreshing chan struct{} // has one element while a refresh runs
	kept       atomic.Pointer[snapshot]
}

// New makes a directory of a store, which Refresh is the first to ask for. Until then it is empty.
func New(store func() *store.DB, log *zap.Logger) *Directory {
	return &Directory{Store: store, Log: log, refreshing: make(chan struct{}, 1)}
}

type snapshot struct {
	version int64
	byName  map[string]*model.Tenant
	ordered []*model.Tenant // by name
}

// Tenant finds a stored tenant.
func (d *Directory) Tenant(name string) (*model.Tenant, bool) {
	s := d.kept.Load()
	if s == nil {
		return nil, false
	}
	t, ok := s.byName[name]
	return t, ok
}

// All are the stored tenants, by name.
func (d *Directory) All() iter.Seq[*model.Tenant] {
	s := d.kept.Load()
	if s == nil {
		return func(func(*model.Tenant) bool) {}
	}
	return slices.Values(s.ordered)
}

// Refresh reads what the database holds, if it changed. Whoever changed something calls it before they say that it is
// done. The error wraps store.ErrUnavailable or store.ErrSealed, or is ctx's.
func (d *Directory) Refresh(ctx context.Context) error {
	select {
	case d.refreshing <- struct{}{}:
		defer func() { <-d.refreshing }()
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(turnWithin):
		return fmt.Errorf("reading tenants and integrations: %w: others are at it for too long", store.ErrUnavailable)
	}
	// The version is read first: should something change meanwhile, the next refresh sees that it has risen.
	version, err := d.Store().DirectoryVersion(ctx)
	if err != nil {
		return err
	}
	if s := d.kept.Load(); s != nil && s.version == version {
		return nil
	}
	all, err := d.Store().ListTenants(ctx)
	if err != nil {
		return err
	}
	s := &snapshot{version: version, byName: make(map[string]*model.Tenant, len(all)), ordered: all}
	for _, t := range all {
		s.byName[t.Name] = t
		d.reportDamage(t)
	}
	d.kept.Store(s)
	return nil
}

// reportDamage logs the integrations of a tenant whose rows were damaged since the last refresh.
func (d *Directory) reportDamage(t *model.Tenant) {
	before, known := d.Tenant(t.Name)
	for _, i := range t.Integrations {
		if !i.Damaged {
			continue
		}
		if known {
			if was, ok := before.Integration(i.Name); ok && was.Damaged {
				continue
			}
		}
		d.Log.Error("what is stored of an integration is damaged, so its exports are held: save it again, or restore the "+
			"database from a backup", zap.String("tenant", t.Name), zap.String("integration", i.Name))
	}
}

// Loop reads them anew.
func (d *Directory) Loop() loop.Loop {
	return loop.Loop{Name: "tenants", Every: every, Round: d.Refresh,
		Failed: "tenants and integrations can't be read anew; those known go on",
		Level: func(err error) zapcore.Level {
			if errors.Is(err, store.ErrSealed) { // which does not end by itself
				return zap.ErrorLevel
			}
			return zap.WarnLevel
		}}
}
