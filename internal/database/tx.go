package database

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync/atomic"
)

// Tx is the open transaction as one closure given to Write writes with it. It must not be used after the closure returns.
type Tx struct {
	*transaction
	of *write // the closure, or the last of the batch for what all have collected
	// handOver hands a statement to whoever runs those of all closures that run beside each other, and returns once it was
	// run, or with false when it never will be. Nil: the closure runs alone.
	handOver func(*statement) bool
	failed   error // of the first statement that failed
}

// transaction is the state that the closures of a batch share: the connection, and what they have done since begin.
type transaction struct {
	dialect dialect
	ctx     context.Context // of the transaction, and of no request
	conn    *sql.Conn
	session session
	begun   bool
	later   []*statement // those whose results no closure waits for: they travel with the next one, or with COMMIT
	failed  *statement   // of later
	broken  error        // an error after which the connection can't be trusted
	ending  []collected  // what the closures collected
}

// Collection gathers rows of all closures of a transaction, so that they are written at once.
type Collection interface {
	// Writes is called once, after the last closure of the transaction. What it returns runs beside each other.
	Writes() []func(*Tx) error
}

type collected struct {
	name string
	Collection
}

func newTransaction(ctx context.Context, d dialect, db *sql.DB, roundTrips *atomic.Int64) (*transaction, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &transaction{dialect: d, conn: conn, session: d.session(conn, roundTrips)}, nil
}

func (t *transaction) close() {
	t.session.close()
	t.conn.Close()
}

// begin begins a transaction, with its first statement. It belongs to the writer, not to a request, and so does ctx.
func (t *transaction) begin(ctx context.Context) {
	t.ctx, t.begun, t.later, t.failed, t.ending = ctx, false, nil, nil, nil
}

// Collect returns the transaction's collection of a name. The first closure that asks for it makes it.
func (t *transaction) Collect(name string, start func() Collection) Collection {
	for _, c := range t.ending {
		if c.name == name {
			return c.Collection
		}
	}
	one := start()
	t.ending = append(t.ending, collected{name, one})
	return one
}

// collectedWrites returns what writes the collections.
func (t *transaction) collectedWrites() (all []func(*Tx) error) {
	for _, c := range t.ending {
		all = append(all, c.Writes()...)
	}
	return all
}

// commit commits. A closure with an error means that nothing was written; an error alone, that the outcome is unknown.
func (t *transaction) commit() (failed *write, err error) {
	if err := t.dialect.present(); err != nil {
		return nil, err
	}
	err = t.run(&statement{text: "COMMIT"})
	if t.failed != nil && t.broken == nil {
		return t.blame(nil, err)
	}
	return nil, err
}

func (t *transaction) rollback() error {
	if t.later = nil; !t.begun {
		return nil
	}
	return t.run(&statement{text: "ROLLBACK"})
}

// run runs statements after those that were left for later, and returns the error of the one that failed. The first ones
// begin the transaction.
func (t *transaction) run(all ...*statement) error {
	all, t.later = append(t.later, all...), nil
	if !t.begun {
		t.begun = true
		all = append([]*statement{{text: t.dialect.beginning()}}, all...)
	}
	t.session.run(t.ctx, all)
	for _, s := range all {
		if s.err == nil {
			continue
		}
		if t.dialect.lost(s.err) {
			t.broken = s.err
		}
		if s.of != nil {
			t.failed = s
		}
		return s.err
	}
	return nil
}

// blame returns the closure to which an error is due, and its error: the one that returned it, unless a statement failed
// for which its closure did not wait.
func (t *transaction) blame(one *write, err error) (*write, error) {
	if t.failed != nil {
		return t.failed.of, fmt.Errorf("%w: %w", ErrUnavailable, t.failed.err)
	}
	return one, err
}

// call calls a closure. A panic becomes its error: the writer serves all requests and must not end.
func (tx *Tx) call(fn func(*Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a write panicked: %v", r)
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	// If a closure ignored a statement's error, PostgreSQL would turn the COMMIT into a ROLLBACK.
	return tx.failed
}

// do runs a statement.
func (tx *Tx) do(s *statement) error {
	watch(s.text)
	s.args = tx.dialect.arguments(s.args)
	if tx.handOver == nil {
		_ = tx.run(s)
	} else if !tx.handOver(s) {
		s.err = errNotRun
	}
	if s.err == nil {
		return nil
	}
	err := fmt.Errorf("%w: %w", ErrUnavailable, s.err)
	if tx.failed == nil {
		tx.failed = err
	}
	return err
}

// Exec runs a statement that returns no rows, and returns how many it changed.
func (tx *Tx) Exec(q string, args ...any) (int64, error) {
	s := &statement{text: q, args: args}
	err := tx.do(s)
	return s.changed, err
}

// Run runs a statement that returns no rows. Where the database is across a network, it travels with the next one whose
// result is needed, and when it fails, so does the closure after it returned.
func (tx *Tx) Run(q string, args ...any) error {
	if tx.dialect.shared() {
		watch(q)
		args = tx.dialect.arguments(slices.Clone(args))
		tx.later = append(tx.later, &statement{text: q, args: args, of: tx.of})
		return nil
	}
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

// Scan reads the single row of a statement, which may be an INSERT … RETURNING, into dest. It reports false when there
// is none.
func (tx *Tx) Scan(dest []any, q string, args ...any) (found bool, err error) {
	err = tx.Query(func(r Row) error {
		if found {
			return nil
		}
		found = true
		return r.Scan(dest...)
	}, q, args...)
	return found && err == nil, err
}

// Query calls each for every row of a statement, until it returns an error.
func (tx *Tx) Query(each func(Row) error, q string, args ...any) error {
	var failed error
	err := tx.do(&statement{text: q, args: args, each: func(r Row) error {
		failed = each(r)
		return failed
	}})
	if err == nil && failed != nil {
		err = fmt.Errorf("reading a row: %w", failed)
	}
	return err
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
