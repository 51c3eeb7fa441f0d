package database

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrDamaged says that the content of the database is damaged.
var ErrDamaged = errors.New("the database is damaged")

// Damage records damage to the database, as the errors of statements tell of it. The zero value: there is none.
type Damage struct {
	Since  time.Time // of the first such error
	Reason string    // the first such error
	// Confirmed: reading all of the database found damage. Otherwise what could not be read is perhaps whole on the disk.
	Confirmed bool
}

// examineEvery is how often a database that said that it is damaged is read as a whole, and how long no statement may
// say so before it counts as whole again.
const examineEvery = time.Hour

// damage notes the errors that say that a database is damaged.
type damage struct {
	mu       sync.Mutex
	found    Damage
	latest   time.Time // such error
	examined time.Time // zero: not since the first such error
}

func (d *damage) note(now time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.latest = now; d.found.Since.IsZero() {
		d.found = Damage{Since: now, Reason: err.Error()}
	}
}

// due reports whether the database is to be examined.
func (d *damage) due(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.found.Since.IsZero() && (d.examined.IsZero() || now.Sub(d.examined) >= examineEvery)
}

// judge notes the result of an examination: nil where nothing was found.
func (d *damage) judge(now time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.examined, d.found.Confirmed = now, err != nil
	if err == nil && now.Sub(d.latest) >= examineEvery {
		d.found, d.examined = Damage{}, time.Time{}
	}
}

// Damage returns what is known of damage to the database.
func (db *DB) Damage() Damage {
	db.damage.mu.Lock()
	defer db.damage.mu.Unlock()
	return db.damage.found
}

// Examine reads the whole database, on SQLite, when a statement said that it is damaged, and each hour from then on. After
// an hour without such an error, and with nothing found, the database counts as whole. The error says why it could not be
// examined.
func (db *DB) Examine(ctx context.Context, now time.Time) error {
	if !db.damage.due(now) {
		return nil
	}
	err := db.dialect.examine(ctx)
	if err != nil && !db.dialect.damaged(err) {
		return fmt.Errorf("examining the database: %w", err)
	}
	db.damage.judge(now, err)
	return nil
}

// noted notes an error of the database that says that it is damaged, and returns it.
func (db *DB) noted(err error) error {
	if err != nil && db.dialect.damaged(err) {
		db.damage.note(time.Now(), err)
	}
	return err
}
