package webhook_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
)

func TestValidUUID(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"a", "!", "~", "5b0c7d2e-0000-4000-8000-000000000001", "a/b%20", strings.Repeat("x", 255)} {
		require.True(t, webhook.ValidUUID(ok), "%q", ok)
		require.True(t, webhook.ValidUUID([]byte(ok)), "%q", ok)
	}
	for _, bad := range []string{"", " ", "a b", "a\n", "a\t", "\x7f", "é", "\xff", "a\x00", strings.Repeat("x", 256), strings.Repeat("x", 1000)} {
		require.False(t, webhook.ValidUUID(bad), "%q", bad)
		require.False(t, webhook.ValidUUID([]byte(bad)), "%q", bad)
	}
	require.False(t, webhook.ValidUUID[[]byte](nil))
}

func TestWorkflowIDPart(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                           "",
		"acme":                       "acme",
		"AZaz09._:-":                 "AZaz09._:-",
		"a/b":                        "a%2Fb",
		"a%2Fb":                      "a%252Fb",
		"a b\n":                      "a%20b%0A",
		"é":                          "%C3%A9",
		"\xff~":                      "%FF%7E",
		strings.Repeat("a", 128):     strings.Repeat("a", 128),
		strings.Repeat("/", 42):      strings.Repeat("%2F", 42), // 126 bytes
		strings.Repeat("a", 129):     sha(strings.Repeat("a", 129)),
		strings.Repeat("/", 43):      sha(strings.Repeat("%2F", 43)), // 129 bytes once encoded
		strings.Repeat("\xff", 1000): sha(strings.Repeat("%FF", 1000)),
	} {
		require.Equal(t, want, webhook.WorkflowIDPart(in), "%q", in)
	}
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
