// Package lifeline ends a process when its parent ends, even if the parent is killed.
package lifeline

import (
	"io"
	"os"
)

// Variable is the environment variable that gives any command of hiregate a lifeline, also those of Caddy.
const Variable = "HIREGATE_LIFELINE"

// Hold ends the process as soon as its standard input ends, if HIREGATE_LIFELINE=stdin says so. Only the parent holds the
// other end of the pipe, so the process does not outlive it, even if it is killed.
func Hold() {
	if os.Getenv(Variable) != "stdin" {
		return
	}
	os.Unsetenv(Variable) // it is not meant for the processes that this one starts
	cut := Of(os.Stdin)
	go func() {
		<-cut
		os.Exit(1)
	}()
}

// Of returns a channel that is closed when r ends: the process that held its other end is gone.
func Of(r io.Reader) <-chan struct{} {
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		_, _ = io.Copy(io.Discard, r)
	}()
	return cut
}
