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
	}
}
