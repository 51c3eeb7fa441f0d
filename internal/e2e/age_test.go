package e2e

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ageing moves the times that a release left, in the gateway's database and in Temporal's, so that what it left is as
// old as a test wants it, whatever the day. A time is what lies within 100 days of the recording.
type ageing struct {
	recorded time.Time
	by       time.Duration // whole seconds, so that no time changes its length
}

// age makes what lies in a folder that old.
func age(t *testing.T, folder string, old time.Duration) {
	t.Helper()
	temporal := filepath.Join(folder, "temporal.db")
	db, err := sql.Open("sqlite", "file:"+temporal)
	require.NoError(t, err)
	defer db.Close()
	var newest string
	require.NoError(t, db.QueryRow(`SELECT CAST(max(start_time) AS TEXT) FROM executions_visibility`).Scan(&newest))
	recorded, err := time.Parse(temporalTime, newest)
	require.NoError(t, err)
	a := ageing{recorded, time.Since(recorded.Add(old)).Truncate(time.Second)}
	a.rewrite(t, temporal, func(value any) any {
		switch v := value.(type) {
		case string:
			return a.column(v)
		case []byte:
			return a.message(v)
		}
		return value
	})
	dump := filepath.Join(folder, dumped)
	if text, err := os.ReadFile(dump); err == nil {
		require.NoError(t, os.WriteFile(dump, micros.ReplaceAllFunc(text, func(found []byte) []byte {
			n, err := strconv.ParseInt(string(found), 10, 64)
			if err != nil {
				return found
			}
			return strconv.AppendInt(nil, a.micros(n), 10)
		}), 0o600))
		return
	}
	a.rewrite(t, filepath.Join(folder, "hiregate.db"), func(value any) any {
		if v, ok := value.(int64); ok {
			return a.micros(v)
		}
		return value
	})
}

// rewrite changes the values of a SQLite database.
func (a ageing) rewrite(t *testing.T, file string, change func(any) any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=synchronous(off)")
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.Begin()
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Commit()) }()
	// Temporal's full-text search holds no times, and the answers to attempts are sealed with the times of these.
	for _, table := range texts(t, tx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'
		AND name NOT LIKE '%_fts_%' AND name <> 'attempts'`) {
		for _, column := range texts(t, tx, `SELECT name FROM pragma_table_info('`+table+`')`) {
			// As a blob or a number, or else the driver makes of it what the column was declared as.
			rows, err := tx.Query(fmt.Sprintf(`SELECT rowid, typeof(%[1]s), CASE typeof(%[1]s) WHEN 'text' THEN CAST(%[1]s AS BLOB) ELSE %[1]s END
				FROM %[2]s WHERE %[1]s IS NOT NULL`, column, table))
			require.NoError(t, err)
			changed := map[int64]any{}
			for rows.Next() {
				var id int64
				var kind string
				var value any
				require.NoError(t, rows.Scan(&id, &kind, &value))
				if text, ok := value.([]byte); ok && kind == "text" {
					value = string(text)
				}
				if next := change(value); !reflect.DeepEqual(next, value) {
					changed[id] = next
				}
			}
			require.NoError(t, rows.Err())
			for id, value := range changed {
				_, err := tx.Exec(fmt.Sprintf(`UPDATE %s SET %s = $1 WHERE rowid = $2`, table, column), value, id)
				require.NoError(t, err, "%s.%s", table, column)
			}
		}
	}
}

func texts(t *testing.T, tx *sql.Tx, query string) (all []string) {
	t.Helper()
	rows, err := tx.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		all = append(all, text)
	}
	require.NoError(t, rows.Err())
	return all
}

func (a ageing) isTime(at time.Time) bool { return at.Sub(a.recorded).Abs() < 100*24*time.Hour }

// micros finds the gateway's times in a dump, and all attempts together.
var micros = regexp.MustCompile(`(?s)COPY public\.attempts .*?\n\\\.\n|\b\d{16}\b`)

func (a ageing) micros(n int64) int64 {
	if a.isTime(time.UnixMicro(n)) {
		return n + a.by.Microseconds()
	}
	return n
}

// temporalTime is how Temporal stores a time in a column.
const temporalTime = "2006-01-02 15:04:05.999999999-07:00"

func (a ageing) column(text string) string {
	if at, err := time.Parse(temporalTime, text); err == nil && a.isTime(at) {
		return at.Add(a.by).Format(temporalTime)
	}
	return text
}

// inJSON is a time in the input of a workflow or an activity, without what is below a second.
var inJSON = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`)

// message moves the times in a message of Temporal's: in JSON, and in google.protobuf.Timestamp, whose field 1 has the
// seconds as a varint.
func (a ageing) message(data []byte) []byte {
	data = inJSON.ReplaceAllFunc(data, func(text []byte) []byte {
		at, err := time.Parse("2006-01-02T15:04:05", string(text))
		if err != nil || !a.isTime(at) {
			return text
		}
		return []byte(at.Add(a.by).Format("2006-01-02T15:04:05"))
	})
	for n := 0; n < len(data); n++ {
		seconds, size := binary.Uvarint(data[n:])
		if n > 0 && data[n-1] == 0x08 && size == 5 && a.isTime(time.Unix(int64(seconds), 0)) {
			binary.PutUvarint(data[n:], seconds+uint64(int64(a.by/time.Second)))
		}
	}
	return data
}
