package notify

import (
	"cmp"
	"sync"
)

// turnsAtOnce is how many receivers have their turn at once: more than hang.
const turnsAtOnce = 64

// turns are of receivers that are sent something side by side, so that one that hangs delays no other.
type turns struct {
	running sync.WaitGroup
	mu      sync.Mutex
	taken   map[string]bool
	failed  error // of turns that ended since the last round
}

// state returns how many turns may begin, and forgets the error that it returns.
func (t *turns) state() (free int, failed error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	failed, t.failed = t.failed, nil
	return turnsAtOnce - len(t.taken), failed
}

// begin has a receiver take its turn, unless it is having one.
func (t *turns) begin(receiver string, turn func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken[receiver] {
		return
	}
	if t.taken == nil {
		t.taken = map[string]bool{}
	}
	t.taken[receiver] = true
	t.running.Go(func() {
		err := turn()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.taken, receiver)
		t.failed = cmp.Or(err, t.failed)
	})
}

// wait waits until the turns that have begun are over.
func (t *turns) wait() { t.running.Wait() }
