package store

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// Each table that knows tenants by name is looked at before a name goes to another tenant.
func TestRemainsLooksAtAllThatBelongsToATenant(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), storetest.SQLite(t), Options{Log: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables, err := rows.Query(t.Context(), db.reads, rows.Value[string], `SELECT DISTINCT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'tenant'`)
	require.NoError(t, err)
	var looked []string
	for _, b := range tenantTables {
		looked = append(looked, b.table)
	}
	require.ElementsMatch(t, append(looked,
		// none without an export
		"deliveries", "documents", "unkeyed_bodies", "waiting", "export_triggers",
		// none without a job
		"answer_refusals",
		// none without a candidate or a job
		"search_words",
		// none without a job application, but for ids of erased ones, for 90 days, and a number
		"application_list", "application_positions",
		// a tenant with one can't be removed
		"integrations",
		// it is of no use to another URL and secret, and VERIFY comes first
		"integration_states",
		// the management API shows a tenant what was done since it was made
		"audit",
		// they are deleted with the tenant
		"secret_uses", "refused_signatures", "remarks", "notification_counts", "notification_conditions", "quarters",
		"event_subscriptions", "events", "portal_links", "upstreams", "upstream_questions", "upstream_titles", "upstream_notices",
		// they are deleted with the integration
		"integration_health", "integration_hours", "catch_ups",
		// it ends within an hour of the tenant
		"application_retention",
		// it ends within 30 days
		"acknowledgements",
		// it is on its way, and ends within a day
		"notifications",
	), tables)
}

// The guide says of each table when its rows end.
func TestEachTableHasAnEnd(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/install.md")
	require.NoError(t, err)
	db, err := Open(t.Context(), storetest.SQLite(t), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables, err := rows.Query(t.Context(), db.reads, rows.Value[string], `SELECT name FROM sqlite_master
		WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'`)
	require.NoError(t, err)
	require.Greater(t, len(tables), 40)
	for _, table := range tables {
		require.True(t, strings.Contains(string(guide), "`"+table+"`"), table)
	}
}
