package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Tx is the open transaction that a closure given to Write writes with. It must not be used after the closure returns.
type Tx struct {
	engine     *engine
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	scratch    []byte // for what is written next
	broken     error  // an error after which the connection can't be trusted
	failed     error  // of the first statement that failed since begin
}

// keptScratch is the largest scratch memory worth keeping for the next statement, in bytes.
const keptScratch = 256 << 10

func newTx(e *engine, db *sql.DB) (*Tx, error) {
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	return &Tx{engine: e, conn: conn, statements: map[string]*sql.Stmt{}}, nil
}

func (tx *Tx) close() {
	for _, s := range tx.statements {
		s.Close()
	}
	tx.conn.Close()
}

// The transaction belongs to the store, not to a request: it is not cut off by anybody's context.
func (tx *Tx) begin() error {
	tx.failed = nil
	return tx.run(tx.engine.begin)
}

func (tx *Tx) commit() error   { return tx.run("COMMIT") }
func (tx *Tx) rollback() error { return tx.run("ROLLBACK") }

func (tx *Tx) run(q string) error {
	_, err := tx.exec(q)
	return err
}

func (tx *Tx) prepared(q string) (*sql.Stmt, error) {
	if s, ok := tx.statements[q]; ok {
		return s, nil
	}
	ctx, cancel := tx.engine.bounded()
	defer cancel()
	s, err := tx.conn.PrepareContext(ctx, q)
	if err != nil {
		return nil, tx.note(err)
	}
	tx.statements[q] = s
	return s, nil
}

// exec runs a statement and reports how many rows it changed.
func (tx *Tx) exec(q string, args ...any) (int64, error) {
	s, err := tx.prepared(q)
	if err != nil {
		return 0, err
	}
	ctx, cancel := tx.engine.bounded()
	defer cancel()
	res, err := s.ExecContext(ctx, tx.engine.arguments(args)...)
	if err != nil {
		return 0, tx.note(err)
	}
	return res.RowsAffected()
}

// one reads the single row of a statement, which may be an INSERT … RETURNING. It reports false when there is none.
func (tx *Tx) one(dest []any, q string, args ...any) (bool, error) {
	s, err := tx.prepared(q)
	if err != nil {
		return false, err
	}
	ctx, cancel := tx.engine.bounded()
	defer cancel()
	err = s.QueryRowContext(ctx, tx.engine.arguments(args)...).Scan(dest...)
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
