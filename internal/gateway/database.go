package gateway

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

// Database is a store that is opened when it is first needed, and once.
type Database struct {
	Address string

	// vaults has a vault for each configuration that uses the database.
	vaults vault.Shared

	mu     sync.Mutex
	db     *store.DB
	opened time.Time // just before the store was opened
	// good are the vaults that open everything that is sealed. The list is replaced, never changed: no request waits
	// while the vault of another configuration is checked.
	good atomic.Value
}

func (d *Database) opening() []*vault.Vault {
	good, _ := d.good.Load().([]*vault.Vault)
	return good
}

// unseal returns an error unless a vault opens everything that is sealed. A vault with the keys of another vault in use
// is not checked: a reload that changes no key does not wait for a database that is away. The first configuration with
// a key makes a data key, which seals the content of exports.
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
	if !d.db.Sealing() || !d.db.SealsPeople() {
		if _, err := d.db.RenewDataKey(ctx, now); err != nil {
			return err
		}
	}
	d.good.Store(append(slices.Clone(good), v))
	return nil
}

// renew makes a data key for the content of exports when the present one is too old, if the configurations have a key
// in common. It holds the lock: a configuration that is checked meanwhile would not see the new data key.
func (d *Database) renew(ctx context.Context, now time.Time) (made bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.db.RenewDataKey(ctx, now)
}

// AddVault takes the vault of a configuration into use.
func (d *Database) AddVault(v *vault.Vault) { d.vaults.Add(v) }

// RemoveVault takes the vault of a configuration that has ended out of use.
func (d *Database) RemoveVault(v *vault.Vault) {
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

// Destruct closes the store once no request uses it.
func (d *Database) Destruct() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db == nil {
		return nil
	}
	return d.db.Close()
}
