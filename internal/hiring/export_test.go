package hiring_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

func TestCandidateKeyFitsIntoEveryDatabase(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"":                                   "",
		"c0a8b5f2":                           "c0a8b5f2",
		"Zoë 😀\n":                            "Zoë 😀\n",
		"a\x00b\x00":                         "a\ufffdb\ufffd",
		strings.Repeat("a", 1024):            strings.Repeat("a", 1024),
		strings.Repeat("a", 1025):            strings.Repeat("a", 1024),
		strings.Repeat("a", 1023) + "ë":      strings.Repeat("a", 1023),
		strings.Repeat("\x00", 1024) + "end": strings.Repeat("\ufffd", 341),
	} {
		got := hiring.CandidateKey(id)
		require.Equal(t, want, got)
		require.Equal(t, got, hiring.CandidateKey(got), "a key is its own key")
	}
}
