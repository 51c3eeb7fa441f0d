package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTableAlignsColumns(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table := NewTable(&out, "uuid", "received", "took", "attempts")
	zone := time.FixedZone("", 2*60*60)
	table.Row("a", time.Date(2026, 11, 12, 18, 4, 59, 5e8, zone), 1234567*time.Microsecond, 3)
	table.Row("a-longer-one", time.Time{}, 12345*time.Microsecond, nil)
	require.Empty(t, out.String(), "nothing is written before the widths are known")
	require.NoError(t, table.Flush())
	require.Equal(t, ""+
		"UUID          RECEIVED              TOOK   ATTEMPTS\n"+
		"a             2026-11-12T16:04:59Z  1.23s  3\n"+
		"a-longer-one  -                     12ms   -\n", out.String())
}

func TestTableKeepsOneRowOnOneLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table := NewTable(&out)
	table.Row("tab\tand\nline", "\x1b[31mred", "say \"hi\"\r", "Zoë \u202eevil", "bad \xff\"", "")
	require.NoError(t, table.Flush())
	require.Equal(t, `tab\tand\nline  \x1b[31mred  say \"hi\"\r  Zoë \u202eevil  bad \xff\"  -`+"\n", out.String())
}

func TestTablePassesOnErrors(t *testing.T) {
	t.Parallel()
	table := NewTable(closedWriter{}, "uuid")
	require.ErrorIs(t, table.Flush(), errClosed)
	require.ErrorIs(t, WriteJSON(closedWriter{}, 1), errClosed)
}

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"1.23ms": 1234567 * time.Nanosecond,
		"123ms":  123456 * time.Microsecond,
		"1.23s":  1234 * time.Millisecond,
		"1m3s":   62900 * time.Millisecond,
		"-12ms":  -12345 * time.Microsecond,
	} {
		require.Equal(t, want, FormatDuration(d))
	}
}

func TestWriteJSONIsOneLineAnObject(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, WriteJSON(&out, map[string]string{"link": "https://a.example/?a=1&b=<2>"}))
	require.NoError(t, WriteJSON(&out, map[string]string{"text": "two\nlines"}))
	lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
	require.Len(t, lines, 2)
	require.Equal(t, `{"link":"https://a.example/?a=1&b=<2>"}`, string(lines[0]))
	require.True(t, json.Valid(lines[1]))
}

var errClosed = errors.New("closed")

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, errClosed }
