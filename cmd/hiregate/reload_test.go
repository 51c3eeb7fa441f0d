package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A reload is always put in force; internal/e2e shows what for. All other commands are as they were written.
func TestReloadIsForced(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"hiregate", "reload", "--force", "--config", "Caddyfile"},
		forceReload([]string{"hiregate", "reload", "--config", "Caddyfile"}))
	for _, args := range [][]string{{"hiregate"}, {"hiregate", "run", "reload"}, {"hiregate", "validate"}} {
		require.Equal(t, args, forceReload(args))
	}
}
