package config

import (
	"slices"
	"sync"
	"sync/atomic"
)

// InForce holds the configurations that are running.
type InForce = Running[Config]

// Running holds what belongs to each configuration that is running. The latest one is in force. During a reload there
// are two.
type Running[T any] struct {
	mu     sync.Mutex
	all    []*T
	latest atomic.Pointer[T] // each request asks for it
}

// Push puts one in force.
func (r *Running[T]) Push(one *T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
	r.latest.Store(one)
}

// Drop removes one that has ended; the latest of the others is then in force.
func (r *Running[T]) Drop(one *T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := slices.Index(r.all, one); n >= 0 {
		r.all = slices.Delete(r.all, n, n+1)
	}
	if len(r.all) == 0 {
		r.latest.Store(nil)
	} else {
		r.latest.Store(r.all[len(r.all)-1])
	}
}

// Current is the one in force; nil when there is none, while the process stops.
func (r *Running[T]) Current() *T { return r.latest.Load() }
