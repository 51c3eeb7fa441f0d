package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Screen is a writer that knows how tables are shown on it. Any other writer takes them at full width, without colours.
type Screen struct {
	io.Writer
	Width  int  // in characters, which tables don't exceed; 0: any
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
