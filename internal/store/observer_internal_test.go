package store

import (
	"context"

	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// observer is a reader that tells of each read.
type observer struct {
	rows.Reader
	before, after func(q string, args []any)
}

// observe has a database tell of each read; nil: not.
func observe(db *DB, before, after func(q string, args []any)) {
	db.reads = observer{db.sql, before, after}
	db.DB = access.Reading(db.reads)
}

func (o observer) Query(ctx context.Context, each func(row) error, q string, args ...any) error {
	if o.before != nil {
		o.before(q, args)
	}
	err := o.Reader.Query(ctx, each, q, args...)
	if o.after != nil {
		o.after(q, args)
	}
	return err
}
