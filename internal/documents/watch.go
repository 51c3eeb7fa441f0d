package documents

import (
	"context"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	watchEvery = 10 * time.Second
	sweepEvery = 15 * time.Minute
	logEvery   = time.Minute
	// remoteEvery is after how many of these checks a bucket is checked that could be written: requests cost money.
	remoteEvery = 30
)

// Loops check every ten seconds whether documents can be stored (a bucket that could be written every five
// minutes) and count those that are still to be fetched, for the metrics and Storable; and remove the files of
// uploads that failed.
func (a *Archive) Loops() []loop.Loop {
	n := 0
	return []loop.Loop{
		{Name: "documents", First: loop.AtOnce, Every: watchEvery, Round: func(ctx context.Context) error {
			if n%remoteEvery == 0 || !a.Files.remote() || a.unstorable.Load() != nil {
				a.check()
			}
			n++
			return a.countUnfetched(ctx)
		}, Failed: "pending documents could not be counted; their metric keeps its last value"},
		{Name: "uploads", First: loop.AtOnce, Every: sweepEvery, Round: func(ctx context.Context) error {
			return a.Sweep(ctx, a.Now().Add(-UploadTime))
		}, Failed: "files of abandoned uploads could not be removed"},
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
	n, late, till, err := a.Store.CountUnfetched(ctx)
	if err != nil {
		return err
	}
	left := model.DocumentWindow
	if n > 0 {
		left = till.Sub(a.Now())
	}
	metrics.DocumentsUnfetched(n, late, left)
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
