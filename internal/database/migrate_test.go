package database

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// A database that another version of hiregate made is refused before anything in it is changed, and it is said which
// one is older.
func TestTheDatabaseOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	const newer = "a newer hiregate wrote it: its schema is at step 99, and this version is older and knows 2; start the newer one"
	const older = "an older hiregate wrote it, from before the first release: its schema can't be brought up to date"
	now := fstest.MapFS{"00001_exports.sql": tables["00001_exports.sql"], "00002_more.sql": {Data: []byte(`-- +goose Up
CREATE TABLE more (id $ROWID);
`)}}
	for name, c := range map[string]struct {
		made   fstest.MapFS
		then   []string
		refuse string // empty: it is taken
	}{
		"new":                         {fstest.MapFS{}, nil, ""},
		"the same":                    {now, nil, ""},
		"a release before":            {tables, nil, ""},
		"newer":                       {now, []string{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)`}, newer},
		"with more steps, and older":  {now, []string{`DROP TABLE schema_steps`, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)`}, older},
		"with fewer steps, and older": {tables, []string{`DROP TABLE schema_steps`}, older},
		"with another first step":     {fstest.MapFS{"00001_exports.sql": {Data: []byte("-- +goose Up\nCREATE TABLE exports (id $ROWID);\n")}}, nil, older},
		"with a gap":                  {fstest.MapFS{"00001_exports.sql": tables["00001_exports.sql"], "00099_last.sql": now["00002_more.sql"]}, nil, older},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, address string) {
				d, err := parseAddress(address)
				require.NoError(t, err)
				db, err := d.connect(writing)
				require.NoError(t, err)
				defer db.Close()
				if len(c.made) > 0 {
					require.NoError(t, migrate(t.Context(), d, c.made, zap.NewNop()))
				}
				for _, statement := range c.then {
					_, err := db.ExecContext(t.Context(), statement)
					require.NoError(t, err)
				}
				require.NoError(t, db.Close())
				before := applied(t, d)
				for range 2 { // the first one holds on to nothing
					opened, err := Open(t.Context(), address, now, zap.NewNop())
					if c.refuse == "" {
						require.NoError(t, err)
						require.NoError(t, opened.Close())
						continue
					}
					require.ErrorContains(t, err, c.refuse)
					require.Equal(t, before, applied(t, d), "it was changed")
				}
			})
		})
	}
}

// applied counts the migrations that were made in a database.
func applied(t *testing.T, d dialect) (n int) {
	t.Helper()
	db, err := d.connect(reading)
	require.NoError(t, err)
	defer db.Close()
	var there bool
	require.NoError(t, db.QueryRowContext(t.Context(), d.tableExists(), "goose_db_version").Scan(&there))
	if !there {
		return 0
	}
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM goose_db_version`).Scan(&n))
	return n
}
