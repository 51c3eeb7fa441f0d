package admin

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
)

// Each column of a list is a field.
func TestColumnsAreFields(t *testing.T) {
	t.Parallel()
	columnsAreFields(t, &apiKeys)
	columnsAreFields(t, &apiUsers)
	columnsAreFields(t, &applications)
	columnsAreFields(t, &auditEntries)
	columnsAreFields(t, &candidates)
	columnsAreFields(t, &exports)
	columnsAreFields(t, &integrations)
	columnsAreFields(t, &jobs)
	columnsAreFields(t, &oauthClients)
	columnsAreFields(t, &redeliveries)
	columnsAreFields(t, &signInRefusals)
	columnsAreFields(t, &steps)
	columnsAreFields(t, &tenants)
	columnsAreFields(t, &uploads)
	columnsAreFields(t, &users)
}

func columnsAreFields[T any](t *testing.T, n *noun[T]) {
	t.Helper()
	fields := n.fields(new(T))
	for _, column := range n.columns {
		require.True(t, slices.ContainsFunc(fields, func(f field) bool { return f.name == column }), "%s: %s", n.at, column)
	}
}

// The list of exports takes all filters of the management API.
func TestExportListHasAllFilters(t *testing.T) {
	t.Parallel()
	var parameters []string
	for _, f := range exports.filters {
		parameters = append(parameters, cmp.Or(f.parameter, f.flag))
	}
	require.ElementsMatch(t, append(slices.Clone(api.ExportFilters), "order", "label"), parameters)
}
