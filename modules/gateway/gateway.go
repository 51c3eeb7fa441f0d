// Package gateway is the app module: the database, the documents, Temporal, egress and tenants that the handlers share.
package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/schemas"
)

// Gateway is what a handler sees of the app module, for one configuration.
type Gateway struct {
	Config    *config.Config
	Validator *schemas.Validator
	Runtime   *Runtime
	Now       func() time.Time

	vault  *vault.Vault // seals the secrets of stored tenants and integrations, and data keys, where it has a key; nil: nobody set it
	places []place      // of placeholders, where they are known
}

// Start opens what is shared, unless it is open. A configuration that can't open what was sealed is refused: who was made through the
// management API would be nobody under it.
func (g *Gateway) Start(ctx context.Context) error {
	if err := g.Runtime.Start(ctx); err != nil {
		return err
	}
	if g.vault == nil {
		return nil
	}
	return g.Runtime.database.unseal(ctx, g.vault, g.Runtime.now())
}

// Hold keeps the store from being closed while a request uses it, should its configuration be replaced meanwhile. It reports
// false when the store is not there.
func (g *Gateway) Hold(w http.ResponseWriter) (release func(), ok bool) {
	g.CloseWhenReplaced(w) // once more: a body may have taken its time
	// A request may come in before the app was started: apps start in no order.
	if err := g.Start(context.Background()); err != nil {
		return nil, false
	}
	return g.Runtime.Store().Hold()
}

// CloseWhenReplaced has an answer ask its client for another connection once the configuration was replaced, or the process ends: net/http
// hangs up on connections that are kept, and with that on a request that is on its way. HTTP/2 says GOAWAY. A handler calls it before it
// answers anything. What modules/listener can hand to the next configuration it hands over before it comes here.
func (g *Gateway) CloseWhenReplaced(w http.ResponseWriter) {
	if g.leaving() {
		w.Header().Set("Connection", "close")
	}
}

// Trigger makes the exports that begin here. The store must be held.
func (g *Gateway) Trigger() *trigger.Trigger {
	return &trigger.Trigger{Config: g.Config, Validator: g.Validator, Store: g.Runtime.Store(), Now: g.Now}
}

// Database is a store that is opened when it is first needed, and once.
type Database struct {
	Address string

	// vaults are those of the configurations that use it.
	vaults vault.Shared

	mu     sync.Mutex
	db     *store.DB
	opened time.Time // just before it was
	// good are those of vaults that open all that is sealed: a list that is replaced, so that no request waits while another
	// configuration's vault is tried.
	good atomic.Value
}

func (d *Database) opening() []*vault.Vault {
	good, _ := d.good.Load().([]*vault.Vault)
	return good
}

// unseal tells whether a vault opens all that is sealed. One that has the keys of another one in use need not be asked: a reload that
// changes no key does not wait for a database that is away. What exports hold is sealed from the first configuration on that has a key.
func (d *Database) unseal(ctx context.Context, v *vault.Vault, now time.Time) error {
	if slices.Contains(d.opening(), v) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	good := d.opening()
	if slices.Contains(good, v) || !d.vaults.Has(v) { // a request of a configuration that has ended since
		return nil
	}
	if !slices.ContainsFunc(good, v.Covers) {
		if err := d.db.CheckSecrets(ctx, v); err != nil {
			return err
		}
	}
	if !d.db.Sealing() {
		if _, err := d.db.RenewDataKey(ctx, now); err != nil {
			return err
		}
	}
	d.good.Store(append(slices.Clone(good), v))
	return nil
}

// renew has what exports hold sealed with a data key that is not too old, where the configurations have a key in common. While it makes
// one no configuration is checked, which would not see it.
func (d *Database) renew(ctx context.Context, now time.Time) (made bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.db.RenewDataKey(ctx, now)
}

// leave takes the vault of a configuration that has ended out of use.
func (d *Database) leave(v *vault.Vault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.good.Store(slices.DeleteFunc(slices.Clone(d.opening()), func(one *vault.Vault) bool { return one == v }))
	d.vaults.Remove(v)
}

// Open opens the store, unless it is open.
func (d *Database) Open(ctx context.Context, log *zap.Logger) (*store.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db != nil {
		return d.db, nil
	}
	opened := time.Now()
	db, err := store.Open(ctx, d.Address, store.Options{Log: log.Named("store"), Vaults: &d.vaults})
	if err == nil {
		d.db, d.opened = db, opened
	}
	return db, err
}

// Destruct closes the store once nobody uses it.
func (d *Database) Destruct() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db == nil {
		return nil
	}
	return d.db.Close()
}

// Rates keeps the tenants' rate limiters, across reloads.
type Rates struct {
	mu  sync.Mutex
	all map[string]*limiter
}

type limiter struct {
	*rate.Limiter
	of hiring.Rate
}

// Take takes a tenant's allowance for one export. It returns how long to wait when that is used up, else 0.
func (r *Rates) Take(t *hiring.Tenant, now time.Time) time.Duration {
	if t.Rate == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.all[t.Name]
	if !ok || l.of != *t.Rate {
		if r.all == nil {
			r.all = map[string]*limiter{}
		}
		l = &limiter{rate.NewLimiter(rate.Limit(t.Rate.PerSecond), t.Rate.Burst), *t.Rate}
		r.all[t.Name] = l
	}
	reservation := l.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// ErrNotOpen says that the database is not open.
var ErrNotOpen = errors.New("the database is not open")
