package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Trial describes a database that Open could use.
type Trial struct {
	Server string        // such as "PostgreSQL 15.4"
	New    bool          // it has no tables of ours yet
	Ahead  time.Duration // of our clock before the server's; 0 where both are one
	// Unsafe is a setting of the server with which a power cut loses what it committed; empty: there is none.
	Unsafe string
}

// Try reports whether Open could use the database at an address, and make and change its tables. It leaves nothing
// there, waits for no server, and may be called while gateways use the database. Its error says what to do.
func Try(ctx context.Context, address string, files fs.FS) (Trial, error) {
	d, err := parseAddress(address)
	if err != nil {
		return Trial{}, err
	}
	known, err := readSteps(files)
	if err != nil {
		return Trial{}, err
	}
	return d.try(ctx, known)
}

func (p *postgres) try(ctx context.Context, known steps) (t Trial, err error) {
	if err := p.look(ctx); err != nil {
		if unreachable(err) && !errors.Is(err, errUnfit) {
			return t, p.absent(err, "")
		}
		return t, p.explainConnection(err)
	}
	db, err := p.connect(writing)
	if err != nil {
		return t, err
	}
	defer db.Close()
	if err := known.check(ctx, p, db); err != nil {
		return t, opening(p, "checking", err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return t, opening(p, "trying", err)
	}
	defer tx.Rollback()
	var micros int64
	var sync string
	var foreign int
	began := time.Now()
	if err := tx.QueryRowContext(ctx, `SELECT 'PostgreSQL ' || current_setting('server_version'), current_setting('fsync'),
		to_regclass('exports') IS NULL, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT`).
		Scan(&t.Server, &sync, &t.New, &micros); err != nil {
		return t, opening(p, "trying", err)
	}
	ended := time.Now()
	t.Ahead = began.Add(ended.Sub(began) / 2).Sub(time.UnixMicro(micros))
	if sync == "off" {
		t.Unsafe = "fsync is off: set it to on"
	}
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM pg_class WHERE oid IN (to_regclass('exports'),
		to_regclass('goose_db_version')) AND NOT pg_has_role(relowner, 'USAGE')`).Scan(&foreign); err != nil {
		return t, opening(p, "trying", err)
	}
	if foreign > 0 {
		return t, opening(p, "trying", &pgconn.PgError{Severity: "ERROR", Code: noPrivilege, Message: "the tables belong to another user"})
	}
	for _, statement := range []string{`CREATE TABLE hiregate_trial (id BIGINT)`, `CREATE TEMPORARY TABLE hiregate_trial_room (id BIGINT)`} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return t, opening(p, "trying", err)
		}
	}
	return t, nil
}

func (s sqlite) try(ctx context.Context, known steps) (t Trial, err error) {
	_, missing := os.Stat(s.path)
	beside, err := os.CreateTemp(filepath.Dir(s.path), ".hiregate-trial-") // as the log and the lock of a database are
	if err != nil {
		return t, fmt.Errorf("nothing can be written beside the database %s: make its folder, writable for the user of the gateway: %w",
			s.path, err)
	}
	if err := errors.Join(beside.Close(), os.Remove(beside.Name())); err != nil {
		return t, err
	}
	if errors.Is(missing, fs.ErrNotExist) {
		t.Server, t.New = "SQLite", true
		return t, nil
	}
	if err := checkFiles(s.path); err != nil {
		return t, err
	}
	db := sql.OpenDB(&sqliteConnector{sqliteFile(s.path) + "?mode=rw", "PRAGMA busy_timeout = 5000"})
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := known.check(ctx, s, db); err != nil {
		return t, opening(s, "checking", err)
	}
	if err := db.QueryRowContext(ctx, `SELECT 'SQLite ' || sqlite_version()`).Scan(&t.Server); err != nil {
		return t, opening(s, "trying", err)
	}
	for _, statement := range []string{`BEGIN IMMEDIATE`, `CREATE TABLE hiregate_trial (n INTEGER)`, `ROLLBACK`} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return t, opening(s, "trying", err)
		}
	}
	return t, nil
}
