// Package batch writes in batches what strangers cause: anybody can cause it, and none of them a write of their own.
package batch

import (
	"context"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/store"
)

// Every is how long the first item of a batch waits for others.
const Every = 2 * time.Second

// Writer keeps values by key in memory until they are written. Its fields are set before the first Add.
type Writer[K comparable, V any] struct {
	// Most is how many different keys wait at most. Further ones are dropped.
	Most int
	// Within is how long a write may take.
	Within time.Duration
	Store  func() *store.DB
	// Write writes a batch. Values whose write fails are gone.
	Write  func(*store.Tx, map[K]V) error
	Failed func(error)

	mu   sync.Mutex
	kept map[K]V
}

// Add sets the value of a key to what add makes of the one that waits; known reports whether one does.
func (w *Writer[K, V]) Add(key K, add func(before V, known bool) V) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.kept[key]
	if !known && len(w.kept) >= w.Most {
		return
	}
	if w.kept == nil {
		w.kept = map[K]V{}
		time.AfterFunc(Every, w.Flush)
	}
	w.kept[key] = add(before, known)
}

// Flush writes what came since the last time.
func (w *Writer[K, V]) Flush() {
	w.mu.Lock()
	all := w.kept
	w.kept = nil
	w.mu.Unlock()
	if len(all) == 0 {
		return
	}
	db := w.Store()
	release, ok := db.Acquire()
	if !ok {
		return // the gateway has ended, and a few values with it
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), w.Within)
	defer cancel()
	if err := db.Write(ctx, func(tx *store.Tx) error { return w.Write(tx, all) }); err != nil {
		w.Failed(err)
	}
}
