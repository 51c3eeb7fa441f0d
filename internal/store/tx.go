package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Tx is the open transaction that a closure given to Write writes with. It must not be used after the closure returns.
type Tx struct {
	engine   *engine
	ctx      context.Context // of the transaction, and of no request
	conn     *sql.Conn
	prepared map[string]*sql.Stmt // statements by their text
	scratch  []byte               // for what is written next
	broken   error                // an error after which the connection can't be trusted
	failed   error                // of the first statement that failed since begin
}

// keptScratch is the largest scratch memory worth keeping for the next statement, in bytes.
const keptScratch = 256 << 10

func newTx(ctx context.Context, e *engine, db *sql.DB) (*Tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &Tx{engine: e, conn: conn, prepared: map[string]*sql.Stmt{}}, nil
}

func (tx *Tx) close() {
	for _, s := range tx.prepared {
		s.Close()
	}
	tx.conn.Close()
}

// The transaction belongs to the store, not to a request: ctx is the writer's.
func (tx *Tx) begin(ctx context.Context) error {
	tx.ctx, tx.failed = ctx, nil
	return tx.run(tx.engine.begin)
}

func (tx *Tx) commit() error { return tx.run("COMMIT") }

func (tx *Tx) rollback() error { return tx.run("ROLLBACK") }

func (tx *Tx) run(q string) error {
	_, err := tx.exec(q)
	return err
}

// exec runs a statement that gives no rows, and reports how many it changed.
func (tx *Tx) exec(q string, args ...any) (int64, error) {
	s, err := tx.prepare(q)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(tx.ctx, tx.engine.arguments(args)...)
	if err != nil {
		return 0, tx.note(err)
	}
	n, err := res.RowsAffected()
	return n, tx.note(err)
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

// one reads the single row of a statement, which may be an INSERT … RETURNING. It reports false when there is none.
func (tx *Tx) one(dest []any, q string, args ...any) (bool, error) {
	s, err := tx.prepare(q)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(tx.ctx, tx.engine.arguments(args)...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, tx.note(err)
}

// note marks the database's own errors as ErrUnavailable, and remembers those after which the connection must be opened anew.
func (tx *Tx) note(err error) error {
	if err == nil {
		return nil
	}
	if tx.engine.lost(err) {
		tx.broken = err
	}
	err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	if tx.failed == nil {
		tx.failed = err
	}
	return err
}
