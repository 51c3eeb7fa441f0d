package database

import (
	"context"
	"database/sql"
	"sync"
)

// mostPrepared bounds the queries that readers keep prepared: those with lists have as many texts as lengths.
const mostPrepared = 500

// readers are connections that read.
type readers struct {
	*sql.DB
	// keep says that queries stay prepared. The driver for PostgreSQL does that itself.
	keep bool

	mu       sync.Mutex
	prepared map[string]*sql.Stmt // by their text
}

// query runs a query.
func (r *readers) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	s, err := r.prepare(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return r.QueryContext(ctx, q, args...)
	}
	return s.QueryContext(ctx, args...)
}

// prepare prepares a query at its first use: SQLite spends more time on that than on most reads. It returns nil for one
// that is not kept.
func (r *readers) prepare(ctx context.Context, q string) (*sql.Stmt, error) {
	s, full := r.known(q)
	if s != nil || full {
		return s, nil
	}
	s, err := r.PrepareContext(ctx, q) // which may wait for a connection, and others must not wait for that
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if already, ok := r.prepared[q]; ok {
		return already, s.Close()
	}
	r.prepared[q] = s
	return s, nil
}

// known returns a query that is prepared, or reports that no other is to be.
func (r *readers) known(q string) (s *sql.Stmt, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prepared[q], !r.keep || len(r.prepared) >= mostPrepared
}
