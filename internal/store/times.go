package store

import (
	"database/sql"
	"time"
)

// micros is a time as it is kept: microseconds UTC, NULL for the zero time.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// moment scans a time that may be NULL.
type moment struct{ t *time.Time }

// Scan implements sql.Scanner.
func (m moment) Scan(src any) error {
	var n sql.NullInt64
	if err := n.Scan(src); err != nil {
		return err
	}
	*m.t = time.Time{}
	if n.Valid {
		*m.t = fromMicros(n.Int64)
	}
	return nil
}
