package database

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// undefinedTable is the SQLSTATE of a query of a table that does not exist.
const undefinedTable = "42P01"

// Peek calls each for every row of a query on the database at an address, without opening it as Open does: it claims,
// makes and changes nothing, and may do so while a gateway uses it. There are no rows when there is no such database,
// or it lacks the table of the query.
func Peek(ctx context.Context, address string, each func(Row) error, q string, args ...any) error {
	d, err := parseAddress(address)
	if err != nil {
		return err
	}
	var db *sql.DB
	if file, ok := d.(sqlite); ok {
		if _, err := os.Stat(file.path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		// a program that closes its last connection to the file locks it for a moment
		db = sql.OpenDB(&sqliteConnector{sqliteFile(file.path) + "?mode=ro", "PRAGMA " + busyTimeout})
	} else if db, err = d.connect(reading); err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, q, d.arguments(args)...)
	switch {
	case err == nil:
	case sqlState(err) == undefinedTable, sqlState(err) == noSuchDatabase, strings.Contains(err.Error(), "no such table"):
		return nil
	default:
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
