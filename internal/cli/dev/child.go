package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/platform"
)

// startTimeout limits the time until a child answers.
const startTimeout = 90 * time.Second

// child is a process of `hiregate dev`. It is in a process group of its own, so that the terminal's Ctrl-C does not
// reach it, and its standard input is its lifeline: a pipe whose other end only this process holds.
type child struct {
	name    string // in a sentence: "the gateway"
	cmd     *exec.Cmd
	lines   *lines
	answers func(context.Context) error // whether it is ready
	grace   time.Duration               // how long it may take to stop

	stdin io.Writer // its lifeline
	ended chan struct{}
	err   error // how it ended
}

// crew is the children, in the order of their start. Its methods belong to one goroutine.
type crew struct {
	began    time.Time
	progress func(format string, args ...any) // prints a line
	inherit  *os.File                         // held open by every child
	children []*child
	lost     chan *child // those that ended, stopped or not
}

// start starts a child, whose cmd has its path, arguments and environment.
func (c *crew) start(ch *child) error {
	ch.cmd.Stdout, ch.cmd.Stderr = ch.lines, ch.lines
	ch.cmd.ExtraFiles = []*os.File{c.inherit}
	ch.cmd.WaitDelay = 2 * time.Second // in case processes that it started still hold its output
	platform.OwnGroup(ch.cmd)
	stdin, err := ch.cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("starting %s: %w", ch.name, err)
	}
	ch.stdin = stdin
	if err := ch.cmd.Start(); err != nil {
		return fmt.Errorf("%s can't be started from %s: %w", ch.name, ch.cmd.Path, terminal.Cause(err))
	}
	ch.ended = make(chan struct{})
	c.children = append(c.children, ch)
	go func() {
		ch.err = ch.cmd.Wait()
		ch.lines.flush()
		close(ch.ended)
		c.lost <- ch
	}()
	return nil
}

// await waits until a child answers, and says so. From then on its lines are shown.
func (c *crew) await(ctx context.Context, ch *child) error {
	timeout := time.After(startTimeout)
	for {
		err := ch.answers(ctx)
		if err == nil {
			ch.lines.show()
			c.progress("%7s  %s answers", terminal.FormatDuration(time.Since(c.began)), ch.name)
			return nil
		}
		select {
		case lost := <-c.lost:
			return lost.sentence()
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout:
			return fmt.Errorf("%s does not answer within %s: %w. Its last lines:\n%s", ch.name, startTimeout, err,
				ch.lines.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// wait waits until ctx ends, which is no error, or a child does, which is.
func (c *crew) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case lost := <-c.lost:
		return lost.sentence()
	}
}

// stop stops the children, the one that was started last first: each finishes while what it needs still runs.
func (c *crew) stop() {
	if len(c.children) == 0 {
		return
	}
	began := time.Now()
	c.progress("Stopping; another Ctrl-C ends everything at once")
	for _, ch := range slices.Backward(c.children) {
		if !ch.stop() {
			c.progress("%s did not stop within %s and was killed", ch.name, ch.grace)
		}
	}
	c.progress("Stopped within %s", terminal.FormatDuration(time.Since(began)))
}

// stop reports false when the child had to be killed.
func (ch *child) stop() bool {
	if err := ch.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return ch.kill()
	}
	select {
	case <-ch.ended:
		return true
	case <-time.After(ch.grace):
		return ch.kill()
	}
}

func (ch *child) kill() bool {
	// With its whole group; an error says that it is gone.
	_ = platform.KillGroup(ch.cmd.Process)
	<-ch.ended
	return false
}

// sentence says that a child ended that should not have.
func (ch *child) sentence() error {
	how := "exit status 0"
	if ch.err != nil {
		how = ch.err.Error()
	}
	return fmt.Errorf("%s ended unexpectedly (%s), so everything was stopped. Its last lines:\n%s", ch.name, how,
		ch.lines.tail())
}
