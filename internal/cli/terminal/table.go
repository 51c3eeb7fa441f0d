// Package terminal is what the commands share: tables, JSON lines and printable text, flags and secrets, and the
// exchange with a server whose errors are sentences.
package terminal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Table prints aligned columns for people; --json output goes through [WriteJSON] instead.
//
// Cells are printed so that one row is one line and nothing in them can reach the terminal as a control sequence:
// control characters are written as Go escapes, and what is empty as "-".
//
//   - time.Time: RFC 3339, UTC, whole seconds, and its age: 2026-11-20T12:00:00Z (3h ago); the zero time as "-"
//   - time.Duration: about three significant digits, such as 1.24s
//   - State: in its colour
//   - anything else: as fmt.Sprint does
//
// On a [Screen] that is narrower than the table, times are shown as ages alone, and then the widest cells end in an
// ellipsis; the first column is cut last, since it names the row. Without columns a table is one of names and values,
// which are never cut.
type Table struct {
	screen  *Screen
	columns int // 0: names and values
	rows    [][]text
	now     time.Time
}

// text is a cell as it is printed.
type text struct {
	long, short string // a time without its age is no shorter than its age alone; else they are the same
	color       string
}

// NewTable starts a table on w. Without columns it has no header line, which suits name and value pairs.
func NewTable(w io.Writer, columns ...string) *Table {
	screen, ok := w.(*Screen)
	if !ok {
		screen = &Screen{Writer: w}
	}
	t := &Table{screen: screen, columns: len(columns), now: time.Now()}
	if len(columns) > 0 {
		header := make([]text, len(columns))
		for i, c := range columns {
			name := strings.ToUpper(c)
			header[i] = text{name, name, bold}
		}
		t.rows = append(t.rows, header)
	}
	return t
}

// Row adds a line. Flush returns the errors of the writer.
func (t *Table) Row(cells ...any) {
	row := make([]text, len(cells))
	for i, c := range cells {
		row[i] = t.cell(c)
	}
	t.rows = append(t.rows, row)
}

// columnGap is what stands between two columns.
const columnGap = "  "

// Flush writes the table; before it nothing is written, because the widths are not known.
func (t *Table) Flush() error {
	var out strings.Builder
	widths := t.widths(false)
	short := t.columns > 0 && t.screen.Width > 0 && t.total(widths) > t.screen.Width
	if short {
		widths = t.fit(t.widths(true))
	}
	for _, row := range t.rows {
		for i, c := range row {
			s := c.long
			if short {
				s = cut(c.short, widths[i])
			}
			padding := ""
			if i < len(row)-1 {
				padding = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(s)) + columnGap
			}
			if c.color != "" && t.screen.Colors {
				s = c.color + s + plain
			}
			out.WriteString(s + padding)
		}
		out.WriteByte('\n')
	}
	t.rows = nil
	if _, err := io.WriteString(t.screen, out.String()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// widths are those of the columns in characters.
func (t *Table) widths(short bool) (widths []int) {
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			s := c.long
			if short {
				s = c.short
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(s))
		}
	}
	return widths
}

// total is the width of a line of columns.
func (t *Table) total(widths []int) int {
	n := len(columnGap) * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// minColumn is the width below which no column but the first is cut.
const minColumn = 8

// fit makes the widest columns narrower, step by step, until a line fits the screen.
func (t *Table) fit(widths []int) []int {
	for over := t.total(widths) - t.screen.Width; over > 0; over-- {
		rest := widths[1:]
		if len(rest) == 0 || slices.Max(rest) <= minColumn {
			widths[0] = max(minColumn, widths[0]-over)
			break
		}
		widest := slices.Max(rest)
		rest[slices.Index(rest, widest)]--
	}
	return widths
}

// cut shortens a text to n characters, the last of which is then an ellipsis.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func (t *Table) cell(v any) (c text) {
	switch v := v.(type) {
	case nil:
	case time.Time:
		if at := formatTime(v); at != "" {
			age := FormatAge(t.now.Sub(v))
			return text{long: at + " (" + age + ")", short: age}
		}
	case time.Duration:
		c.long = FormatDuration(v)
	case State:
		c.long, c.color = string(v), colors[v]
	default:
		c.long = fmt.Sprint(v)
	}
	c.long = cmp.Or(Printable(c.long), "-")
	c.short = c.long
	return c
}

// FormatAge says how long ago something was, or in how much time it is: "3m ago", "in 2h". One unit is enough.
func FormatAge(age time.Duration) string {
	abs, n := age.Abs(), ""
	switch {
	case abs < time.Second:
		return "now"
	case abs < time.Minute:
		n = fmt.Sprintf("%ds", abs/time.Second)
	case abs < time.Hour:
		n = fmt.Sprintf("%dm", abs/time.Minute)
	case abs < 48*time.Hour:
		n = fmt.Sprintf("%dh", abs/time.Hour)
	case abs < 2*365*24*time.Hour:
		n = fmt.Sprintf("%dd", abs/(24*time.Hour))
	default:
		n = fmt.Sprintf("%dy", abs/(365*24*time.Hour))
	}
	if age < 0 {
		return "in " + n
	}
	return n + " ago"
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
