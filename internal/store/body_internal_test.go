package store

import (
	"bytes"
	"crypto/rand"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBodiesComeBackByteForByte(t *testing.T) {
	t.Parallel()
	sample, err := os.ReadFile("../../testdata/samples/export-full.json")
	require.NoError(t, err)
	noise := make([]byte, 100_000)
	_, _ = rand.Read(noise)
	for name, body := range map[string][]byte{
		"an export": sample, "noise": noise, "both": append(noise, sample...), "zeros": make([]byte, 5<<20), "one byte": {0}, "nothing": {},
	} {
		for _, kept := range [][]byte{wrapBody(body), packBody(nil, body), packBody(bytes.Repeat([]byte("x"), 5000), body)} {
			got, err := unwrapBody(kept)
			require.NoError(t, err, name)
			require.True(t, bytes.Equal(body, got), name)
			require.LessOrEqual(t, len(kept), len(body)+1, name)
		}
	}
	require.Less(t, len(packBody(nil, sample)), len(sample)*6/10)
}

func TestBodiesThatCanNotBeReadAreNoBodies(t *testing.T) {
	t.Parallel()
	packed := packBody(nil, bytes.Repeat([]byte("abc"), 1000))
	for _, kept := range [][]byte{nil, {}, {0, 1}, {packedBody + 1, 1}, packed[:len(packed)/2], {packedBody}} {
		_, err := unwrapBody(kept)
		require.Error(t, err)
	}
}
