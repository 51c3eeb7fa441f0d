package terminal

import (
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Screen is a writer that knows how tables are shown on it, and breaks long lines between words: a terminal would break
// them anywhere, also within a UUID. Any other writer takes them at full width, without colours.
type Screen struct {
	io.Writer
	Width  int  // in characters; 0: any
	Colors bool // whether words such as failed have a colour
}

// NewScreen finds out what w is. Only a terminal has a width, which wide ignores, and colours, unless the environment
// variable NO_COLOR is set (https://no-color.org) or TERM is dumb.
func NewScreen(w io.Writer, wide bool) *Screen {
	s := &Screen{Writer: w}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.Colors = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && !wide {
		s.Width = width
	}
	return s
}

// Write implements io.Writer. A line has to come at once.
func (s *Screen) Write(p []byte) (int, error) {
	if s.Width <= 0 {
		return s.Writer.Write(p)
	}
	var out strings.Builder
	for line := range strings.SplitAfterSeq(string(p), "\n") {
		out.WriteString(broken(line, s.Width))
	}
	if _, err := io.WriteString(s.Writer, out.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Exact returns w without its way to break lines.
func Exact(w io.Writer) io.Writer {
	if s, ok := w.(*Screen); ok {
		return s.Writer
	}
	return w
}

// broken breaks a line between words where it is wider than a screen. What follows is indented.
func broken(line string, width int) string {
	if seen(line) <= width {
		return line
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))] + columnGap
	out, column, begun := "", 0, false
	for word := range strings.SplitAfterSeq(line, " ") {
		bare := strings.TrimRight(word, " \n")
		if begun && bare != "" && column+seen(bare) > width && len(indent)+seen(bare) <= width {
			out = strings.TrimRight(out, " ") + "\n" + indent
			column = len(indent)
		}
		out += word
		column += seen(word)
		begun = begun || bare != ""
	}
	return out
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// seen returns how many characters of a text take a place.
func seen(text string) int {
	return utf8.RuneCountInString(strings.TrimSuffix(colour.ReplaceAllString(text, ""), "\n"))
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	if s, ok := w.(*Screen); ok {
		w = s.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// The escape sequences of colours that are legible on light and dark grounds.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// State is the cell of a state or an outcome, which has a colour on a terminal that shows colours.
type State string

// Paint returns text as it is printed, in the colour of a state where the screen shows colours.
func (s *Screen) Paint(state State, text string) string {
	text = Printable(text)
	if color := colors[state]; s.Colors && color != "" {
		return color + text + plain
	}
	return text
}

// colors maps each state, of anything, to its color.
var colors = map[State]string{
	"delivered": green, "configured": green, "fetched": green, "dispatched": green, "open": green,
	"done": green, "clean": green, "passed": green, "ok": green,
	"retrying": yellow, "held": yellow, "pending": yellow, "waiting": yellow, "paused": yellow, "not_configured": yellow,
	"skipped": yellow, "warning": yellow,
	"failed": red, "expired": red, "disabled": red, "fault": red, "given_up": red, "refused": red, "failing": red,
	"refusing": red, "unproven": yellow,
}
