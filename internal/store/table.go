package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// table reads the rows of a table, a struct each.
type table[T any] struct {
	name, columns string
	fields        func(*T) []any // where the columns go
}

func (t table[T]) scan(r row) (*T, error) {
	v := new(T)
	return v, r.Scan(t.fields(v)...)
}

func (t table[T]) selecting(where string) string {
	return `SELECT ` + t.columns + ` FROM ` + t.name + ` WHERE ` + where
}

// get reads the single row of a condition; ErrNotFound when there is none.
func (t table[T]) get(ctx context.Context, db *DB, where string, args ...any) (*T, error) {
	return queryOne(ctx, db, t.scan, t.selecting(where), args...)
}

// find is get within a transaction.
func (t table[T]) find(tx *Tx, where string, args ...any) (*T, bool, error) {
	return first(queryTx(tx, t.scan, t.selecting(where), args...))
}

// queryPage is query for a page of at most limit rows. next is the cursor of the following page, that of the last row
// of this one; zero on the last page.
func queryPage[T any, C any](ctx context.Context, db *DB,
	scan func(row) (T, error), cursor func(T) C, limit int, q string, args ...any) (page []T, next C, err error) {
	page, err = query(ctx, db, scan, fmt.Sprintf("%s LIMIT $%d", q, len(args)+1), append(args, limit+1)...)
	if err == nil && len(page) > limit {
		page = page[:limit]
		next = cursor(page[limit-1])
	}
	return page, next, err
}

// jsonText writes and scans JSON.
type jsonText struct{ v any }

// Value implements driver.Valuer.
func (j jsonText) Value() (driver.Value, error) {
	text, err := json.Marshal(j.v)
	return string(text), err
}

// Scan implements sql.Scanner.
func (j jsonText) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("the database has %T where text should be", src)
	}
	return json.Unmarshal([]byte(text), j.v)
}
