package main

import (
	"fmt"
	"net/http"
	"sync"
)

// promise is something that the gateway acknowledged.
type promise struct {
	kind kind
	id   string
}

// load asks the gateway for what it has to keep.
type load struct {
	gateway  *gateway
	mu       sync.Mutex
	promises []promise
}

// acknowledged notes a promise.
func (l *load) acknowledged(k kind, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promises = append(l.promises, promise{k, id})
}

// start begins the load before the n-th cut. end ends it, and waits for what is under way.
func (l *load) start(n int) (end func()) {
	var workers sync.WaitGroup
	done := make(chan struct{})
	for worker := range 8 {
		workers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				uuid := fmt.Sprintf("u-%d-%d-%d", n, worker, i)
				if status, _, _ := l.gateway.send(uuid); status == http.StatusAccepted {
					l.acknowledged(export, uuid)
				}
			}
		})
	}
	return func() {
		close(done)
		workers.Wait()
	}
}
