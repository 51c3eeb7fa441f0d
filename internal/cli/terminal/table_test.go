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
	table.now = time.Date(2026, 11, 12, 16, 8, 30, 0, time.UTC)
	zone := time.FixedZone("", 2*60*60)
	table.Row("a", time.Date(2026, 11, 12, 18, 4, 59, 5e8, zone), 1234567*time.Microsecond, 3)
	table.Row("a-longer-one", time.Time{}, 12345*time.Microsecond, nil)
	require.Empty(t, out.String(), "nothing is written before the widths are known")
	require.NoError(t, table.Flush())
	require.Equal(t, ""+
		"UUID          RECEIVED                       TOOK   ATTEMPTS\n"+
		"a             2026-11-12T16:04:59Z (3m ago)  1.23s  3\n"+
		"a-longer-one  -                              12ms   -\n", out.String())
}

func TestTableKeepsOneRowOnOneLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table := NewTable(&out)
	table.Row("tab\tand\nline", "\x1b[31mred", "say \"hi\"\r", "Zoë \u202eevil", "bad \xff\"", "")
	require.NoError(t, table.Flush())
	require.Equal(t, `tab\tand\nline  \x1b[31mred  say "hi"\r  Zoë \u202eevil  bad \xff"  -`+"\n", out.String())
}

// On a narrow screen times become ages, reasons stand below their rows, and columns are left out, the last one first.
// Identifiers and states stay whole, even if the line is then too long.
func TestTableFitsTheScreen(t *testing.T) {
	t.Parallel()
	print := func(width int, colors bool) string {
		var out bytes.Buffer
		table := NewTable(&Screen{Writer: &out, Width: width, Colors: colors}, "export", "received", "state", "to", "reason",
			"size")
		table.now = time.Date(2026, 11, 12, 16, 8, 30, 0, time.UTC)
		table.Row("acme/6f1c0f1e", table.now.Add(-5*time.Hour), State("failed"), ID("hris"),
			Reason("answered 500; only 2xx means received"), 17)
		table.Row("acme/u-2", table.now.Add(90*time.Second), State("delivered"), ID("hris"), Reason(""), 4)
		require.NoError(t, table.Flush())
		return out.String()
	}
	require.Equal(t, ""+
		"EXPORT         RECEIVED                       STATE      TO    REASON                                 SIZE\n"+
		"acme/6f1c0f1e  2026-11-12T11:08:30Z (5h ago)  failed     hris  answered 500; only 2xx means received  17\n"+
		"acme/u-2       2026-11-12T16:10:00Z (in 1m)   delivered  hris  -                                      4\n",
		print(0, false), "what is piped is as wide as it is")
	require.Equal(t, print(0, false), print(200, false))
	require.Equal(t, ""+
		"EXPORT         RECEIVED  STATE      TO    REASON                                 SIZE\n"+
		"acme/6f1c0f1e  5h ago    failed     hris  answered 500; only 2xx means received  17\n"+
		"acme/u-2       in 1m     delivered  hris  -                                      4\n", print(90, false))
	require.Equal(t, ""+
		"EXPORT         RECEIVED  STATE      TO    SIZE\n"+
		"acme/6f1c0f1e  5h ago    failed     hris  17\n"+
		"  answered 500; only 2xx means received\n"+
		"acme/u-2       in 1m     delivered  hris  4\n", print(80, false))
	for width, reason := range map[int]string{31: "  answered 500; only 2xx means\n    received\n", 3: "  answered 500; only 2xx means received\n"} {
		require.Equal(t, ""+
			"EXPORT         STATE      TO\n"+
			"acme/6f1c0f1e  failed     hris\n"+
			reason+
			"acme/u-2       delivered  hris\n", print(width, false), "what names the row and its state is never cut")
	}
	require.Contains(t, print(0, true), "\x1b[31mfailed\x1b[0m     hris")
	require.Contains(t, print(0, true), "\x1b[1mEXPORT\x1b[0m         \x1b[1mRECEIVED")
}

// Names and values are never cut.
func TestValuesAreNeverCut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table := NewTable(&Screen{Writer: &out, Width: 20})
	table.Row("sha256", "18e74514b498dc7706b1ee39a2fd9fa4152ad549efb1b5ca30a497c0be9d1b8f")
	require.NoError(t, table.Flush())
	require.Equal(t, "sha256  18e74514b498dc7706b1ee39a2fd9fa4152ad549efb1b5ca30a497c0be9d1b8f\n", out.String())
}

func TestFormatAge(t *testing.T) {
	t.Parallel()
	for want, age := range map[string]time.Duration{
		"now": 0, "59s ago": 59 * time.Second, "1m ago": 119 * time.Second, "47h ago": 47*time.Hour + 59*time.Minute,
		"2d ago": 48 * time.Hour, "in 12m": -12 * time.Minute, "3y ago": 3 * 365 * 24 * time.Hour,
	} {
		require.Equal(t, want, FormatAge(age))
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	flags := []string{"tenant", "integration", "outcome", "since", "json", "all"}
	for word, want := range map[string]string{
		"tenat": "tenant", "tenants": "tenant", "integ": "integration", "sinse": "since", "oucome": "outcome",
		"jsn": "json", "stop": "", "al": "", "x": "", "candidate": "", "": "",
	} {
		require.Equal(t, want, Nearest(word, flags), word)
	}
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

// What a terminal would obey is escaped, and says the same to a program.
func TestWriteJSONEscapesWhatATerminalObeys(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	const name = "Zoë\u202efdp\u2066\x1b[31m\x7f\u009b1m\u200d"
	require.NoError(t, WriteJSON(&out, []string{name}))
	require.Equal(t, `["Zoë\u202efdp\u2066\u001b[31m\u007f\u009b1m`+"\u200d\"]\n", out.String())
	var read []string
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.Equal(t, []string{name}, read)
}

var errClosed = errors.New("closed")

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, errClosed }

// What is escaped already is not escaped again.
func TestPrintable(t *testing.T) {
	t.Parallel()
	require.Equal(t, `say "hi" \u202e`, Printable("say \"hi\" \u202e"))
	require.Equal(t, `a\tb`, Printable(`a\tb`))
	require.Equal(t, `\x1b[31m\u0085\u2066`, Printable("\x1b[31m\u0085\u2066"))
	const needed = "می\u200cخواهم \u05d0\u200f\u200e नि\u200dरज"
	require.Equal(t, needed, Printable(needed), "names need these")
}
