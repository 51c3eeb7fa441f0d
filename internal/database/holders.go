package database

import (
	"sync"
	"time"
)

// holders are the requests that acquired a database.
type holders struct {
	mu   sync.Mutex
	over bool // no further one may acquire it
	all  sync.WaitGroup
}

func (h *holders) acquire() (release func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return nil, false
	}
	h.all.Add(1)
	return h.all.Done, true
}

// close refuses further holders, and waits for the others to release. It reports false when it was called before.
func (h *holders) close(within time.Duration) bool {
	h.mu.Lock()
	over := h.over
	h.over = true
	h.mu.Unlock()
	if over {
		return false
	}
	gone := make(chan struct{})
	go func() {
		h.all.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(within):
	}
	return true
}
