package access_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func write(t *testing.T, db *store.DB, fn func(*store.Tx) error) {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), fn))
}
