package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// Tx is the open transaction that a closure given to Write writes with. It must not be used after the closure returns.
type Tx struct {
	engine   *engine
	ctx      context.Context // of the transaction, and of no request
	conn     *sql.Conn
	commands map[string]command   // statements that give no rows
	queries  map[string]*sql.Stmt // those that do
	values   []driver.NamedValue  // scratch: of the command that runs
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
	if err := e.keys.load(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return &Tx{engine: e, conn: conn, commands: map[string]command{}, queries: map[string]*sql.Stmt{}}, nil
}

func (tx *Tx) close() {
	for _, s := range tx.queries {
		s.Close()
	}
	tx.conn.Raw(func(any) error {
		for _, c := range tx.commands {
			c.Close()
		}
		return nil
	})
	tx.conn.Close()
}

// The transaction belongs to the store, not to a request: ctx is the writer's.
func (tx *Tx) begin(ctx context.Context) error {
	tx.ctx, tx.failed = ctx, nil
	return tx.run(tx.engine.begin)
}

func (tx *Tx) commit() error {
	if err := tx.engine.keys.settle(tx); err != nil {
		return err
	}
	if err := tx.run("COMMIT"); err != nil {
		return err
	}
	tx.engine.keys.committed()
	return nil
}

func (tx *Tx) rollback() error {
	if err := tx.run("ROLLBACK"); err != nil {
		return err
	}
	tx.engine.keys.undone()
	return nil
}

func (tx *Tx) run(q string) error {
	_, err := tx.exec(q)
	return err
}

// exec runs a statement that gives no rows, and reports how many it changed. It asks the driver itself: what database/sql does in
// between took a fifteenth of the door's time.
func (tx *Tx) exec(q string, args ...any) (n int64, err error) {
	if err := tx.take(args); err != nil {
		return 0, err
	}
	err = tx.conn.Raw(func(conn any) error {
		c, err := tx.command(conn.(driver.ConnPrepareContext), q)
		if err != nil {
			return err
		}
		if len(args) != c.parameters { // SQLite takes a missing one for null
			return fmt.Errorf("a statement of %d parameters was given %d arguments", c.parameters, len(args))
		}
		res, err := c.Stmt.(driver.StmtExecContext).ExecContext(tx.ctx, tx.values)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	clear(tx.values) // they may be about a candidate
	return n, tx.note(err)
}

// command is a prepared statement that gives no rows.
type command struct {
	driver.Stmt
	parameters int
}

func (tx *Tx) command(conn driver.ConnPrepareContext, q string) (command, error) {
	if c, ok := tx.commands[q]; ok {
		return c, nil
	}
	s, err := conn.PrepareContext(tx.ctx, q)
	if err != nil {
		return command{}, err
	}
	c := command{s, s.NumInput()}
	tx.commands[q] = c
	return c, nil
}

// take makes the arguments of a command what a driver takes.
func (tx *Tx) take(args []any) (err error) {
	tx.values = tx.values[:0]
	for n, arg := range tx.engine.arguments(args) {
		switch arg.(type) {
		case nil, string, int64, bool, []byte:
		default:
			if arg, err = driver.DefaultParameterConverter.ConvertValue(arg); err != nil {
				return fmt.Errorf("argument %d of a statement: %w", n+1, err)
			}
		}
		tx.values = append(tx.values, driver.NamedValue{Ordinal: n + 1, Value: arg})
	}
	return nil
}

// prepared is a statement that gives rows.
func (tx *Tx) prepared(q string) (*sql.Stmt, error) {
	if s, ok := tx.queries[q]; ok {
		return s, nil
	}
	s, err := tx.conn.PrepareContext(tx.ctx, q)
	if err != nil {
		return nil, tx.note(err)
	}
	tx.queries[q] = s
	return s, nil
}

// one reads the single row of a statement, which may be an INSERT … RETURNING. It reports false when there is none.
func (tx *Tx) one(dest []any, q string, args ...any) (bool, error) {
	s, err := tx.prepared(q)
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
