package modules

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The label of the environment stands beside the title of each page: a long one is refused with what to write.
func TestConsoleEnvironment(t *testing.T) {
	t.Parallel()
	h := &Console{Keys: []string{"{env.KEY}"}, Roles: []ConsoleRole{{Role: "viewer", Emails: []string{"ops@example.com"}}}}
	for environment, wrong := range map[string]error{"": nil, "production": nil, strings.Repeat("ü", 24): nil,
		strings.Repeat("x", 25): errEnvironment} {
		h.Environment = environment
		require.Equal(t, wrong, h.check(), environment)
	}
	require.ErrorContains(t, errEnvironment, "at most 24 characters, such as production or test")
}
