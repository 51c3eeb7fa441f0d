package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

const (
	// storeLimit bounds one try to store the outcome of an attempt.
	storeLimit = 15 * time.Second
	// storeSoon and storeLate are how long after the first try the second comes, and the longest time between two.
	storeSoon = 250 * time.Millisecond
	storeLate = 15 * time.Second
	// storeAwayMost is the longest time that a delivery waits because outcomes can't be stored.
	storeAwayMost = 30 * time.Second
)

// StoreUnavailable is the fixed word for what waits for the store.
const StoreUnavailable = "store_unavailable"

// unstored has the attempts whose outcome waits to be stored. What was sent is stored before it is sent again, and
// while outcomes can't be stored no attempt begins: a partner would get each export again and again. The zero value is
// ready.
type unstored struct {
	mu      sync.Mutex
	waiting map[ID]bool
	since   time.Time     // of the first write that failed; zero: the last one succeeded
	stored  chan struct{} // closed once one succeeds
}

// ID identifies a delivery, also one that is not stored yet.
type ID struct {
	Export      int64
	Integration string
	Round       int
}

// Earlier orders deliveries by when their exports came.
func (of ID) Earlier(other ID) int {
	return cmp.Or(cmp.Compare(of.Export, other.Export), cmp.Compare(of.Round, other.Round), cmp.Compare(of.Integration, other.Integration))
}

// IDOf returns the ID of a delivery.
func IDOf(d *model.Delivery) ID { return ID{d.ExportID, d.Integration, d.Round} }

// closed reports whether no attempt may begin now: outcomes can't be stored, or there are too many that wait for it.
func (u *unstored) closed() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.since.IsZero() || len(u.waiting) >= AttemptsAtOnce
}

// none reports whether no outcome waits to be stored.
func (u *unstored) none() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.since.IsZero() && len(u.waiting) == 0
}

// delay is for how long no attempt begins, the longer the store is away; 0: one may.
func (u *unstored) delay(now time.Time) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case !u.since.IsZero():
		return wait.Jittered(min(max(now.Sub(u.since)/2, GateDelay), storeAwayMost))
	case len(u.waiting) >= AttemptsAtOnce:
		return wait.Jittered(GateDelay)
	}
	return 0
}

// failed notes that a write failed, and returns what closes when another succeeds. first: none had failed before.
func (u *unstored) failed(of ID, now time.Time) (stored <-chan struct{}, first bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.waiting == nil {
		u.waiting = map[ID]bool{}
	}
	u.waiting[of] = true
	if first = u.since.IsZero(); first {
		u.since, u.stored = now, make(chan struct{})
	}
	return u.stored, first
}

// succeeded notes that a write succeeded, and reports whether one had failed before.
func (u *unstored) succeeded() (failed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since.IsZero() {
		return false
	}
	u.since = time.Time{}
	close(u.stored)
	return true
}

func (u *unstored) forget(of ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.waiting, of)
}

// keep stores the outcome of an attempt, and tries until it is stored: beyond the end of its activity, which Temporal
// may run again meanwhile, and until the store is closed. The error says that there is nothing to store it in.
func (a *Attempter) keep(ctx context.Context, d *model.Delivery, write func(context.Context) error) error {
	id := IDOf(d)
	defer a.unstored.forget(id)
	told := false
	for delay := storeSoon; ; delay = min(2*delay, storeLate) {
		err := a.tryStore(ctx, write)
		if err == nil {
			a.storable()
			return nil
		}
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, errStoreClosed) {
			return err
		}
		stored, first := a.unstored.failed(id, a.Now())
		about := []zap.Field{zap.String("tenant", d.Tenant), zap.String("integration", d.Integration),
			zap.Int64("export", d.ExportID), zap.Error(err)}
		if first {
			a.Log.Warn("the outcome of an attempt could not be stored; it is tried again, and no attempt begins before "+
				"the store can be written", about...)
		} else {
			a.Log.Debug("the outcome of an attempt could still not be stored", about...)
		}
		// The store may refuse this outcome alone: that keeps no other delivery waiting.
		if delay == storeLate && a.tryStore(ctx, a.Store.Ping) == nil {
			if !told {
				a.Log.Error("the store refuses the outcome of an attempt; it is tried again until the gateway stops, "+
					"and the export is not sent again before", about...)
			}
			told = true
			a.storable()
			stored = nil // that has just closed it: this outcome waits for its next try all the same
		}
		select {
		case <-stored:
		case <-time.After(wait.Jittered(delay)):
		}
	}
}

var errStoreClosed = fmt.Errorf("%w: it is closed", store.ErrUnavailable)

// tryStore writes once, while the store is open. What was done must be known, even when the activity is being
// cancelled.
func (a *Attempter) tryStore(ctx context.Context, write func(context.Context) error) error {
	release, ok := a.Store.Acquire()
	if !ok {
		return errStoreClosed
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	return write(ctx)
}

// storable notes that the store can be written.
func (a *Attempter) storable() {
	if a.unstored.succeeded() {
		a.Log.Info("outcomes of attempts can be stored again")
	}
}
