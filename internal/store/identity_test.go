package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

func TestADatabaseHasAnID(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		none, err := store.PeekID(t.Context(), address)
		require.NoError(t, err)
		require.Empty(t, none)
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		id, err := db.ID(t.Context())
		require.NoError(t, err)
		require.NoError(t, uuid.Validate(id))
		again, err := db.ID(t.Context())
		require.NoError(t, err)
		peeked, err := store.PeekID(t.Context(), address) // while it is open
		require.NoError(t, err)
		require.Equal(t, []string{id, id}, []string{again, peeked})
		require.NoError(t, db.Close())
		peeked, err = store.PeekID(t.Context(), address)
		require.NoError(t, err)
		require.Equal(t, id, peeked)
	})
}

func TestADatabaseThatIsNotThereHasNoID(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"sqlite://" + t.TempDir() + "/none.db", storetest.EmptyPostgres(t)} {
		id, err := store.PeekID(t.Context(), address)
		require.NoError(t, err)
		require.Empty(t, id)
	}
}
