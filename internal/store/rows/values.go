package rows

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// Micros returns a time as it is stored: microseconds UTC, NULL for the zero time.
func Micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// FromMicros returns a stored time.
func FromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// Time scans a stored time, which may be NULL.
func Time(t *time.Time) moment { return moment{t} }

type moment struct{ t *time.Time }

// Scan implements sql.Scanner.
func (m moment) Scan(src any) error {
	var n sql.NullInt64
	if err := n.Scan(src); err != nil {
		return err
	}
	*m.t = time.Time{}
	if n.Valid {
		*m.t = FromMicros(n.Int64)
	}
	return nil
}

// JSON writes a value as JSON; given a pointer, it also scans JSON into it.
func JSON(v any) jsonText { return jsonText{v} }

type jsonText struct{ v any }

// Value implements driver.Valuer.
func (j jsonText) Value() (driver.Value, error) {
	text, err := json.Marshal(j.v)
	return string(text), err
}

// Scan implements sql.Scanner.
func (j jsonText) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("the database has %T where text should be", src)
	}
	return json.Unmarshal([]byte(text), j.v)
}
