package terminal

import (
	"bytes"
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

// Lines break between words, so that no terminal breaks them within a UUID.
func TestLinesBreakBetweenWords(t *testing.T) {
	t.Parallel()
	const uuid = "6f1f3d2c-8a44-4f7e-9d52-0c1f8e6b7a10"
	for line, want := range map[string]string{
		"short\n": "short\n",
		"":        "",
		"release it with hiregate export release acme/" + uuid + " now\n": "release it with hiregate export release\n  acme/" + uuid +
			"\n  now\n",
		"  below its row: " + uuid + "\nnext\n":     "  below its row:\n    " + uuid + "\nnext\n",
		red + "failed" + plain + "  " + uuid + "\n": red + "failed" + plain + "  " + uuid + "\n",
		uuid + uuid + "\n":                          uuid + uuid + "\n",
		"no end " + uuid + " word":                  "no end " + uuid + "\n  word",
	} {
		var out bytes.Buffer
		n, err := (&Screen{Writer: &out, Width: 44}).Write([]byte(line))
		require.NoError(t, err)
		require.Equal(t, len(line), n)
		require.Equal(t, want, out.String())
	}
	var out bytes.Buffer
	require.NoError(t, WriteJSON(&Screen{Writer: &out, Width: 10}, "one two three four"))
	require.Equal(t, "\"one two three four\"\n", out.String())
}
