package database

import (
	"sync/atomic"
	"time"
)

// waitLimit ends the waiting of many at once: all who began within the same stretch of time. A timer for each of them would be
// a good part of what their waiting costs.
type waitLimit struct {
	within  time.Duration
	newest  atomic.Pointer[stretch]
	stopped chan struct{}
}

// stretch is closed once all who began within it have waited long enough.
type stretch chan struct{}

// stretches is how many of them a limit is made of.
const stretches = 4

// newWaitLimit makes a limit of this long, or up to a stretch longer.
func newWaitLimit(within time.Duration) *waitLimit {
	l := &waitLimit{within: within, stopped: make(chan struct{})}
	l.next()
	go l.run()
	return l
}

// begin gives what is closed when one who begins to wait now has waited long enough.
func (l *waitLimit) begin() <-chan struct{} { return *l.newest.Load() }

func (l *waitLimit) next() {
	s := make(stretch)
	l.newest.Store(&s)
}

func (l *waitLimit) run() {
	tick := time.NewTicker(l.within / stretches)
	defer tick.Stop()
	var over []stretch // those in which nobody begins any more
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
