package dev

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

const (
	lastLines = 15       // of a process, for the error that it ended
	heldLines = 200      // of all processes, before the console opens
	maxLine   = 64 << 10 // bytes; a longer line is printed in pieces
)

// console prints the lines of several processes, each line whole and with the name of its process before it. Until it
// is opened it holds them back, but for what a process says while it starts: that is for the error only, should it
// fail. Of a process that says much it prints the warnings.
type console struct {
	out     io.Writer
	colours bool
	verbose bool // prints everything
	width   int  // names are padded to it

	mu     sync.Mutex
	open   bool
	closed bool
	held   []string
}

func newConsole(out io.Writer) *console {
	return &console{out: out, colours: terminal.NewScreen(out, false).Colors, width: len("temporal")}
}

// release prints what was held back; from then on lines are printed as they come.
func (c *console) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
	for _, line := range c.held {
		c.print(line)
	}
	c.held = nil
}

// close ends the printing, unless it is verbose: what processes say while they stop is of no interest.
func (c *console) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = !c.verbose
}

// print is called with the lock held.
func (c *console) print(line string) {
	switch {
	case c.closed:
		return
	case c.open:
		fmt.Fprintln(c.out, line)
		return
	}
	c.held = append(c.held, line)
	c.held = c.held[max(0, len(c.held)-heldLines):]
}

// lines returns the writer for the output of a process. colour is the number of an SGR foreground colour.
func (c *console) lines(name string, colour int) *lines {
	prefix := fmt.Sprintf("%-*s | ", c.width, name)
	if c.colours {
		prefix = fmt.Sprintf("\x1b[%dm%s\x1b[0m", colour, prefix)
	}
	return &lines{console: c, prefix: prefix}
}

// lines is one process's part of a console.
type lines struct {
	console *console
	prefix  string
	log     *logFile // gets each line, and the console only warnings; nil: the console gets each line

	// All of it belongs to the console's lock.
	partial []byte   // of a line that has no end yet
	last    []string // the newest lastLines
	awaited string   // a line with this prefix closes seen
	seen    chan struct{}
	shown   bool
}

// await returns a channel that is closed when a line with that beginning comes. It is called once, before the process
// starts.
func (l *lines) await(beginning string) <-chan struct{} {
	l.awaited, l.seen = beginning, make(chan struct{})
	return l.seen
}

// show has lines printed from now on.
func (l *lines) show() {
	l.console.mu.Lock()
	defer l.console.mu.Unlock()
	l.shown = true
}

// Write implements io.Writer. It never fails: a terminal that is gone must not stop what writes to it.
func (l *lines) Write(p []byte) (int, error) {
	l.console.mu.Lock()
	defer l.console.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, whole := bytes.Cut(l.partial, []byte("\n"))
		switch {
		case whole:
			l.add(string(line))
			l.partial = rest
		case len(line) >= maxLine:
			l.add(string(line[:maxLine]))
			l.partial = line[maxLine:]
		default:
			return len(p), nil
		}
	}
}

// flush ends a line that the process did not end itself.
func (l *lines) flush() {
	l.console.mu.Lock()
	defer l.console.mu.Unlock()
	l.add(string(l.partial))
	l.partial = nil
}

// add leaves out blank lines: among the lines of other processes they separate nothing.
func (l *lines) add(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	l.last = append(l.last, line)
	l.last = l.last[max(0, len(l.last)-lastLines):]
	if l.seen != nil && strings.HasPrefix(line, l.awaited) {
		close(l.seen)
		l.seen = nil
	}
	if l.log != nil {
		l.log.line(line)
	}
	if l.shown && (l.log == nil || warns(line) || l.console.verbose && l.console.open) {
		l.console.print(l.prefix + line)
	}
}

// sdkLogger is the logger of Temporal's SDK in the gateway.
const sdkLogger = "hiregate.temporal"

// warns reports whether a line of the gateway is one to see: a warning, an error, or none of its log, such as a panic. What
// Temporal's SDK warns of stays in the log: the gateway says itself when Temporal does not answer, and goes on. dev.Caddyfile has the log's format: time, level, logger, message and fields, with tabs between them.
func warns(line string) bool {
	_, rest, ok := strings.Cut(line, "\t")
	level, rest, _ := strings.Cut(rest, "\t")
	logger, _, _ := strings.Cut(rest, "\t")
	return !ok || level != "INFO" && level != "DEBUG" && !(level == "WARN" && logger == sdkLogger)
}

// tail is the newest lines, indented.
func (l *lines) tail() string {
	l.console.mu.Lock()
	defer l.console.mu.Unlock()
	if len(l.last) == 0 {
		return "  (none)"
	}
	return "  " + strings.Join(l.last, "\n  ")
}
