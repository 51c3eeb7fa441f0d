package relay

import (
	"context"
	"time"
)

const (
	readAgain = time.Minute      // after which is read again what could not be read
	readTime  = 15 * time.Second // of one reading
)

// renewed has something of a service read, unless what is stored of it was read a moment ago or could not be. It waits for
// patience where it was never read, and reports whether it was read meanwhile. Otherwise nobody waits.
func (r *Relay) renewed(ctx context.Context, what string, at time.Time, freshFor, patience time.Duration,
	read func(context.Context) error) bool {
	now := r.Now()
	if failed, ok := r.unread.Load(what); now.Sub(at) < freshFor || ok && now.Sub(failed.(time.Time)) < readAgain {
		return false
	}
	done := r.reading.DoChan("\x00"+what, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
		defer cancel()
		err := read(ctx)
		if err != nil {
			r.unread.Store(what, r.Now())
		} else {
			r.unread.Delete(what)
		}
		return nil, err
	})
	if !at.IsZero() {
		return false
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case got := <-done:
		return got.Err == nil
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}
