package model_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestWorkflowID(t *testing.T) {
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
		require.Equal(t, "export/acme/"+want, model.WorkflowID("acme", in, 0), "%q", in)
	}
	require.Equal(t, "export/acme/u-1/redelivery/2", model.WorkflowID("acme", "u-1", 2))
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
