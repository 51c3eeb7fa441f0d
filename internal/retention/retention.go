// Package retention removes what is held of candidates: what exports hold, and job applications, once they were kept for as
// long as the configuration says, and whatever somebody asks to be erased.
package retention

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	day = 24 * time.Hour
	// shortest is for how long an export is tried and its documents can be downloaded, if nobody asks for more.
	shortest = model.LinkWindow
	// shortestRows is for how long counts are shown, and the exports behind them.
	shortestRows = store.HealthKept
	longest      = 36_500 * day

	// erasedListed is for how long lists have the ids of erased job applications.
	erasedListed = 90 * day

	// eventsKept is for how long a system that was away may read what changed.
	eventsKept = 30 * day

	// DefaultRows is for how long rows are kept by default, or for as long as content, if that is longer.
	DefaultRows = 400 * day
	// Forever is written for rows that are never deleted.
	Forever = "forever"

	begin = time.Minute // after the start, when a configuration is in force
	every = time.Hour
)

// Parse reads for how long content is kept: a number of days, such as 90d, 4 at least, and a hundred years at most.
func Parse(written string) (time.Duration, error) {
	if kept, ok := parseDays(written); ok && kept >= shortest {
		return kept, nil
	}
	return 0, fmt.Errorf("retention %q: give a number of days, %d at least, since exports are tried and their "+
		"documents offered for that long: write, for example, `retention 90d`",
		written, shortest/day)
}

// ParseRows reads for how long rows are kept: a number of days, such as 400d, or forever, which is 0. Empty stands for
// the default. content is for how long their content is kept, 0: as long as they.
func ParseRows(written string, content time.Duration) (time.Duration, error) {
	switch kept, ok := parseDays(written); {
	case written == "":
		return max(DefaultRows, content), nil
	case written == Forever:
		return 0, nil
	case !ok || kept < shortestRows:
		return 0, fmt.Errorf("retention: rows %q: give a number of days, %d at least, for which counts are shown as "+
			"well, or forever: write, for example, `rows 400d`", written, shortestRows/day)
	case kept < content:
		return 0, fmt.Errorf("retention: rows %s is shorter than the %dd for which content is kept: write `rows %[2]dd` or "+
			"more, or keep content for a shorter time", written, content/day)
	default:
		return kept, nil
	}
}

func parseDays(written string) (time.Duration, bool) {
	number, days := strings.CutSuffix(written, "d")
	n, err := strconv.Atoi(number)
	return time.Duration(n) * day, days && err == nil && n <= int(longest/day)
}

// Retention erases the content of exports, and deletes rows.
type Retention struct {
	Store   *store.DB
	InForce *config.InForce
	Now     func() time.Time
	Log     *zap.Logger
	Archive *documents.Archive // removes the files of what is erased on request; nil: the sweep does
	List    *erasure.List      // what is erased on request is entered there; nil: there is no list
}

// Loop erases and deletes what is due, each hour.
func (r *Retention) Loop() loop.Loop {
	return loop.Loop{Name: "retention", First: begin, Every: every, Round: r.remove,
		Failed: "some old rows could not be removed; it is tried again in an hour"}
}

// OldLoop deletes what DeleteOld does, each hour, and nothing else: for a gateway that has no exports.
func (r *Retention) OldLoop() loop.Loop {
	return loop.Loop{Name: "retention", First: begin, Every: every, Failed: "some old rows could not be removed; it is tried again in an hour",
		Round: func(ctx context.Context) error { _, err := r.DeleteOld(ctx); return err }}
}

func (r *Retention) remove(ctx context.Context) error {
	var failed []error
	for _, one := range []struct {
		what   string
		remove func(context.Context) (int, error)
	}{{"content of exports", r.Erase}, {"exports", r.DeleteExports}, {"job applications", r.EraseApplications}, {"counts, sessions, audit", r.DeleteOld}} {
		n, err := one.remove(ctx)
		if n > 0 {
			r.Log.Info("old rows removed, as retention says", zap.String("what", one.what), zap.Int("count", n))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", one.what, err))
		}
	}
	return errors.Join(failed...)
}

// Erase erases the content of all exports that nothing was done with for as long as the configuration in force says,
// the oldest first, and returns how many. It skips an export that can't be erased; the error is that of the first.
func (r *Retention) Erase(ctx context.Context) (erased int, err error) {
	return r.walk(ctx, &removal{what: "content", kept: func(c *config.Config) time.Duration { return c.Retention },
		list: r.Store.ListErasable, end: (*store.Tx).Erase, ended: metrics.Erased})
}

// DeleteExports is Erase for the rows of exports.
func (r *Retention) DeleteExports(ctx context.Context) (deleted int, err error) {
	return r.walk(ctx, &removal{what: "rows", kept: func(c *config.Config) time.Duration { return c.RetentionRows },
		list: r.Store.ListDeletable, end: (*store.Tx).DeleteExports, ended: metrics.Deleted})
}

// DeleteOld deletes the other rows that end by themselves, hundreds at a time, and returns how many: the counts of
// attempts, of requests, of what waited and of refused answers and the ids of erased job applications after 90 days, events
// after 30, the sessions of the console that have ended, and, as the configuration in force says, the entries of the audit
// and the redeliveries of ranges.
func (r *Retention) DeleteOld(ctx context.Context) (deleted int, err error) {
	c, now := r.InForce.Current(), r.Now()
	counted := now.Add(-store.HealthKept)
	all := []func(*store.Tx) (int64, error){
		func(tx *store.Tx) (int64, error) { return tx.DeleteHours(counted) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteQuarters(counted) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteRefusedAnswers(counted) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteRemarks(now) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteExpiredConsoleSessions(now, 500) },
		func(tx *store.Tx) (int64, error) { return tx.ForgetErased(now.Add(-erasedListed)) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteEvents(now.Add(-eventsKept)) },
	}
	if c != nil && c.RetentionRows > 0 {
		kept := now.Add(-c.RetentionRows)
		all = append(all, func(tx *store.Tx) (int64, error) { return tx.DeleteAudit(kept) },
			func(tx *store.Tx) (int64, error) { return tx.DeleteRedeliveries(kept) })
	}
	for _, some := range all {
		for n := int64(1); n > 0; deleted += int(n) {
			err := r.Store.Write(ctx, func(tx *store.Tx) (err error) {
				n, err = some(tx)
				return err
			})
			if err != nil {
				return deleted, err
			}
		}
	}
	return deleted, nil
}
