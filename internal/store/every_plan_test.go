package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hiregate/hiregate/internal/database"
)

// TestMain has the tests fail if a statement of the store that they ran reads the whole of a table that grows.
func TestMain(m *testing.M) {
	var ran sync.Map
	told := func(q string) {
		if _, known := ran.Load(q); !known && !byTest() {
			ran.Store(q, true)
		}
	}
	database.Watched.Store(&told)
	code := m.Run()
	database.Watched.Store(nil)
	var all []string
	ran.Range(func(q, _ any) bool { all = append(all, q.(string)); return true })
	if code == 0 {
		if err := errors.Join(noneReadsATable(all), noneReadsATableOfPostgreSQL(all)); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

// byTest reports whether a test runs a statement of its own.
func byTest() bool {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		frame, more := frames.Next()
		switch folder := filepath.Dir(frame.File); {
		case strings.HasSuffix(frame.File, "_test.go"), filepath.Base(folder) == "storetest":
			return true
		case filepath.Base(folder) != "database" && filepath.Base(folder) != "rows" || !more:
			return false
		}
	}
}

// explainable is a statement that has a plan.
var explainable = regexp.MustCompile(`(?i)^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b`)

// mayBeScanned is a step that reads the whole of something that stays small, however long a gateway runs.
var mayBeScanned = regexp.MustCompile(`^SCAN (` + strings.Join([]string{
	`CONSTANT ROW|(\d+-ROW VALUES CLAUSE)|[wsm]|split|each_tenant|page|ended|failed|expired|counted`, // what an inner query found, or the arguments
	`sqlite_master|c VIRTUAL TABLE .*`, // the schema
	`each VIRTUAL TABLE .*`,            // of tenants
	`identity|data_keys`,               // of the database
	`integration_states|integration_health|waiting|upstreams|catch_ups( USING .*)?`,   // a row for each integration, and for each relayed tenant
	`event_subscriptions( USING .*)?|redeliveries USING .*INDEX redeliveries_running`, // of what operators asked for
	`exports USING .*INDEX exports_quarantined|jobs USING .*INDEX jobs_kept`,          // partial: what waits for a person, or is kept
	`e(xports)? USING .*INDEX exports_(undispatched|unsettled)[a-z_]*`,                // partial: what is under way
	`documents USING .*INDEX documents_fetching`,                                      // partial: what is being fetched
	`(o|documents) USING .*INDEX documents_late`,                                      // partial: what could not be fetched yet
	`application_documents USING .*INDEX application_documents_by_scan`,               // partial: what is being scanned
}, "|") + `)$`)

// noneReadsATable returns an error for the statements that read the whole of a table that grows, on SQLite.
func noneReadsATable(all []string) error {
	folder, err := os.MkdirTemp("", "plans")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	db, err := Open(ctx, "sqlite:"+filepath.Join(folder, "plans.db"), Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	var scans []string
	for _, q := range all {
		if !explainable.MatchString(q) {
			continue
		}
		// What is of PostgreSQL alone can't be read here.
		_ = db.sql.Query(ctx, func(r row) error {
			var id, parent, unused int
			var step string
			err := r.Scan(&id, &parent, &unused, &step)
			if strings.HasPrefix(step, "SCAN ") && !mayBeScanned.MatchString(step) {
				scans = append(scans, step+": "+strings.Join(strings.Fields(q), " "))
			}
			return err
		}, "EXPLAIN QUERY PLAN "+q)
	}
	return refused(scans, "mayBeScanned")
}

// refused is the error of steps that read a whole table, each with its statement.
func refused(steps []string, allowed string) error {
	if len(steps) == 0 {
		return nil
	}
	slices.Sort(steps)
	return fmt.Errorf("these statements read the whole of a table that grows: give them an index, or name in %s why it stays small\n%s",
		allowed, strings.Join(steps, "\n"))
}
