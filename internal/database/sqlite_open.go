package database

import (
	"database/sql"
	"fmt"
	"os"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hiregate/hiregate/internal/platform"
)

// claimFile locks a file that is new or a database of ours. It changes nothing in another program's file.
func claimFile(path string) (*fileLock, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("the database %s is a folder: name a file in it", path)
	}
	if err := checkLinks(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	if err := checkFiles(path); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// checkFiles refuses a database whose log is damaged, before SQLite opens it, or whose tables are another program's.
func checkFiles(path string) error {
	if err := checkLog(path); err != nil {
		return err
	}
	return checkTables(path)
}

// checkTables refuses a file whose tables are another program's. It reads without changing so much as the journal mode.
func checkTables(path string) error {
	db := sql.OpenDB(&sqliteConnector{sqliteFile(path) + "?mode=ro", ""})
	defer db.Close()
	var others, ours int
	err := db.QueryRow(`
		SELECT count(*), count(*) FILTER (WHERE name IN ('goose_db_version', 'exports')) FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'`).Scan(&others, &ours)
	switch {
	case err != nil:
		return fmt.Errorf("reading the database %s: %w", path, sqliteExplained(err))
	// goose's table alone is what a first start leaves that broke off
	case others > 1 && ours < 2, others == 1 && ours == 0:
		return fmt.Errorf("the database %s is another program's: it has tables that hiregate did not make; name a file "+
			"that does not exist yet", path)
	}
	return nil
}

// sqliteExplained adds to an error what to do about it, as far as that is known.
func sqliteExplained(err error) error {
	remedies := map[int]string{
		sqlite3.SQLITE_NOTADB: "the file is something else, or its beginning is damaged: name another file, or put " +
			"a backup in its place",
		sqlite3.SQLITE_CORRUPT: "put a backup in its place, or save what can be read with the command .recover " +
			"of the program sqlite3",
		sqlite3.SQLITE_READONLY: "make the file, those beside it of the same name, and their folder writable for " +
			"the user of the gateway",
		sqlite3.SQLITE_CANTOPEN: "make the file, those beside it of the same name, and their folder readable and " +
			"writable for the user of the gateway",
		sqlite3.SQLITE_FULL:  "make room on the disk",
		sqlite3.SQLITE_IOERR: "look whether its disk is whole and there",
	}
	if sqliteCode(err) == sqlite3.SQLITE_CANTOPEN { // which names no cause
		file, opening := os.Open(os.DevNull)
		if limit := platform.FilesExhausted(opening); limit != "" {
			return fmt.Errorf("%w; %s", err, limit)
		}
		file.Close()
	}
	if remedy := remedies[sqliteCode(err)]; remedy != "" {
		return fmt.Errorf("%w; %s", err, remedy)
	}
	return err
}
