package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestRolesIncludeThoseBelow(t *testing.T) {
	t.Parallel()
	for n, role := range model.Roles {
		for m, least := range model.Roles {
			require.Equal(t, n >= m, role.May(least), "%s, %s", role, least)
		}
		require.False(t, model.Role("").May(role))
		require.False(t, model.Role("Admin").May(role))
		require.False(t, model.Compliance.May(role))
		require.Equal(t, role == model.Admin, role.May(model.Compliance), role)
	}
	require.True(t, model.Compliance.May(model.Compliance))
}
