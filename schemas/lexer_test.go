package schemas

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every byte, at every place among eight, is passed over or found as a look at each would have it.
func TestPlainStopsAtWhatIsSpecial(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		special := c < ' ' || c == '"' || c == '\\'
		for at := range 24 {
			for _, around := range []string{"a", " ", "!", "\x7f", "\x80", "\xff"} {
				text := strings.Repeat(around, at) + string([]byte{byte(c)}) + strings.Repeat(around, 23-at)
				want := 24
				if special {
					want = at
				}
				require.Equal(t, want, plain([]byte(text)), "%q", text)
			}
		}
	}
	require.Equal(t, 8, plain(bytes.Repeat([]byte("a"), 15)), "the last ones are left")
	require.Zero(t, plain(nil))
}
