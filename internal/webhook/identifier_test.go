package webhook_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
)

func TestValidUUID(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"a", "!", "~", "5b0c7d2e-0000-4000-8000-000000000001", "a/b%20",
		strings.Repeat("x", 255)} {
		require.True(t, webhook.ValidUUID(ok), "%q", ok)
		require.True(t, webhook.ValidUUID([]byte(ok)), "%q", ok)
	}
	for _, bad := range []string{"", " ", "a b", "a\n", "a\t", "\x7f", "é", "\xff", "a\x00", strings.Repeat("x", 256),
		strings.Repeat("x", 1000)} {
		require.False(t, webhook.ValidUUID(bad), "%q", bad)
		require.False(t, webhook.ValidUUID([]byte(bad)), "%q", bad)
	}
	require.False(t, webhook.ValidUUID[[]byte](nil))
}

func TestKeySegments(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"u-1": "u-1", "a/b": "a/b", "...": "...", "a~": "a~",
		"..": "~Li4", "../../x": "~Li4vLi4veA", "a/./b": "~YS8uL2I", "~a": "~fmE",
	} {
		require.Equal(t, want, webhook.KeySegment(key))
		back, ok := webhook.KeyOfSegment(want)
		require.True(t, ok)
		require.Equal(t, key, back)
	}
	for _, bad := range []string{"", "~", "~Li4=", "~Li5", "~ICA", "a b"} {
		_, ok := webhook.KeyOfSegment(bad)
		require.False(t, ok, bad)
	}
}
