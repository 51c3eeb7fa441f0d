package gateway

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// Somebody enables an integration while somebody else removes it, or gives it another address.
func TestEnableOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []model.IntegrationState{model.Removed, model.Configured} {
		db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		former := model.Integration{Row: model.Row{Version: 1}, Tenant: "acme", Name: "hris",
			URL: "https://hr.example/former", Secret: "s"}
		next := former
		if meanwhile == model.Configured {
			next.URL = "https://hr.example/next"
		}
		put := func(tx *store.Tx, i *model.Integration, s model.IntegrationState) error {
			return tx.UpsertIntegrationStatus(i, store.IntegrationStatus{State: s, UpdatedAt: time.Now()})
		}
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return put(tx, &former, model.Disabled) }))

		_, err = db.IntegrationStatus(t.Context(), &former) // SQLite opens no connection while a transaction is held open
		require.NoError(t, err)

		begun, changed := make(chan struct{}), make(chan error, 1)
		read := make(chan struct{})
		readOnce := sync.OnceFunc(func() { close(read) })
		// asked for the time of its write
		r := &Runtime{database: &Database{db: db}, log: zap.NewNop(), now: func() time.Time { readOnce(); return time.Now() }}
		go func() {
			changed <- db.Write(t.Context(), func(tx *store.Tx) error {
				close(begun)
				<-read
				return put(tx, &next, meanwhile)
			})
		}()
		<-begun
		_, err = r.Enable(t.Context(), &former)
		readOnce() // at the latest
		if meanwhile == model.Removed {
			require.ErrorIs(t, err, store.ErrNotFound)
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, <-changed)
		status, err := db.IntegrationStatus(t.Context(), &next)
		require.NoError(t, err)
		require.Equal(t, meanwhile, status.State)
	}
}
