package store

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"os"
	"runtime"
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
		require.ErrorIs(t, err, ErrUnreadable)
	}
}

// A few damaged bytes may say that a body has gigabytes. Not parallel: the memory of other tests counts.
func TestDamagedBodyTakesNoMemory(t *testing.T) {
	body := bytes.Repeat([]byte("abc"), 1000)
	packed := packBody(nil, body)
	_, n := binary.Uvarint(packed[1:])
	damaged := append(binary.AppendUvarint([]byte{packedBody}, 1<<30), packed[1+n:]...)
	allocated := func(read func() error) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.ErrorIs(t, read(), ErrUnreadable)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	require.Less(t, allocated(func() error { _, err := unwrapBody(damaged); return err }), uint64(10<<20))
	require.Less(t, allocated(func() error { _, err := unwrapSized(damaged, int64(len(body))); return err }), uint64(10<<20))
	for _, size := range []int64{0, int64(len(body)) - 1, int64(len(body)) + 1} {
		for _, kept := range [][]byte{packed, wrapBody(body)} {
			_, err := unwrapSized(kept, size)
			require.ErrorIs(t, err, ErrUnreadable, "a body that was cut off went out")
		}
	}
}
