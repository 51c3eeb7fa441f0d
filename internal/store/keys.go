package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// keys tells a SQLite database's exports by tenant and key, of which no two may be the same. Keys come in no order: in an index,
// each would have a page of its own to be written anew, which was half of all that an export wrote. So the latest ones stay in
// memory. Once they are many they go into the table export_keys in its order, where neighbours share a page, some with each
// commit. Nothing rests on the memory: the exports after the id in export_keys_settled are read again with each new connection.
//
// A nil *keys knows none: on PostgreSQL, where several nodes write, a unique index tells.
type keys struct {
	generation int // keys that go into the table together, at least

	guard  sync.RWMutex
	recent map[exportKey]int64 // the exports that may not be in the table yet; other goroutines read it

	// Of the writing goroutine alone.
	till    int64       // exports up to this id are all in the table, once leaving has left; what comes with such an id goes there at once
	leaving []exportKey // of recent: on their way into the table, in its order
	left    int         // of leaving: in the transaction that is open
	due     int         // keys that should have left by now
	added   []exportKey // to recent, by the transaction that is open
}

// exportKey is what an export is known by.
type exportKey struct{ tenant, key string }

func (k exportKey) compare(other exportKey) int {
	return cmp.Or(strings.Compare(k.tenant, other.tenant), strings.Compare(k.key, other.key))
}

const (
	keyGeneration = 1 << 15
	keysAtOnce    = 32 // of one statement
)

// keepKeys is the statement that puts keysAtOnce keys into the table. What a former process put there is there already.
var keepKeys = func() string {
	rows := make([]string, keysAtOnce)
	for n := range rows {
		rows[n] = fmt.Sprintf("($%d, $%d, $%d)", 3*n+1, 3*n+2, 3*n+3)
	}
	return `INSERT INTO export_keys (tenant, key, export_id) VALUES ` + strings.Join(rows, ", ") + ` ON CONFLICT DO NOTHING`
}()

// load forgets what was known, and reads what the database says.
func (k *keys) load(ctx context.Context, conn *sql.Conn) error {
	if k == nil {
		return nil
	}
	k.leaving, k.left, k.due, k.added = nil, 0, 0, nil
	if err := conn.QueryRowContext(ctx, `SELECT till FROM export_keys_settled`).Scan(&k.till); err != nil {
		return fmt.Errorf("reading up to which export the keys are settled: %w", err)
	}
	rows, err := conn.QueryContext(ctx, `SELECT tenant, key, id FROM exports WHERE id > $1`, k.till)
	if err != nil {
		return fmt.Errorf("reading the keys of the latest exports: %w", err)
	}
	defer rows.Close()
	recent := map[exportKey]int64{}
	for rows.Next() {
		var one exportKey
		var id int64
		if err := rows.Scan(&one.tenant, &one.key, &id); err != nil {
			return fmt.Errorf("reading the key of an export: %w", err)
		}
		recent[one] = id
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading the keys of the latest exports: %w", err)
	}
	k.guard.Lock()
	k.recent = recent
	k.guard.Unlock()
	return nil
}

// id finds a recent export.
func (k *keys) id(tenant, key string) (id int64, ok bool) {
	if k == nil {
		return 0, false
	}
	k.guard.RLock()
	defer k.guard.RUnlock()
	id, ok = k.recent[exportKey{tenant, key}]
	return id, ok
}

// add notes an export that the open transaction inserted.
func (k *keys) add(tx *Tx, tenant, key string, id int64) error {
	if k == nil {
		return nil
	}
	if id <= k.till { // its turn is over: it waited long for the writer, or the clock was set back
		_, err := tx.exec(`INSERT INTO export_keys (tenant, key, export_id) VALUES ($1, $2, $3)`, tenant, key, id)
		return err
	}
	one := exportKey{tenant, strings.Clone(key)} // a header's value holds on to all headers
	k.guard.Lock()
	k.recent[one] = id
	k.guard.Unlock()
	k.added = append(k.added, one)
	return nil
}

// settle lets keys leave for the table, twice as fast as new ones come.
func (k *keys) settle(tx *Tx) error {
	if k == nil || len(k.leaving) == 0 && len(k.recent) < k.generation {
		return nil
	}
	if len(k.leaving) == 0 {
		k.leaving = make([]exportKey, 0, len(k.recent))
		for one, id := range k.recent {
			k.leaving = append(k.leaving, one)
			k.till = max(k.till, id)
		}
		slices.SortFunc(k.leaving, exportKey.compare)
		k.due = 0
	}
	for k.due += 2 * len(k.added); k.due >= keysAtOnce && k.left < len(k.leaving); k.due -= keysAtOnce {
		args := make([]any, 0, 3*keysAtOnce)
		for n := range keysAtOnce {
			one := k.leaving[min(k.left+n, len(k.leaving)-1)] // the last one may be named again
			args = append(args, one.tenant, one.key, k.recent[one])
		}
		if _, err := tx.exec(keepKeys, args...); err != nil {
			return err
		}
		k.left = min(k.left+keysAtOnce, len(k.leaving))
	}
	if k.left < len(k.leaving) {
		return nil
	}
	_, err := tx.exec(`UPDATE export_keys_settled SET till = $1`, k.till)
	return err
}

// committed: what the transaction did is in the database.
func (k *keys) committed() {
	if k == nil {
		return
	}
	k.added = k.added[:0]
	if k.left == 0 {
		return
	}
	k.guard.Lock()
	for _, one := range k.leaving[:k.left] {
		delete(k.recent, one)
	}
	k.guard.Unlock()
	k.leaving, k.left = k.leaving[k.left:], 0
	if len(k.leaving) == 0 {
		k.leaving = nil
	}
}

// undone: what the transaction did, but for a commit that failed, is not.
func (k *keys) undone() {
	if k == nil {
		return
	}
	k.guard.Lock()
	for _, one := range k.added {
		delete(k.recent, one)
	}
	k.guard.Unlock()
	k.added = k.added[:0]
}
