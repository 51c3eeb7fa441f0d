package commands

import (
	"io"
	"os"
)

// lifelineVariable is the environment variable that gives any command of hiregate a lifeline, Caddy's own included.
const lifelineVariable = "HIREGATE_LIFELINE"

// HoldLifeline ends the process as soon as its standard input ends, if HIREGATE_LIFELINE=stdin says so. The other end of the
// pipe is held by the parent alone, so the process does not outlive it, however it dies.
func HoldLifeline() {
	if os.Getenv(lifelineVariable) != "stdin" {
		return
	}
	os.Unsetenv(lifelineVariable) // it is not meant for the processes that this one starts
	cut := lifeline(os.Stdin)
	go func() {
		<-cut
		os.Exit(1)
	}()
}

// lifeline is closed when r ends, in whatever way: whoever held its other end is gone.
func lifeline(r io.Reader) <-chan struct{} {
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		_, _ = io.Copy(io.Discard, r)
	}()
	return cut
}
