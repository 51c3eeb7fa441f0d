package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// steps are the migrations of a schema: a digest of each by its number.
type steps map[int64]string

// Each migration notes itself in this table, in its own transaction. goose's table has only the numbers, and those of a
// version from before the first release mean other migrations.
const stepsTable = "schema_steps"

var fileOfStep = regexp.MustCompile(`^([0-9]+)_[^/]*\.sql$`)

// readSteps reads the migrations that this version knows.
func readSteps(files fs.FS) (steps, error) {
	names, err := fs.Glob(files, "*.sql")
	known := steps{}
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		if number, ok := numberOfStep(name); ok {
			known[number] = digest(string(raw))
		}
	}
	return known, err
}

func numberOfStep(name string) (int64, bool) {
	found := fileOfStep.FindStringSubmatch(name)
	if found == nil {
		return 0, false
	}
	number, err := strconv.ParseInt(found[1], 10, 64)
	return number, err == nil
}

// digest identifies a migration, without its comments and blanks.
func digest(text string) string {
	var said strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "--")
		said.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(said.String()), " ")))
	return hex.EncodeToString(sum[:8])
}

// noted is the text of a migration that notes itself.
func noted(name, text string) string {
	const up = "-- +goose Up\n"
	number, ok := numberOfStep(name)
	if !ok {
		return text
	}
	return strings.Replace(text, up, up+fmt.Sprintf(`
		CREATE TABLE IF NOT EXISTS %s (step BIGINT PRIMARY KEY, digest TEXT NOT NULL);
		INSERT INTO %[1]s (step, digest) VALUES (%d, '%s') ON CONFLICT (step) DO UPDATE SET digest = excluded.digest;
		`, stepsTable, number, digest(text)), 1)
}

// What a database may be that this version can't use.
var (
	errNewer = errors.New("a newer hiregate wrote it")
	errOlder = errors.New("an older hiregate wrote it, from before the first release: its schema can't be brought up to " +
		"date; start that version, or name a database that does not exist yet")
)

// check fails where a database has steps that this version does not know. It changes nothing.
func (known steps) check(ctx context.Context, d dialect, db *sql.DB) error {
	made, err := stepsOf(ctx, d, db)
	if err != nil {
		return err
	}
	last, ours := int64(0), int64(0)
	for number := range known {
		ours = max(ours, number)
	}
	for number := range made {
		last = max(last, number)
	}
	for number, digest := range known {
		if number <= last && made[number] != digest {
			return errOlder
		}
	}
	if last > ours {
		return fmt.Errorf("%w: its schema is at step %d, and this version is older and knows %d; start the newer one",
			errNewer, last, ours)
	}
	return nil
}

// stepsOf are the steps that a database was made with; the digest of one that did not note itself is empty.
func stepsOf(ctx context.Context, d dialect, db *sql.DB) (steps, error) {
	made := steps{}
	for _, from := range []struct{ table, columns string }{
		{"goose_db_version", "version_id, ''"}, {stepsTable, "step, digest"},
	} {
		var there bool
		if err := db.QueryRowContext(ctx, d.tableExists(), from.table).Scan(&there); err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		rows, err := db.QueryContext(ctx, `SELECT `+from.columns+` FROM `+from.table)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var number int64
			var digest string
			if err := rows.Scan(&number, &digest); err != nil {
				return nil, err
			}
			made[number] = digest
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	return made, nil
}
