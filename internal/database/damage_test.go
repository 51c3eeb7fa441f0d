package database

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// The first error that says that the database is damaged is noted, and reading all of it confirms that.
func TestDamageIsNoted(t *testing.T) {
	t.Parallel()
	db := empty(t)
	require.NoError(t, db.Examine(t.Context(), time.Now()))
	require.Zero(t, db.Damage())
	mend := storetest.Damage(t, db.String(), "exports")
	require.Zero(t, db.Damage(), "nobody read it")
	began := time.Now()
	_, err := db.version(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	noted := db.Damage()
	require.False(t, noted.Since.Before(began))
	require.Contains(t, noted.Reason, "malformed")
	require.False(t, noted.Confirmed)
	require.Error(t, db.Write(t.Context(), "", touch))
	require.Equal(t, noted, db.Damage(), "of the first error")

	require.NoError(t, db.Examine(t.Context(), time.Now()))
	require.True(t, db.Damage().Confirmed)
	mend()
	require.NoError(t, db.Examine(t.Context(), time.Now()))
	require.True(t, db.Damage().Confirmed, "it is not read all the time")
	later := time.Now().Add(examineEvery)
	require.NoError(t, db.Examine(t.Context(), later))
	require.Zero(t, db.Damage(), "it is whole, and an hour has gone by")
}

// What could not be read once, and is whole on the disk, is told for an hour.
func TestDamageThatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	db := empty(t)
	mend := storetest.Damage(t, db.String(), "exports")
	_, err := db.version(t.Context())
	require.Error(t, err)
	mend()
	for _, after := range []time.Duration{0, examineEvery - time.Minute} {
		require.NoError(t, db.Examine(t.Context(), time.Now().Add(after)))
		require.False(t, db.Damage().Since.IsZero())
		require.False(t, db.Damage().Confirmed)
	}
	require.NoError(t, db.Examine(t.Context(), time.Now().Add(examineEvery)))
	require.Zero(t, db.Damage())
}

func TestDamageOfPostgreSQL(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"XX001": true, "XX002": true, "XX000": false, "57P01": false} {
		require.Equal(t, want, new(postgres).damaged(fmt.Errorf("reading: %w", &pgconn.PgError{Code: code})), code)
	}
}
