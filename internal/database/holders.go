package database

import (
	"sync"
	"time"
)

// holders are those who hold a database.
type holders struct {
	mu   sync.Mutex
	n    int
	over bool          // nobody enters any more
	gone chan struct{} // closed with the last one's leaving, once it is over
}

func (h *holders) enter() (release func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return nil, false
	}
	h.n++
	return h.release, true
}

func (h *holders) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n--; h.n == 0 && h.over {
		close(h.gone)
	}
}

// leave lets nobody in any more, and waits for those who are there. It reports false when that was done before.
func (h *holders) leave(within time.Duration) bool {
	h.mu.Lock()
	if h.over {
		h.mu.Unlock()
		return false
	}
	h.over, h.gone = true, make(chan struct{})
	if h.n == 0 {
		close(h.gone)
	}
	h.mu.Unlock()
	select {
	case <-h.gone:
	case <-time.After(within):
	}
	return true
}
