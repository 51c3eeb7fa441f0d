package admin

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
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
