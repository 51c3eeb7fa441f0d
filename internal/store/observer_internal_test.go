package store

import "context"

// observer is a reader that tells of each read.
type observer struct {
	reader
	before, after func(q string, args []any)
}

// observe has a database tell of each read; nil: not.
func observe(db *DB, before, after func(q string, args []any)) {
	db.reads = observer{db.sql, before, after}
}

func (o observer) Query(ctx context.Context, each func(row) error, q string, args ...any) error {
	if o.before != nil {
		o.before(q, args)
	}
	err := o.reader.Query(ctx, each, q, args...)
	if o.after != nil {
		o.after(q, args)
	}
	return err
}
