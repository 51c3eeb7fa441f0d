package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Tx is the open transaction that a closure given to Write writes with. It must not be used after the closure returns.
type Tx struct {
	dialect  dialect
	ctx      context.Context // of the transaction, and of no request
	conn     *sql.Conn
	prepared map[string]*sql.Stmt // statements by their text
	broken   error                // an error after which the connection can't be trusted
	failed   error                // of the first statement that failed since begin
	ending   []collected          // what the closures collected since begin
}

// Collection gathers rows of all closures of a transaction, so that they are written at once.
type Collection interface {
	// Write is called once, after the last closure of the transaction.
	Write() error
}

type collected struct {
	name string
	Collection
}

func newTx(ctx context.Context, d dialect, db *sql.DB) (*Tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &Tx{dialect: d, conn: conn, prepared: map[string]*sql.Stmt{}}, nil
}

func (tx *Tx) close() {
	for _, s := range tx.prepared {
		s.Close()
	}
	tx.conn.Close()
}

// begin begins a transaction. It belongs to the writer, not to a request, and so does ctx.
func (tx *Tx) begin(ctx context.Context) error {
	tx.ctx, tx.failed, tx.ending = ctx, nil, nil
	return tx.Run(tx.dialect.beginning())
}

// Collect returns the transaction's collection of a name. The first closure that asks for it makes it.
func (tx *Tx) Collect(name string, start func() Collection) Collection {
	for _, c := range tx.ending {
		if c.name == name {
			return c.Collection
		}
	}
	one := start()
	tx.ending = append(tx.ending, collected{name, one})
	return one
}

// writeCollected writes what the closures collected.
func (tx *Tx) writeCollected() error {
	for _, c := range tx.ending {
		if err := c.Write(); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) commit() error { return tx.Run("COMMIT") }

func (tx *Tx) rollback() error { return tx.Run("ROLLBACK") }

// Exec runs a statement that returns no rows, and returns how many it changed.
func (tx *Tx) Exec(q string, args ...any) (int64, error) {
	s, err := tx.prepare(q)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(tx.ctx, tx.dialect.arguments(args)...)
	if err != nil {
		return 0, tx.note(err)
	}
	n, err := res.RowsAffected()
	return n, tx.note(err)
}

// Run runs a statement that returns no rows.
func (tx *Tx) Run(q string, args ...any) error {
	_, err := tx.Exec(q, args...)
	return err
}

// RunAll runs statements with the same arguments.
func (tx *Tx) RunAll(statements []string, args ...any) error {
	for _, q := range statements {
		if err := tx.Run(q, args...); err != nil {
			return err
		}
	}
	return nil
}

// Changed runs a statement and reports whether it changed a row.
func (tx *Tx) Changed(q string, args ...any) (bool, error) {
	n, err := tx.Exec(q, args...)
	return n > 0, err
}

// RunOr runs a statement, and returns the error otherwise when it changed no row.
func (tx *Tx) RunOr(otherwise error, q string, args ...any) error {
	changed, err := tx.Changed(q, args...)
	if err == nil && !changed {
		return otherwise
	}
	return err
}

// prepare prepares a statement at its first use.
func (tx *Tx) prepare(q string) (*sql.Stmt, error) {
	if s, ok := tx.prepared[q]; ok {
		return s, nil
	}
	s, err := tx.conn.PrepareContext(tx.ctx, q)
	if err != nil {
		return nil, tx.note(err)
	}
	tx.prepared[q] = s
	return s, nil
}

// Scan reads the single row of a statement, which may be an INSERT … RETURNING, into dest. It reports false when there
// is none.
func (tx *Tx) Scan(dest []any, q string, args ...any) (bool, error) {
	s, err := tx.prepare(q)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(tx.ctx, tx.dialect.arguments(args)...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, tx.note(err)
}

// Query calls each for every row of a statement, until it returns an error.
func (tx *Tx) Query(each func(Row) error, q string, args ...any) error {
	s, err := tx.prepare(q)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(tx.ctx, tx.dialect.arguments(args)...)
	if err != nil {
		return tx.note(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return fmt.Errorf("reading a row: %w", err)
		}
	}
	return tx.note(rows.Err())
}

// KeyShare ends a SELECT of rows that no other node may delete before the transaction ends. It is empty where no other
// node writes.
func (tx *Tx) KeyShare() string { return tx.dialect.keyShare() }

// SkipLocked ends a SELECT of rows that the transaction is to update: it locks them, and leaves out those that another
// node has locked. It is empty where no other node writes.
func (tx *Tx) SkipLocked() string { return tx.dialect.skipLocked() }

// LockKey waits until no other transaction holds the lock of a number, and holds it until the transaction ends.
func (tx *Tx) LockKey(key int64) error { return tx.dialect.lockKey(tx, key) }

// TryRoom fails unless a table can grow by these bytes, which nothing keeps.
func (tx *Tx) TryRoom(bytes []byte) error { return tx.dialect.tryRoom(tx, bytes) }

// note marks the database's own errors as ErrUnavailable, and remembers those after which the connection must be opened
// again.
func (tx *Tx) note(err error) error {
	if err == nil {
		return nil
	}
	if tx.dialect.lost(err) {
		tx.broken = err
	}
	err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	if tx.failed == nil {
		tx.failed = err
	}
	return err
}
