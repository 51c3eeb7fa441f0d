// Package tables has the databases of storetest begin with the tables of the store: making them takes longer than most
// tests. storetest can't import the store, since the tests within the store's package use it.
package tables

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

func init() {
	storetest.Tables = func(address string) error {
		db, err := store.Open(context.Background(), address, store.Options{})
		if err != nil {
			return err
		}
		return db.Close()
	}
}

// Each runs a test on each database, with a store that is closed at its end.
func Each(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		test(t, db)
	})
}
