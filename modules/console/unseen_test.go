package console

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// What turns the direction of a name, or is a control character, is seen where it was stored before it was refused.
// Joiners and marks, which names need, stay.
func TestUnseenCharactersAreShownAsSigns(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const needed = "می\u200cخواهم \u05d0\u200f\u200e नि\u200dरज"
	b.candidate("acme", "c-1", "Zoë\u202efdp.exe\u2066\x1b[31m\u0085"+needed)
	text := b.see(ops, "/candidates?tenant=acme", http.StatusOK)
	require.Contains(t, text, "Zoë[U+202E]fdp.exe[U+2066][U+001B][31m[U+0085]"+needed)
	require.NotContains(t, text, "\u202e")
	require.NotContains(t, text, "\x1b")
}

func TestOnlyTheTextOfAPageIsChanged(t *testing.T) {
	t.Parallel()
	const kept = "<input value=\"a\u202eb\"><textarea name=\"x\">c\u202ed\n</textarea>\r\n\t"
	require.Equal(t, kept, string(showUnseen([]byte(kept))))
	require.Equal(t, kept+"<p>a[U+202E]b</p>", string(showUnseen([]byte(kept+"<p>a\u202eb</p>"))))
}
