package documents

import (
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBase64IsDecoded(t *testing.T) {
	t.Parallel()
	for encoded, want := range map[string]string{
		"":                       "",
		"\r\n":                   "",
		"SGlyZWdhdGU=":           "Hiregate",
		"SGlyZWdhdGU":            "Hiregate",
		"SGly\r\nZWdh\ndGU=\r\n": "Hiregate",
		"SGlyZWdhdGU\n=":         "Hiregate",
		"SA==":                   "H",
		"SA=":                    "H",
		"SA=\r\n=\n":             "H",
		"SA":                     "H",
		"+/+/":                   "\xfb\xff\xbf",
	} {
		for _, r := range []io.Reader{strings.NewReader(encoded), iotest.OneByteReader(strings.NewReader(encoded)),
			iotest.DataErrReader(strings.NewReader(encoded))} {
			got, err := io.ReadAll(NewBase64Reader(r))
			require.NoError(t, err, "%q", encoded)
			require.Equal(t, want, string(got))
		}
	}
}

func TestBase64IsRefused(t *testing.T) {
	t.Parallel()
	for _, encoded := range []string{
		"S", "SGlyZ", "=", "==", "SGly=", "SGl==", "SA===", "SA==SA==", "SA=A", "SA== ", "S A=", "SA\t", "-_-_",
		"data:application/pdf;base64,SGly", "SGlé", "SG\x00y",
	} {
		for _, r := range []io.Reader{strings.NewReader(encoded), iotest.OneByteReader(strings.NewReader(encoded))} {
			_, err := io.ReadAll(NewBase64Reader(r))
			require.Equal(t, ErrBase64, err, "%q", encoded)
		}
	}
}

func TestBase64GivesReadErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for _, start := range []string{"", "S", "SG", "SGl", "SGly", "SGlyZ"} {
		_, err := io.ReadAll(NewBase64Reader(io.MultiReader(strings.NewReader(start), iotest.ErrReader(broken))))
		require.Equal(t, broken, err, "after %q", start)
	}
}

func TestBase64RoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		encoded := base64.StdEncoding.EncodeToString(content)
		if rapid.Bool().Draw(t, "unpadded") {
			encoded = strings.TrimRight(encoded, "=")
		}
		for at := range rapid.SliceOfN(rapid.IntRange(0, 100), 0, 5).Draw(t, "breaks") {
			at = min(at, len(encoded))
			encoded = encoded[:at] + "\r\n" + encoded[at:]
		}
		got, err := io.ReadAll(NewBase64Reader(iotest.HalfReader(strings.NewReader(encoded))))
		require.NoError(t, err)
		require.Equal(t, string(content), string(got))
	})
}
