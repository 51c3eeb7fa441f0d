package documents

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// unreadableFor is for how long a document is named that could not be read.
const unreadableFor = 24 * time.Hour

// unreadable has the documents whose last download found that they can't be read. The zero value is ready.
type unreadable struct {
	mu sync.Mutex
	of map[int64]damagedDocument
}

type damagedDocument struct {
	tenant        string
	since, latest time.Time
}

// NoteUnreadable notes that a document can't be read. The log says so once, however often the document is asked for.
func (a *Archive) NoteUnreadable(d *model.Document, err error) {
	if !a.unreadable.add(d, a.Now()) {
		return
	}
	metrics.DocumentUnreadable(d.Tenant)
	a.Log.Error("a stored document can't be read: restore the document store, or the database, from a backup",
		zap.String("tenant", d.Tenant), zap.Int64("document", d.ID), zap.Error(err))
}

// NoteRead notes that all of a document was read.
func (a *Archive) NoteRead(d *model.Document) {
	a.unreadable.mu.Lock()
	defer a.unreadable.mu.Unlock()
	delete(a.unreadable.of, d.ID)
}

// CountUnreadable counts the documents of each tenant that could not be read when this process was asked for them, in the
// last day.
func (a *Archive) CountUnreadable() map[string]store.Counted {
	a.unreadable.mu.Lock()
	defer a.unreadable.mu.Unlock()
	a.unreadable.prune(a.Now())
	counts := map[string]store.Counted{}
	for _, one := range a.unreadable.of {
		c := counts[one.tenant]
		if c.Count++; c.Since.IsZero() || one.since.Before(c.Since) {
			c.Since = one.since
		}
		counts[one.tenant] = c
	}
	return counts
}

// add reports whether the document was not known to be unreadable.
func (u *unreadable) add(d *model.Document, now time.Time) (first bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.prune(now)
	one, known := u.of[d.ID]
	if !known {
		one = damagedDocument{tenant: d.Tenant, since: now}
	}
	one.latest = now
	if u.of == nil {
		u.of = map[int64]damagedDocument{}
	}
	u.of[d.ID] = one
	return !known
}

func (u *unreadable) prune(now time.Time) {
	for id, one := range u.of {
		if now.Sub(one.latest) > unreadableFor {
			delete(u.of, id)
		}
	}
}
