package database

import (
	"context"
	"database/sql"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// pipelineBytes bounds the arguments that travel together: they are kept in memory once more until they are sent.
const pipelineBytes = 4 << 20

// pipelineSession sends many statements before it reads the first result.
type pipelineSession struct {
	conn       *sql.Conn
	roundTrips *atomic.Int64
}

func (p pipelineSession) run(ctx context.Context, all []*statement) {
	err := p.conn.Raw(func(c any) error {
		conn := c.(*stdlib.Conn).Conn()
		for len(all) > 0 {
			n := travelTogether(all)
			p.roundTrips.Add(1)
			if !pipeline(ctx, conn, all[:n]) {
				breakOff(all[n:])
				return nil
			}
			all = all[n:]
		}
		return nil
	})
	if err != nil { // the connection is gone
		all[0].err = err
		breakOff(all[1:])
	}
}

func (pipelineSession) close() {}

// travelTogether returns how many of the first statements are sent at once: one at least.
func travelTogether(all []*statement) int {
	size := 0
	for n, s := range all {
		for _, arg := range s.args {
			if b, ok := arg.([]byte); ok {
				size += len(b)
			}
		}
		if n > 0 && size > pipelineBytes {
			return n
		}
	}
	return len(all)
}

// pipeline sends statements and reads their results. It reports false when one failed.
func pipeline(ctx context.Context, conn *pgx.Conn, all []*statement) bool {
	var batch pgx.Batch
	for _, s := range all {
		batch.Queue(s.text, s.args...)
	}
	results := conn.SendBatch(ctx, &batch)
	for n, s := range all {
		if s.err = read(results, s); s.err != nil {
			breakOff(all[n+1:])
			results.Close()
			return false
		}
	}
	last := all[len(all)-1]
	last.err = results.Close()
	return last.err == nil
}

// read reads the result of the next statement.
func read(results pgx.BatchResults, s *statement) error {
	if s.each == nil {
		tag, err := results.Exec()
		s.changed = tag.RowsAffected()
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	for failed := false; rows.Next(); {
		failed = failed || s.each(rows) != nil
	}
	rows.Close()
	return rows.Err()
}
