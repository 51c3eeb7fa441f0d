package digest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/digest"
)

func TestPartsAreToldApart(t *testing.T) {
	t.Parallel()
	seen := map[[32]byte]string{}
	for _, parts := range [][]string{nil, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"", "ab"}, {"ab", ""}, {"b", "a"},
		{"a\x00b"}, {"1:a"}} {
		sum := digest.Of(parts...)
		require.Equal(t, sum, digest.Of(parts...))
		require.NotContains(t, seen, sum, "%q and %s", parts, seen[sum])
		seen[sum] = strings.Join(parts, "|")
	}
}
