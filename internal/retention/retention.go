// Package retention removes what exports hold of candidates, once it was kept for as long as the configuration says.
package retention

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

const (
	day = 24 * time.Hour
	// shortest is for how long an export is tried and its documents can be downloaded, if nobody asks for more.
	shortest = model.LinkWindow
	longest  = 36_500 * day

	begin = time.Minute // after the start, when a configuration is in force
	every = time.Hour
)

// Parse reads a number of days, such as 90d: 4 at least, and a hundred years at most.
func Parse(written string) (time.Duration, error) {
	number, days := strings.CutSuffix(written, "d")
	n, err := strconv.Atoi(number)
	if kept := time.Duration(n) * day; days && err == nil && n <= int(longest/day) && kept >= shortest {
		return kept, nil
	}
	return 0, fmt.Errorf("retention %q: give a number of days, %d at least, since exports are tried and their "+
		"documents offered for that long: write, for example, `retention 90d`",
		written, shortest/day)
}

// Retention erases the content of exports.
type Retention struct {
	Store   *store.DB
	InForce *config.InForce
	Now     func() time.Time
	Log     *zap.Logger
}

// Run erases and deletes what is due each hour, until ctx ends.
func (r *Retention) Run(ctx context.Context) {
	for gap := begin; wait.For(ctx, gap); gap = every {
		erased, err := r.Erase(ctx)
		if erased > 0 {
			r.Log.Info("the content of exports was erased, as retention says",
				zap.Int("exports", erased))
		}
		if err != nil && ctx.Err() == nil {
			r.Log.Warn("the content of some exports could not be erased; it is tried again in an hour",
				zap.Error(err))
		}
		if err := r.DeleteHours(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("old hourly counts could not be deleted; it is tried again in an hour", zap.Error(err))
		}
		if err := r.DeleteSessions(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("ended sessions of the console could not be deleted; it is tried again in an hour", zap.Error(err))
		}
	}
}

// DeleteHours deletes the counts of attempts, of what waited, and of refused answers that are older than 90 days.
func (r *Retention) DeleteHours(ctx context.Context) error {
	for deleted := int64(1); deleted > 0; {
		err := r.Store.Write(ctx, func(tx *store.Tx) (err error) {
			before := r.Now().Add(-store.HealthKept)
			deleted, err = tx.DeleteHours(before)
			if err != nil || deleted > 0 {
				return err
			}
			deleted, err = tx.DeleteQuarters(before)
			if err != nil || deleted > 0 {
				return err
			}
			deleted, err = tx.DeleteRefusedAnswers(before)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteSessions deletes the sessions of the console that have ended.
func (r *Retention) DeleteSessions(ctx context.Context) error {
	for deleted := int64(1); deleted > 0; {
		err := r.Store.Write(ctx, func(tx *store.Tx) (err error) {
			deleted, err = tx.DeleteExpiredConsoleSessions(r.Now(), 500)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Erase erases the content of all exports that nothing was done with for as long as the configuration in force says,
// the oldest first, and returns how many. It skips an export that can't be erased; the error is that of the first.
func (r *Retention) Erase(ctx context.Context) (erased int, err error) {
	return r.walk(ctx, &removal{what: "content", kept: func(c *config.Config) time.Duration { return c.Retention },
		list: r.Store.ListErasable, end: (*store.Tx).Erase, ended: metrics.Erased})
}
