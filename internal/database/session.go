package database

import (
	"context"
	"database/sql"
	"errors"
)

// session runs statements on the writing connection.
type session interface {
	// run runs statements in their order, until one fails, and sets their results. Where the database is across a network,
	// all of them travel together.
	run(context.Context, []*statement)
	close()
}

// statement is a statement, its arguments and, once it was run, its result.
type statement struct {
	text string
	args []any
	// each takes the rows, until it returns an error. Nil: there are none.
	each    func(Row) error
	changed int64 // rows
	err     error // the database's; errNotRun after another's
	// of is the closure that has gone on without the result. Nil: it waits for that.
	of *write
}

var errNotRun = errors.New("a statement before it failed")

// breakOff gives statements that are not run their error.
func breakOff(all []*statement) {
	for _, s := range all {
		s.err = errNotRun
	}
}

// localSession runs one statement after the other: the database is in this process.
type localSession struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt // statements by their text
}

func (l *localSession) run(ctx context.Context, all []*statement) {
	for n, s := range all {
		if s.err = l.runOne(ctx, s); s.err != nil {
			breakOff(all[n+1:])
			return
		}
	}
}

func (l *localSession) runOne(ctx context.Context, s *statement) error {
	prepared, err := l.prepare(ctx, s.text)
	if err != nil {
		return err
	}
	if s.each == nil {
		res, err := prepared.ExecContext(ctx, s.args...)
		if err != nil {
			return err
		}
		s.changed, err = res.RowsAffected()
		return err
	}
	rows, err := prepared.QueryContext(ctx, s.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if s.each(rows) != nil {
			return nil
		}
	}
	return rows.Err()
}

// prepare prepares a statement at its first use.
func (l *localSession) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if s, ok := l.prepared[text]; ok {
		return s, nil
	}
	s, err := l.conn.PrepareContext(ctx, text)
	if err == nil {
		l.prepared[text] = s
	}
	return s, err
}

func (l *localSession) close() {
	for _, s := range l.prepared {
		s.Close()
	}
}
