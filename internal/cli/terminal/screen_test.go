package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPaint(t *testing.T) {
	t.Parallel()
	colored, bare := &Screen{Colors: true}, new(Screen)
	require.Equal(t, red+"hris failed"+plain, colored.Paint("failed", "hris failed"))
	require.Equal(t, "hris failed", bare.Paint("failed", "hris failed"))
	require.Equal(t, `a\x1b[2J`, colored.Paint("of no colour", "a\x1b[2J"))
}
