package documents

import (
	"context"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	watchEvery = 10 * time.Second
	logEvery   = time.Minute
	// remoteEvery is after how many of these checks a bucket is checked that could be written: requests cost money.
	remoteEvery = 30
)

// Watch checks every ten seconds, until ctx ends, whether documents can be stored (a bucket that could be written every
// five minutes), and counts those that are still to be fetched. The results go to the metrics and to Storable.
func (a *Archive) Watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%remoteEvery == 0 || !a.Files.remote() || a.unstorable.Load() != nil {
			a.check()
		}
		if err := a.countUnfetched(ctx); err != nil && ctx.Err() == nil {
			a.Log.Warn("pending documents could not be counted; their metric keeps its last value",
				zap.Error(err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// check looks whether a document could be stored, and how much space is free.
func (a *Archive) check() {
	a.NoteStorable(a.Files.Check())
	if free, err := a.Files.Free(); err == nil {
		metrics.DocumentsFree(free)
	} else {
		metrics.DocumentsFreeUnknown()
	}
}

// NoteStorable notes whether a document could be stored: nil, or why not.
func (a *Archive) NoteStorable(err error) {
	before := a.unstorable.Load()
	switch {
	case err != nil && before == nil:
		a.unstorable.Store(&fault{err, a.Now()})
		a.Log.Error("documents can't be stored: they are fetched again until their URLs end, and then lost",
			zap.Error(err))
	case err == nil && before != nil:
		a.unstorable.Store(nil)
		a.Log.Info("documents can be stored again")
	}
}

// fault is why no document could be stored, since a time.
type fault struct {
	error
	since time.Time
}

func (a *Archive) countUnfetched(ctx context.Context) error {
	n, till, err := a.Store.CountUnfetched(ctx)
	if err != nil {
		return err
	}
	left := model.DocumentWindow
	if n > 0 {
		left = till.Sub(a.Now())
	}
	metrics.DocumentsUnfetched(n, left)
	return nil
}

// Storable returns the reason why no document could be stored at the last check, which was at most ten seconds ago, or five
// minutes if it is a bucket's, and since when that is so; nil: one could.
func (a *Archive) Storable() (since time.Time, err error) {
	if f := a.unstorable.Load(); f != nil {
		return f.since, f.error
	}
	return time.Time{}, nil
}

// unstored logs the documents that could not be stored, once a minute for each tenant.
type unstored struct {
	mu sync.Mutex
	of map[string]*failures
}

type failures struct {
	logged time.Time
	since  int // since the last log line
}

// count counts a document of a tenant that could not be stored. If it is time to log, it returns the number since the
// last log line.
func (u *unstored) count(tenant string, now time.Time) (n int, due bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f, ok := u.of[tenant]
	if !ok {
		maps.DeleteFunc(u.of, func(_ string, f *failures) bool { return now.Sub(f.logged) >= logEvery && f.since == 0 })
		if u.of == nil {
			u.of = map[string]*failures{}
		}
		f = new(failures)
		u.of[tenant] = f
	}
	f.since++
	if ok && now.Sub(f.logged) < logEvery {
		return 0, false
	}
	n, f.logged, f.since = f.since, now, 0
	return n, true
}
