package access

import (
	"database/sql/driver"
	"fmt"
	"strings"
)

// lines stores texts without line breaks in a column, a line each.
type lines struct{ of *[]string }

// Value implements driver.Valuer.
func (l lines) Value() (driver.Value, error) { return strings.Join(*l.of, "\n"), nil }

// Scan implements sql.Scanner.
func (l lines) Scan(src any) error {
	text, ok := src.(string)
	if raw, bytes := src.([]byte); bytes {
		text, ok = string(raw), true
	}
	if !ok {
		return fmt.Errorf("reading lines of text: there is a %T", src)
	}
	*l.of = nil
	if text != "" {
		*l.of = strings.Split(text, "\n")
	}
	return nil
}
