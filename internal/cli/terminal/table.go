// Package terminal is what the commands share: tables, JSON lines and printable text, flags and secrets, and the
// exchange with a server whose errors are sentences.
package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/term"
)

// Table prints aligned columns for people; --json output goes through [WriteJSON] instead.
//
// Cells are printed so that one row is one line and nothing in them can reach the terminal as a control sequence:
// control characters are written as Go escapes, and what is empty as "-".
//
//   - time.Time: RFC 3339, UTC, whole seconds; the zero time as "-"
//   - time.Duration: about three significant digits, such as 1.24s
//   - anything else: as fmt.Sprint does
type Table struct {
	tw *tabwriter.Writer
}

// NewTable starts a table on w. Without columns it has no header line, which suits name and value pairs.
func NewTable(w io.Writer, columns ...string) *Table {
	t := &Table{tw: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	if len(columns) > 0 {
		cells := make([]any, len(columns))
		for i, c := range columns {
			cells[i] = strings.ToUpper(c)
		}
		t.Row(cells...)
	}
	return t
}

// Row adds a line. Flush returns the errors of the writer.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = cell(c)
	}
	fmt.Fprintln(t.tw, strings.Join(texts, "\t"))
}

// Flush writes the table; before it nothing is written, because the widths are not known.
func (t *Table) Flush() error {
	if err := t.tw.Flush(); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

func cell(v any) string {
	var s string
	switch v := v.(type) {
	case nil:
	case time.Time:
		s = formatTime(v)
	case time.Duration:
		s = FormatDuration(v)
	default:
		s = fmt.Sprint(v)
	}
	if s == "" {
		return "-"
	}
	return Printable(s)
}

// WriteJSON writes v as one JSON object on a line of its own (newline-delimited JSON). Every --json output has this
// form, one object an item: it can be read while it is still being written, and by line-based tools. Times in it are
// RFC 3339 in UTC.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// WriteJSONLines writes each item with WriteJSON.
func WriteJSONLines[T any](w io.Writer, items []T) error {
	for _, item := range items {
		if err := WriteJSON(w, item); err != nil {
			return err
		}
	}
	return nil
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// FormatDuration formats a duration with about three significant digits.
func FormatDuration(d time.Duration) string {
	switch abs := d.Abs(); {
	case abs >= 10*time.Second:
		return d.Round(time.Second).String()
	case abs >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case abs >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(10 * time.Microsecond).String()
	}
}

// Printable escapes all but graphic characters: others could move the cursor, break the line or hide text.
func Printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || r == unicode.ReplacementChar }) < 0 {
		return s
	}
	quoted := strconv.QuoteToGraphic(s)
	return quoted[1 : len(quoted)-1]
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
