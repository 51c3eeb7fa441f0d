package hiring_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

func TestRolesIncludeThoseBelow(t *testing.T) {
	t.Parallel()
	for n, role := range hiring.Roles {
		for m, least := range hiring.Roles {
			require.Equal(t, n >= m, role.May(least), "%s, %s", role, least)
		}
		require.False(t, hiring.Role("").May(role))
		require.False(t, hiring.Role("Admin").May(role))
		require.False(t, hiring.Compliance.May(role))
		require.Equal(t, role == hiring.Admin, role.May(hiring.Compliance), role)
	}
	require.True(t, hiring.Compliance.May(hiring.Compliance))
}
