package database

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	queueLength = 4096
	maxBatch    = 256
	maxTries    = 5 // of a closure that conflicts with another node

	// turnWithin is how long a closure waits for its turn, or up to a quarter longer. A sender waits 20 s for an
	// answer, and a closure that has its turn has writeWithin: a database that is slower counts as unavailable.
	turnWithin = 6 * time.Second
	// writeWithin bounds the time of a batch: on PostgreSQL all of it, on SQLite the wait for another program's lock.
	writeWithin = 8 * time.Second
)

// Write runs fn in a transaction and returns once that is on disk. Closures that wait at the same time share one
// transaction, and so one sync of the disk. When one of them fails, all are rolled back and each runs again alone:
// fn may run more than once and must only assign to what it captures.
//
// The error is fn's own, or wraps ErrUnavailable, also when fn has waited some seven seconds for its turn; when ctx
// ends while it waits, ctx's. After a nil error the write is on disk.
//
// key names what fn writes, or is empty. Closures of different keys must not depend on what each other reads: where the
// database is across a network, they run beside each other, and their statements travel together. Those of one key run
// one after the other, and those without one run alone. Where nodes share a database, the closures of one batch run in the
// order of their keys, so that no two nodes deadlock.
func (db *DB) Write(ctx context.Context, key string, fn func(*Tx) error) error {
	w := db.writer.finished.Get().(*write)
	w.key, w.fn, w.late = key, fn, db.writer.limit.begin()
	err := db.writer.enqueue(ctx, w)
	if err == nil {
		err = w.outcome(ctx)
	}
	db.writer.recycle(w)
	return db.noted(err)
}

var errLate = fmt.Errorf("writing: %w: others have had the database for too long", ErrUnavailable)

const (
	waiting int32 = iota
	taken
	reported
	abandoned
)

type write struct {
	key   string
	fn    func(*Tx) error
	state atomic.Int32
	done  chan error
	late  <-chan struct{}
}

// recycle drops what a write captured. One that was abandoned is still in the queue.
func (w *writer) recycle(done *write) {
	if done.state.Load() == abandoned {
		return
	}
	done.key, done.fn, done.late = "", nil, nil
	done.state.Store(waiting)
	w.finished.Put(done)
}

// outcome waits until the write is on disk, or failed, or is no longer waited for.
func (w *write) outcome(ctx context.Context) (err error) {
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-w.late:
		err = errLate
	}
	if w.state.CompareAndSwap(waiting, abandoned) {
		return err
	}
	return <-w.done // it is being written: its outcome is near, and fn's captures are still in use
}

// writer is the only one that writes to a database: it commits the closures that wait as one transaction.
type writer struct {
	dialect dialect
	log     *zap.Logger
	queue   chan *write
	// limit is for those in the queue.
	limit   *waitLimit
	gate    sync.RWMutex // read-locked while a closure is queued
	stopped bool
	ended   chan struct{}

	finished sync.Pool // of *write, for reuse

	// Of the writing goroutine alone.
	db    *sql.DB
	tx    *transaction
	under []*write // the batch that is being written; nil: the queue has ended

	commits, writes, roundTrips atomic.Int64
}

// newWriter starts a writer. A closure that waits in its queue for longer than turn fails.
func newWriter(d dialect, turn time.Duration, log *zap.Logger) (*writer, error) {
	w := &writer{dialect: d, log: log, queue: make(chan *write, queueLength), ended: make(chan struct{}),
		finished: sync.Pool{New: func() any { return &write{done: make(chan error, 1)} }}}
	ctx, cancel := d.bound(context.Background())
	defer cancel()
	if err := w.ensureConnected(ctx); err != nil {
		return nil, err
	}
	w.limit = newWaitLimit(turn)
	go w.serve()
	return w, nil
}

func (w *writer) enqueue(ctx context.Context, one *write) error {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.stopped {
		return fmt.Errorf("writing: %w: it is closed", ErrUnavailable)
	}
	select {
	case w.queue <- one: // with nothing else to look at this is quick
		return nil
	default:
	}
	select {
	case w.queue <- one:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-one.late:
		return errLate
	}
}

func (w *writer) close() error {
	w.gate.Lock()
	if !w.stopped {
		w.stopped = true
		close(w.queue)
	}
	w.gate.Unlock()
	<-w.ended
	return nil
}

func (w *writer) serve() {
	w.under = nil
	defer func() {
		w.disconnect()
		if w.under != nil { // a closure ended this goroutine (runtime.Goexit), as a test that fails in one does
			open := slices.DeleteFunc(w.under, func(one *write) bool { return one.state.Load() != taken })
			report(open, fmt.Errorf("writing: %w: a closure ended the goroutine of all", ErrUnavailable))
			go w.serve()
			return
		}
		w.limit.end()
		close(w.ended)
	}()
	batch := make([]*write, 0, maxBatch)
	for one := range w.queue {
		batch = append(batch[:0], one)
		batch = w.fill(batch)
		batch = slices.DeleteFunc(batch, func(one *write) bool { return !one.state.CompareAndSwap(waiting, taken) })
		// Elsewhere they run in order of arrival: ids then rise, and rows are appended to their tables, which costs
		// least.
		if w.dialect.shared() {
			slices.SortStableFunc(batch, func(a, b *write) int { return cmp.Compare(a.key, b.key) })
		}
		w.under = append(w.under[:0], batch...)
		w.commit(batch)
		w.under = w.under[:0]
	}
	w.under = nil
}

// fill adds the closures that wait, and those that are about to: it yields for as long as that brings more. On an idle
// machine this takes no time; on a busy one, requests that are nearly ready share a commit instead of each waiting for
// its own.
func (w *writer) fill(batch []*write) []*write {
	for last := 0; len(batch) > last && len(batch) < maxBatch; {
		last = len(batch)
		runtime.Gosched()
		batch = w.drain(batch)
	}
	return batch
}

// drain adds what waits in the queue.
func (w *writer) drain(batch []*write) []*write {
	for len(batch) < maxBatch {
		select {
		case one, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, one)
		default:
			return batch
		}
	}
	return batch
}

// mostFailing is after how many closures that failed the others of a batch each run alone.
const mostFailing = 4

// commit writes a batch, and reports the outcome to each of its closures. One that fails runs again alone, after the
// others: if it waited for a lock until the timeout, it does so again.
func (w *writer) commit(batch []*write) {
	ctx, cancel := w.dialect.bound(context.Background())
	defer cancel()
	var alone []*write
	for len(batch) > 0 {
		failed, err := w.run(ctx, batch)
		if failed == nil || len(batch) == 1 {
			report(batch, err)
			break
		}
		batch = slices.DeleteFunc(batch, func(one *write) bool { return one == failed })
		if alone = append(alone, failed); len(alone) == mostFailing {
			alone, batch = append(batch, alone...), nil
		}
	}
	for n := range alone {
		_, err := w.run(ctx, alone[n:n+1])
		report(alone[n:n+1], err)
	}
}

func report(batch []*write, err error) {
	for _, one := range batch {
		one.state.Store(reported)
		one.done <- err
	}
}

// run writes a batch, and returns the closure that failed. It retries a lost connection and a conflict, but never a
// COMMIT: after a lost connection its outcome is unknown.
func (w *writer) run(ctx context.Context, batch []*write) (failed *write, err error) {
	known := w.tx != nil
	res, failed, err := w.transaction(ctx, batch)
	// the server may have been restarted since, or have closed what was idle
	if res == lost && known && ctx.Err() == nil {
		res, failed, err = w.transaction(ctx, batch)
	}
	for tries := 1; res == faulty && len(batch) == 1 && tries < maxTries && w.dialect.conflict(err); tries++ {
		res, failed, err = w.transaction(ctx, batch)
	}
	return failed, err
}

// result is the outcome of a transaction.
type result int

const (
	ended  result = iota // it was committed, or its outcome is unknown, or there was none
	faulty               // a closure failed: the others run again
	lost                 // the connection was lost before COMMIT: nothing was written
)

// transaction runs the closures and commits. When one fails, it returns which.
func (w *writer) transaction(ctx context.Context, batch []*write) (res result, failed *write, err error) {
	if err := w.ensureConnected(ctx); err != nil {
		return ended, nil, fmt.Errorf("connecting: %w: %w", ErrUnavailable, err)
	}
	w.tx.begin(ctx)
	if failed, err = w.tx.write(batch); err == nil {
		if failed, err = w.tx.commit(); err == nil {
			w.commits.Add(1)
			w.writes.Add(int64(len(batch)))
			return ended, nil, nil
		}
		if failed == nil {
			w.log.Error("a commit failed; its writes were not acknowledged", zap.Error(err), zap.Int("writes", len(batch)))
			w.disconnect()
			return ended, nil, fmt.Errorf("committing: %w: %w", ErrUnavailable, err)
		}
	}
	if rollback := w.tx.rollback(); rollback == nil && w.tx.broken == nil {
		return faulty, failed, err
	}
	return w.lose(), nil, fmt.Errorf("writing: %w: %w", ErrUnavailable, err)
}

// lose disconnects. It reports lost when another connection may do better.
func (w *writer) lose() result {
	broken := w.tx.broken != nil
	w.disconnect()
	if broken {
		return lost
	}
	return ended
}

func (w *writer) ensureConnected(ctx context.Context) error {
	if w.tx != nil {
		return nil
	}
	if err := w.dialect.present(); err != nil {
		return err
	}
	db, err := w.dialect.connect(writing)
	if err != nil {
		return err
	}
	tx, err := newTransaction(ctx, w.dialect, db, &w.roundTrips)
	if err != nil {
		db.Close()
		return err
	}
	w.db, w.tx = db, tx
	return nil
}

// disconnect closes the connection; the next write opens another. After an I/O error SQLite's view of the file can't be
// trusted until it is opened again.
func (w *writer) disconnect() {
	if w.db == nil {
		return
	}
	w.tx.close()
	if err := w.db.Close(); err != nil {
		w.log.Warn("closing the writing connection failed", zap.Error(err))
	}
	w.db, w.tx = nil, nil
}

// Work counts what was written between two looks, and what waits to be.
type Work struct {
	Commits    int64 // transactions
	Writes     int64 // closures in them
	RoundTrips int64 // to a server
	Waiting    int   // closures, now
}

// Work returns what the database was given to write since it was last asked.
func (db *DB) Work() Work {
	w := db.writer
	return Work{w.commits.Swap(0), w.writes.Swap(0), w.roundTrips.Swap(0), len(w.queue)}
}
