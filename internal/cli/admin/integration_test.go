package admin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
)

// A rotation in the Caddyfile is shown, although nobody knows when it began.
func TestRotationOfTheCaddyfileIsShown(t *testing.T) {
	t.Parallel()
	shown := func(rotating bool) string {
		var i api.IntegrationHours
		i.Rotating = rotating
		var out strings.Builder
		require.NoError(t, integrations.print(&out, &i))
		return out.String()
	}
	require.Regexp(t, `(?m)^rotation began +not known$`, shown(true))
	require.Regexp(t, `(?m)^rotation began +-$`, shown(false))
}
