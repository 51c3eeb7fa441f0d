// Package scan asks a scanner whether the content of a document is harmful: a program, or clamd.
package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"unicode"
)

// Scanner looks through contents.
type Scanner interface {
	// Scan reads content to its end. found names what is harmful in it, in the scanner's words; empty: it is clean. After
	// an error nothing is known of it.
	Scan(ctx context.Context, content io.Reader) (found string, err error)
}

// Check says what is wrong with the arguments of the option scan, or nil: they are exec, a program and its arguments;
// or clamd and its address.
func Check(args []string) error {
	switch {
	case len(args) >= 2 && args[0] == "exec":
		return nil
	case len(args) == 2 && args[0] == "clamd":
		host, port, err := net.SplitHostPort(args[1])
		if n, notNumber := strconv.ParseUint(port, 10, 16); err != nil || host == "" || notNumber != nil || n == 0 {
			return fmt.Errorf("scan: %q is no address of clamd: write host:port, such as 127.0.0.1:3310", args[1])
		}
		return nil
	}
	return errors.New("scan takes a scanner: write `scan exec clamdscan --no-summary -` or `scan clamd 127.0.0.1:3310`")
}

// New makes the scanner that the arguments name. A program has to be there.
func New(args []string) (Scanner, error) {
	if err := Check(args); err != nil {
		return nil, err
	}
	if args[0] == "clamd" {
		return Clamd(args[1]), nil
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return nil, fmt.Errorf("scan: the program %s can't be run: install it, or write its whole path: %w", args[1], err)
	}
	return newProgram(path, args[2:]), nil
}

// maxFinding is how much of a scanner's words is kept, in bytes.
const maxFinding = 200

// finding returns a scanner's words without control characters and cut to maxFinding, fit to be shown and logged.
func finding(said string) string {
	said = strings.TrimSpace(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, said))
	if len(said) > maxFinding {
		said = strings.ToValidUTF8(said[:maxFinding], "")
	}
	if said == "" {
		return "harmful content"
	}
	return said
}
