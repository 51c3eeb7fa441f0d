package rows

import (
	"context"

	"github.com/hiregate/hiregate/internal/database"
)

// Table reads the rows of a table into structs.
type Table[T any] struct {
	Name, Columns string
	Fields        func(*T) []any // destinations of the columns
}

// Scan reads a row of all columns.
func (t Table[T]) Scan(r row) (*T, error) {
	v := new(T)
	return v, r.Scan(t.Fields(v)...)
}

// Select returns a query of all columns.
func (t Table[T]) Select(where string) string {
	return `SELECT ` + t.Columns + ` FROM ` + t.Name + ` WHERE ` + where
}

// Get reads a single row; ErrNotFound when there is none.
func (t Table[T]) Get(ctx context.Context, db Reader, where string, args ...any) (*T, error) {
	return QueryOne(ctx, db, t.Scan, t.Select(where), args...)
}

// Find is Get within a transaction; it reports false when there is no such row.
func (t Table[T]) Find(tx *database.Tx, where string, args ...any) (*T, bool, error) {
	return First(QueryTx(tx, t.Scan, t.Select(where), args...))
}

// Page asks for a part of a list that is ordered by id.
type Page struct {
	After string // cursor: the last id of the page before
	Limit int    // at most MaxPage; 0 means DefaultPage
}

// Sizes of pages.
const (
	DefaultPage = 50
	MaxPage     = 500
)

// Size returns the number of rows that the page may have.
func (p Page) Size() int {
	if p.Limit <= 0 {
		return DefaultPage
	}
	return min(p.Limit, MaxPage)
}
