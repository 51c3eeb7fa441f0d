package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// mayBeRead are the tables and indexes of which PostgreSQL may read the whole, once for a statement: they stay small, however
// long a gateway runs.
var mayBeRead = regexp.MustCompile(`^(` + strings.Join([]string{
	`identity|data_keys`, // of the database
	`integration_states|integration_health|waiting|upstreams|catch_ups(_pkey|_running|_asked)?`, // a row for each integration, and for each relayed tenant
	`event_subscriptions|redeliveries_running`,                                                  // of what operators asked for
	// Partial: what waits for a person, or is under way, or failed. It may be much, but who reads it lists or counts it.
	`exports_(undispatched|unsettled|quarantined)_of_all|documents_(lost|fetching|late)(_of_tenant)?|application_documents_by_scan|deliveries_at_fault`,
}, "|") + `)$`)

// ofOne is the filter of a step that looks for one row.
var ofOne = regexp.MustCompile(`\bid = \$`)

// step is one of a plan of PostgreSQL.
type step struct {
	Type      string `json:"Node Type"`
	Relation  string `json:"Parent Relationship"` // Outer, Inner, InitPlan, …
	Table     string `json:"Relation Name"`
	Index     string `json:"Index Name"`
	Condition string `json:"Index Cond"`
	Filter    string
	Plans     []step
}

// wholeReads are the tables and indexes that a plan reads from one end to the other, apart from those that may be. repeated:
// for each row of another one, or to find one row; then none may be. limited: until there are enough rows.
func (s step) wholeReads(repeated, limited bool) (all []string) {
	read := s.Index
	if s.Type == "Seq Scan" {
		read = s.Table
	}
	head := limited && s.Filter == "" && s.Type != "Seq Scan"
	if read != "" && s.Condition == "" && !head && (repeated || ofOne.MatchString(s.Filter) || !mayBeRead.MatchString(read)) {
		all = append(all, fmt.Sprintf("%s of %s, filter %q", s.Type, read, s.Filter))
	}
	for _, below := range s.Plans {
		loop := s.Type == "Nested Loop"
		passes := below.Relation == "Outer" && (s.Type == "Limit" || limited && (s.Type == "LockRows" || loop))
		all = append(all, below.wholeReads(repeated || loop && below.Relation == "Inner", passes)...)
	}
	return all
}

// noneReadsATableOfPostgreSQL is noneReadsATable for PostgreSQL, whose plans depend on what it believes: that the tables are
// large, and that nothing waits in them, since it counted last on a quiet day. Plans for unknown arguments depend on nothing
// else, so they are the same with each run.
func noneReadsATableOfPostgreSQL(all []string) error {
	ctx := context.Background()
	address, err := storetest.CreatePostgres()
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := believe(ctx, conn); err != nil {
		return err
	}
	var reads []string
	for _, q := range all {
		if !explainable.MatchString(q) {
			continue
		}
		plan, err := genericPlan(ctx, conn, q)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && strings.HasPrefix(refused.Code, "42") {
			continue // it is of SQLite alone
		}
		if err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
		for _, read := range plan.wholeReads(false, false) {
			reads = append(reads, read+": "+strings.Join(strings.Fields(q), " "))
		}
	}
	return refused(reads, "mayBeRead")
}

// limit is of a page: of an unknown number of rows PostgreSQL expects a tenth of the table.
var limit = regexp.MustCompile(`LIMIT (\$\d+)`)

// genericPlan returns the plan of a statement for arguments that are not known.
func genericPlan(ctx context.Context, conn *pgx.Conn, q string) (step, error) {
	if err := run(ctx, conn, `PREPARE asked AS `+limit.ReplaceAllString(q, "LIMIT CASE WHEN TRUE THEN 100 ELSE $1 END")); err != nil {
		return step{}, err
	}
	var arguments int
	if err := conn.QueryRow(ctx, `SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'asked'`).
		Scan(&arguments); err != nil {
		return step{}, err
	}
	execute := `EXPLAIN (FORMAT JSON) EXECUTE asked`
	if arguments > 0 {
		execute += "(NULL" + strings.Repeat(", NULL", arguments-1) + ")"
	}
	var explained []byte
	if err := conn.QueryRow(ctx, execute, pgx.QueryExecModeSimpleProtocol).Scan(&explained); err != nil {
		return step{}, err
	}
	var plans []struct{ Plan step }
	if err := json.Unmarshal(explained, &plans); err != nil {
		return step{}, err
	}
	return plans[0].Plan, run(ctx, conn, `DEALLOCATE asked`)
}

// believe fills each table with a thousand rows of which nothing waits for anything, has the planner count them, and has it
// believe that its pages hold a thousand times as many, which would take minutes to store.
func believe(ctx context.Context, conn *pgx.Conn) error {
	if err := run(ctx, conn, `SET session_replication_role = replica; SET plan_cache_mode = force_generic_plan`); err != nil {
		return err
	}
	fill, err := conn.Query(ctx, `SELECT format('ALTER TABLE %1$I SET (autovacuum_enabled = off);
			INSERT INTO %1$I (%2$s) OVERRIDING SYSTEM VALUE SELECT %3$s FROM generate_series(1, 1000) AS g (n) ON CONFLICT DO NOTHING',
			table_name, string_agg(column_name, ', '), string_agg(CASE
				WHEN column_name IN ('tenant', 'integration') THEN quote_literal(column_name) || ' || n % 50'
				WHEN column_name IN ('held_since', 'redelivery', 'due_at', 'group_id') THEN 'NULL'
				WHEN column_name IN ('fault', 'version_of') THEN quote_literal('')
				WHEN column_name IN ('listed', 'worded') THEN 'TRUE'
				WHEN column_name = 'kept' THEN '0'
				WHEN data_type = 'text' THEN quote_literal(column_name) || ' || n'
				WHEN data_type = 'boolean' THEN 'FALSE'
				WHEN data_type = 'bytea' THEN 'convert_to(n::text, ''UTF8'')'
				ELSE 'n' END, ', '))
		FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT IN ('identity', 'goose_db_version') GROUP BY table_name`)
	if err != nil {
		return err
	}
	fills, err := pgx.CollectRows(fill, pgx.RowTo[string])
	if err != nil {
		return err
	}
	return run(ctx, conn, strings.Join(append(fills, `ANALYZE`, `UPDATE pg_class SET reltuples = 1000 * reltuples
		WHERE relnamespace = 'public'::regnamespace AND reltuples > 0`), "; "))
}

// run runs statements that have no arguments.
func run(ctx context.Context, conn *pgx.Conn, statements string) error {
	_, err := conn.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
	return err
}
