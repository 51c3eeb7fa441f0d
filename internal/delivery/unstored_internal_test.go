package delivery

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// The store works, and refuses one outcome for good: that is tried again about every 15 seconds until the store is closed.
func TestOutcomeThatTheStoreRefusesIsNotTriedWithoutAPause(t *testing.T) {
	t.Parallel()
	address := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		a := &Attempter{Store: db, Now: time.Now, Log: zap.NewNop()}
		tries, kept := 0, make(chan error, 1)
		go func() {
			kept <- a.keep(t.Context(), &model.Delivery{ExportID: 1, Tenant: "acme", Integration: "hris"}, func(context.Context) error {
				if tries++; tries > 1000 {
					return store.ErrNotFound // so that the loop ends
				}
				return errors.New("refused")
			})
		}()
		time.Sleep(time.Hour)
		require.NoError(t, db.Close())
		require.ErrorIs(t, <-kept, errStoreClosed)
		require.Greater(t, tries, 200)
		require.Less(t, tries, 400)
	})
}
