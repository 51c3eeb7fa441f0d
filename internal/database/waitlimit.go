package database

import (
	"sync/atomic"
	"time"
)

// waitLimit is a timeout for many waits: it ends all that began within the same stretch of time at once. A timer for
// each of them would be a good part of what they cost.
type waitLimit struct {
	within  time.Duration
	newest  atomic.Pointer[stretch]
	stopped chan struct{}
}

// stretch is closed at the timeout of all waits that began within it.
type stretch chan struct{}

// stretches is the number of stretches in a timeout.
const stretches = 4

// newWaitLimit makes a timeout of this long, or up to a stretch longer.
func newWaitLimit(within time.Duration) *waitLimit {
	l := &waitLimit{within: within, stopped: make(chan struct{})}
	l.next()
	go l.run()
	return l
}

// begin returns a channel that is closed at the timeout of a wait that begins now.
func (l *waitLimit) begin() <-chan struct{} { return *l.newest.Load() }

func (l *waitLimit) next() {
	s := make(stretch)
	l.newest.Store(&s)
}

func (l *waitLimit) run() {
	tick := time.NewTicker(l.within / stretches)
	defer tick.Stop()
	var over []stretch // earlier than the newest
	for {
		select {
		case <-l.stopped:
			return
		case <-tick.C:
		}
		over = append(over, *l.newest.Load())
		l.next()
		if len(over) > stretches {
			close(over[0])
			over = over[1:]
		}
	}
}

func (l *waitLimit) end() { close(l.stopped) }
