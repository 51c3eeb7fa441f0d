package documents

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToken(t *testing.T) {
	t.Parallel()
	token, hash := NewToken()
	require.Regexp(t, `^[A-Za-z0-9_-]{43}$`, token, "32 bytes, base64url without padding")
	got, ok := HashToken(token)
	require.True(t, ok)
	require.Equal(t, hash, got)

	other, otherHash := NewToken()
	require.NotEqual(t, token, other)
	require.NotEqual(t, hash, otherHash)
}

func TestHashTokenRefuses(t *testing.T) {
	t.Parallel()
	valid := strings.Repeat("A", 43)
	_, ok := HashToken(valid)
	require.True(t, ok)
	for _, token := range []string{
		"", valid[1:], valid + "A", valid + "=", "\n" + valid, valid[:42] + "\n", valid[:42] + "+", valid[:42] + "/",
		valid[:42] + "é",
		valid[:42] + "B", // the same bytes as with A, were it not strict
	} {
		_, ok := HashToken(token)
		require.False(t, ok, "%q", token)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	require.Equal(t, "https://gate.example.com/documents/abc", URL("https://gate.example.com", "abc"))
	require.Equal(t, "https://example.com/gate/documents/abc", URL("https://example.com/gate/", "abc"))
}
