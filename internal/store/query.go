package store

import (
	"context"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/database"
)

type row = database.Row

// reader reads outside of transactions.
type reader interface {
	Query(ctx context.Context, each func(row) error, q string, args ...any) error
}

// query runs a read that returns at most a page of rows.
func query[T any](ctx context.Context, db *DB, scan func(row) (T, error), q string, args ...any) ([]T, error) {
	var all []T
	if err := db.reads.Query(ctx, into(&all, scan), q, args...); err != nil && !errors.Is(err, errStop) {
		return nil, err
	}
	return all, nil
}

// errStop is what a scan returns where a query need not go on.
var errStop = errors.New("enough")

// queryTx is query within a transaction.
func queryTx[T any](tx *Tx, scan func(row) (T, error), q string, args ...any) ([]T, error) {
	var all []T
	err := tx.sql.Query(into(&all, scan), q, args...)
	return all, err
}

func into[T any](all *[]T, scan func(row) (T, error)) func(row) error {
	return func(r row) error {
		one, err := scan(r)
		if err != nil {
			return err
		}
		*all = append(*all, one)
		return nil
	}
}

// eachPage calls do with all rows of a query, a page at a time. The last argument of the query is the size of a page,
// and those before are the cursor of the row that it begins after; of the zero value at first.
func eachPage[T any](ctx context.Context, db *DB,
	scan func(row) (T, error), cursor func(T) []any, size int, q string, do func([]T) error) error {
	for last := *new(T); ; {
		page, err := query(ctx, db, scan, q, append(cursor(last), size)...)
		if err != nil {
			return err
		}
		if err := do(page); err != nil {
			return err
		}
		if len(page) < size {
			return nil
		}
		last = page[len(page)-1]
	}
}

// queryMap is query for rows of which each has a key of its own.
func queryMap[K comparable, V any](ctx context.Context, db *DB,
	scan func(row) (K, V, error), q string, args ...any) (map[K]V, error) {
	all := map[K]V{}
	err := db.reads.Query(ctx, func(r row) error {
		key, value, err := scan(r)
		all[key] = value
		return err
	}, q, args...)
	return all, err
}

// queryOne is query for a single row; ErrNotFound when there is none.
func queryOne[T any](ctx context.Context, db *DB, scan func(row) (T, error), q string, args ...any) (one T, err error) {
	all, err := query(ctx, db, scan, q, args...)
	if err != nil {
		return one, err
	}
	if len(all) == 0 {
		return one, ErrNotFound
	}
	return all[0], nil
}

// first is the first row of a query; it reports false when there is none.
func first[T any](all []T, err error) (one T, ok bool, _ error) {
	if err != nil || len(all) == 0 {
		return one, false, err
	}
	return all[0], true, nil
}

// scanned scans the single column of a row.
func scanned[T any](r row) (value T, err error) {
	err = r.Scan(&value)
	return value, err
}

// exec runs a statement that returns no rows.
func (tx *Tx) exec(q string, args ...any) error {
	_, err := tx.sql.Exec(q, args...)
	return err
}

// changed is exec, and reports whether the statement changed a row.
func (tx *Tx) changed(q string, args ...any) (bool, error) {
	n, err := tx.sql.Exec(q, args...)
	return n > 0, err
}

// execOr is exec; the error is otherwise when the statement changed no row.
func (tx *Tx) execOr(otherwise error, q string, args ...any) error {
	changed, err := tx.changed(q, args...)
	if err == nil && !changed {
		return otherwise
	}
	return err
}

// execAll runs statements of the same arguments.
func (tx *Tx) execAll(statements []string, args ...any) error {
	for _, q := range statements {
		if err := tx.exec(q, args...); err != nil {
			return err
		}
	}
	return nil
}

// sweep is how many expired rows each new one removes: more than one, so that they don't pile up.
const sweep = 20

// deleteExpired deletes up to limit rows of a table whose column is not after a time, the oldest first.
func (tx *Tx) deleteExpired(table, key, column string, limit int, until time.Time) error {
	return tx.exec(`DELETE FROM `+table+` WHERE `+key+` IN (SELECT `+key+` FROM `+table+` WHERE `+column+` <= $1
		ORDER BY `+column+` LIMIT $2)`, micros(until), limit)
}
