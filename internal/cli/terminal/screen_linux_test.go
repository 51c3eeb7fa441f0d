package terminal

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Only a terminal has a width and colours. The tests are given one by the system.
func TestScreenOfATerminal(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { tty.Close() })
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")

	screen := func(wide bool) (int, bool) {
		s := NewScreen(tty, wide)
		require.True(t, IsTerminal(s))
		return s.Width, s.Colors
	}
	width, colors := screen(false)
	require.Equal(t, 80, width)
	require.True(t, colors)
	width, colors = screen(true)
	require.Zero(t, width, "--wide")
	require.True(t, colors)
	t.Setenv("TERM", "dumb")
	_, colors = screen(false)
	require.False(t, colors)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	width, colors = screen(false)
	require.Equal(t, 80, width)
	require.False(t, colors)

	piped := NewScreen(new(bytes.Buffer), false)
	require.Zero(t, piped.Width)
	require.False(t, piped.Colors)
	require.False(t, IsTerminal(piped))
}
