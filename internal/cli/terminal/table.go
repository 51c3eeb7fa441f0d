// Package terminal is what the commands share: tables, JSON lines and printable text, flags and secrets, and the
// exchange with a server whose errors are sentences.
package terminal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/model"
)

// Table prints aligned columns for people; --json output goes through [WriteJSON] instead.
//
// Cells are printed so that one row is one line and nothing in them can reach the terminal as a control sequence:
// control characters are written as Go escapes, and what is empty as "-".
//
//   - time.Time: RFC 3339, UTC, whole seconds, and its age: 2026-11-20T12:00:00Z (3h ago); the zero time as "-"
//   - time.Duration: about three significant digits, such as 1.24s
//   - State: in its colour
//   - ID and Reason: what they are, in any width
//   - anything else: as fmt.Sprint does
//
// Nothing is cut. On a [Screen] that is narrower than the table, times are shown as ages only; then each reason stands on
// a line below its row; then columns are left out, the last one first, but for the first one, which names the row, and
// those of identifiers and states. Without columns a table is one of names and values.
type Table struct {
	screen  *Screen
	columns int // 0: names and values
	rows    [][]text
	roles   []role // of the columns
	now     time.Time
}

// ID is the cell of an identifier beside the first column, which stays at any width.
type ID string

// Reason is a cell of text that stands on a line of its own where the screen is narrow.
type Reason string

// role says what to do with a column on a narrow screen.
type role int

const (
	optional role = iota // it may be left out
	kept
	below // it goes to a line of its own
)

// text is a cell as it is printed.
type text struct {
	long, short string // of a time: with its age, and only its age; else they are the same
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
		if i == len(t.roles) {
			t.roles = append(t.roles, optional)
		}
		switch c.(type) {
		case State, ID:
			t.roles[i] = kept
		case Reason:
			t.roles[i] = below
		}
	}
	t.rows = append(t.rows, row)
}

// columnGap separates two columns.
const columnGap = "  "

// Flush writes the table; before it nothing is written, because the widths are not known.
func (t *Table) Flush() error {
	widths := t.widths(false)
	short := t.columns > 0 && t.screen.Width > 0 && total(widths, nil) > t.screen.Width
	left := map[int]role{} // out of the line
	if short {
		widths = t.widths(true)
		left = t.fit(widths)
	}
	var out strings.Builder
	for n, row := range t.rows {
		line := ""
		padding := 0
		for i, c := range row {
			if _, out := left[i]; out {
				continue
			}
			s := c.long
			if short {
				s = c.short
			}
			if line != "" {
				line += strings.Repeat(" ", padding) + columnGap
			}
			padding = widths[i] - utf8.RuneCountInString(s)
			if c.color != "" && t.screen.Colors {
				s = c.color + s + plain
			}
			line += s
		}
		out.WriteString(line + "\n")
		for i, c := range row {
			if left[i] == below && n > 0 && c.long != nothing {
				out.WriteString(columnGap + c.long + "\n")
			}
		}
	}
	t.rows = nil
	if _, err := io.WriteString(t.screen, out.String()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// widths returns the widths of the columns in characters.
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

// total is the width of a line of columns, without those that are left out.
func total(widths []int, left map[int]role) int {
	n := -len(columnGap)
	for i, w := range widths {
		if _, out := left[i]; !out {
			n += w + len(columnGap)
		}
	}
	return n
}

// fit takes columns out of the line until it fits the screen, or only what is kept is left.
func (t *Table) fit(widths []int) map[int]role {
	left := map[int]role{}
	for _, goes := range []role{below, optional} {
		for i := len(t.roles) - 1; i > 0; i-- {
			if t.roles[i] == goes && total(widths, left) > t.screen.Width {
				left[i] = goes
			}
		}
	}
	return left
}

// nothing is shown in an empty cell.
const nothing = "-"

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
	c.long = cmp.Or(Printable(c.long), nothing)
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
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	if err == nil {
		_, err = Exact(w).Write(escapeUnseen(line.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// escapeUnseen writes the characters of JSON as \u escapes that a terminal would obey and encoding/json leaves.
func escapeUnseen(line []byte) []byte {
	unseen := func(r rune) bool { return r != '\n' && model.IsUnseen(r) }
	if bytes.IndexFunc(line, unseen) < 0 {
		return line
	}
	var out bytes.Buffer
	for _, r := range string(line) {
		if unseen(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
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

// needed are ZWNJ, ZWJ, LRM and RLM: names in Persian, Hindi, Hebrew or Arabic have them.
const needed = "\u200c\u200d\u200e\u200f"

// Printable escapes all but graphic characters and those that names need: others could move the cursor, break the line,
// turn the direction of text or hide it. What is escaped already stays as it is.
func Printable(s string) string {
	hidden := func(r rune) bool {
		return !unicode.IsGraphic(r) && !strings.ContainsRune(needed, r) || r == unicode.ReplacementChar
	}
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if hidden(r) {
			quoted := strconv.QuoteToASCII(s[:size])
			out.WriteString(quoted[1 : len(quoted)-1])
		} else {
			out.WriteString(s[:size])
		}
		s = s[size:]
	}
	return out.String()
}
