package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	healthWriters = 256 // as many as a batch of the store takes
	healthWrites  = 40  // of each, a round
	healthRounds  = 5
)

// health measures what the hourly rows of integrations cost: how many deliveries a second a store writes with their
// attempts, counted and not, and nothing else. The two take turns, so that a machine that is busy is so for both. Of
// delivered/s, the microseconds that it adds to each cost as much as they are of a second, times delivered/s.
func (b *bench) health() error {
	folder, err := os.MkdirTemp("", "hiregate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	db, err := store.Open(context.Background(), "sqlite://"+filepath.Join(folder, "hiregate.db"), store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	took := map[bool]time.Duration{}
	for round := range 2 * healthRounds {
		counted := round%2 == 1
		one, err := deliveries(db, counted)
		if err != nil {
			return err
		}
		if round > 1 { // the first of each warms up
			took[counted] += one
		}
	}
	n := float64((healthRounds - 1) * healthWriters * healthWrites)
	return report("hourly rows", struct {
		Uncounted float64 `json:"deliveriesPerSecondUncounted"`
		Counted   float64 `json:"deliveriesPerSecondCounted"`
		Each      float64 `json:"microsecondsEach"` // that counting adds to a delivery
	}{n / took[false].Seconds(), n / took[true].Seconds(), 1e6 * (took[true] - took[false]).Seconds() / n})
}

// deliveries writes deliveries with their attempts, and returns how long that takes. Their exports are there before.
func deliveries(db *store.DB, counted bool) (time.Duration, error) {
	ctx, now := context.Background(), time.Now()
	exports := make([]*model.Export, healthWriters*healthWrites)
	err := db.Write(ctx, func(tx *store.Tx) error {
		for n := range exports {
			exports[n] = inbox.NewExport("acme", fmt.Sprint(now.UnixNano(), "-", n), []byte("{}"), now)
			if _, err := inbox.Insert(tx, exports[n]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	var group errgroup.Group
	for w := range healthWriters {
		group.Go(func() error {
			for _, e := range exports[w*healthWrites : (w+1)*healthWrites] {
				d := model.NewDelivery(e, "hris", 0, now)
				d.Attempted("", "")
				d.Deliver()
				err := db.Write(ctx, func(tx *store.Tx) error {
					if err := tx.UpsertDelivery(d); err != nil {
						return err
					}
					attempt := &model.Attempt{DeliveryID: d.ID, StartedAt: now, Duration: time.Millisecond, Status: 200}
					if counted {
						tx.CountAttempt(model.Place{Tenant: e.Tenant, Integration: "hris"}, e.ID, attempt)
					}
					return tx.InsertAttempt(attempt)
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return time.Since(began), err
}
