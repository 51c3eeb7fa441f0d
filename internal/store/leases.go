package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// leaseTime is how long a lease lasts after it was renewed: another node takes over that long after its owner stopped.
const leaseTime = 30 * time.Second

// Lease is work that one node at a time does for all. Two may do it for a moment, so it has to be idempotent.
type Lease struct {
	db    *DB
	name  string
	renew time.Time
}

// Lease returns the lease of a name, which it does not acquire.
func (db *DB) Lease(name string) *Lease { return &Lease{db: db, name: name} }

// Hold acquires the lease, or renews it when a third of its time is over. It reports false while another node has it.
func (l *Lease) Hold(ctx context.Context, now time.Time) (held bool, err error) {
	if now.Before(l.renew) {
		return true, nil
	}
	l.renew = time.Time{}
	err = l.db.Write(ctx, func(tx *Tx) (err error) {
		held, err = tx.sql.Changed(`INSERT INTO leases (name, owner, till) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, till = excluded.till
				WHERE leases.owner = excluded.owner OR leases.till < $4`,
			l.name, l.db.node, rows.Micros(now.Add(leaseTime)), rows.Micros(now))
		return err
	})
	if held && err == nil {
		l.renew = now.Add(leaseTime / 3)
	}
	return held, err
}
