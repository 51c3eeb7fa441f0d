package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"syscall"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
	schema "go.temporal.io/server/schema/sqlite"
)

// newDatabase configures SQLite in file. In WAL mode with synchronous NORMAL a killed process loses nothing; a
// machine that loses power may lose the last moments, never the file.
func newDatabase(file string) *config.SQL {
	return &config.SQL{
		PluginName:   sqlite.PluginName,
		DatabaseName: (&url.URL{Path: file}).EscapedPath(), // it becomes part of a URI
		// One connection, shared by all services: SQLite has one writer, and the server does not expect to be told
		// that the database is locked.
		MaxConns: 1,
		ConnectAttributes: map[string]string{
			"mode":         "rwc",
			"journal_mode": "wal",
			"synchronous":  "normal",
			"busy_timeout": "5000",
			"cache_size":   "-32768",
			"temp_store":   "memory",
		},
	}
}

// create makes the database's file, unless it is there, for its owner alone: SQLite would leave that to the umask.
// What SQLite puts beside it gets the same mode.
func create(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("can't write the database, choose another file with --db: %w", err)
	}
	return f.Close()
}

// createSchema creates the tables in a database that has none, all of them or none.
func createSchema(cfg *config.Config) (err error) {
	c := cfg.Persistence.DataStores[sqlite.PluginName].SQL
	db, err := sql.NewSQLAdminDB(sqlplugin.DbKindMain, c, resolver.NewNoopResolver(), log.NewNoopLogger(),
		metrics.NoopMetricsHandler)
	if err != nil {
		return fmt.Errorf("open the database %s: %w", c.DatabaseName, err)
	}
	defer db.Close()

	tables, err := db.ListTables(c.DatabaseName)
	switch {
	case err != nil:
		return fmt.Errorf("read the database %s: %w", c.DatabaseName, err)
	case slices.Contains(tables, "executions_visibility"):
		return nil
	case len(tables) > 0:
		return fmt.Errorf("%s is an SQLite database of another program; choose another file with --db", c.DatabaseName)
	}

	// With one connection a transaction can be spelled out around statements that know nothing of it.
	if err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("create the tables in %s: %w", c.DatabaseName, err)
	}
	if err := schema.SetupSchemaOnDB(db); err != nil {
		return errors.Join(fmt.Errorf("create the tables in %s: %w", c.DatabaseName, err), db.Exec("ROLLBACK"))
	}
	if err := db.Exec("COMMIT"); err != nil {
		return fmt.Errorf("create the tables in %s: %w", c.DatabaseName, err)
	}
	return nil
}

// lock keeps a second server off the same file, because both would believe that they own every workflow in it. The
// kernel drops the lock with the process, however it ends.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("can't write next to the database, create its folder or choose another file with --db: %w",
			err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s is in use by another temporal-dev; stop it or choose another file with --db", file)
	}
	return func() { f.Close() }, nil
}
