// Package rows has the SQL that the packages of the store share: queries into structs, pages of lists, and the forms in
// which times and JSON are stored.
package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/database"
)

var (
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrTaken says that a value that must be unique belongs to another row.
	ErrTaken = errors.New("it is taken")
	// ErrStop is returned by a scan to end its query before the last row. Query does not return it.
	ErrStop = errors.New("enough")
)

type row = database.Row

// Reader reads outside of transactions: database.DB.
type Reader interface {
	Query(ctx context.Context, each func(row) error, q string, args ...any) error
}

// Query reads at most a page of rows.
func Query[T any](ctx context.Context, db Reader, scan func(row) (T, error), q string, args ...any) ([]T, error) {
	var all []T
	if err := db.Query(ctx, into(&all, scan), q, args...); err != nil && !errors.Is(err, ErrStop) {
		return nil, err
	}
	return all, nil
}

// QueryTx is Query within a transaction.
func QueryTx[T any](tx *database.Tx, scan func(row) (T, error), q string, args ...any) ([]T, error) {
	var all []T
	err := tx.Query(into(&all, scan), q, args...)
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

// EachPage calls do with all rows of a query, a page at a time. The last argument of the query is the size of a page,
// and those before are the cursor of the row that it begins after; of the zero value at first.
func EachPage[T any](ctx context.Context, db Reader, scan func(row) (T, error), cursor func(T) []any, size int, q string,
	do func([]T) error) error {
	for last := *new(T); ; {
		page, err := Query(ctx, db, scan, q, append(cursor(last), size)...)
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

// QueryMap is Query for rows with unique keys.
func QueryMap[K comparable, V any](ctx context.Context, db Reader, scan func(row) (K, V, error), q string,
	args ...any) (map[K]V, error) {
	all := map[K]V{}
	err := db.Query(ctx, func(r row) error {
		key, value, err := scan(r)
		all[key] = value
		return err
	}, q, args...)
	return all, err
}

// QueryOne reads a single row; ErrNotFound when there is none.
func QueryOne[T any](ctx context.Context, db Reader, scan func(row) (T, error), q string, args ...any) (one T, err error) {
	all, err := Query(ctx, db, scan, q, args...)
	if err != nil {
		return one, err
	}
	if len(all) == 0 {
		return one, ErrNotFound
	}
	return all[0], nil
}

// QueryPage reads a page of at most limit rows. next is the cursor of the following page, that of the last row of this
// one; zero on the last page.
func QueryPage[T any, C any](ctx context.Context, db Reader, scan func(row) (T, error), cursor func(T) C, limit int, q string,
	args ...any) (page []T, next C, err error) {
	page, err = Query(ctx, db, scan, fmt.Sprintf("%s LIMIT $%d", q, len(args)+1), append(args, limit+1)...)
	if err == nil && len(page) > limit {
		page = page[:limit]
		next = cursor(page[limit-1])
	}
	return page, next, err
}

// First returns the first row of the results of a query; it reports false when there is none.
func First[T any](all []T, err error) (one T, ok bool, _ error) {
	if err != nil || len(all) == 0 {
		return one, false, err
	}
	return all[0], true, nil
}

// Value scans the single column of a row.
func Value[T any](r row) (value T, err error) {
	err = r.Scan(&value)
	return value, err
}

// Sweep is how many expired rows each new row removes: more than one, so that they don't pile up.
const Sweep = 20

// DeleteExpired deletes up to limit rows of a table whose column is not after a time, the oldest first.
func DeleteExpired(tx *database.Tx, table, key, column string, limit int, until time.Time) error {
	return tx.Run(`DELETE FROM `+table+` WHERE `+key+` IN (SELECT `+key+` FROM `+table+` WHERE `+column+` <= $1
		ORDER BY `+column+` LIMIT $2)`, Micros(until), limit)
}
