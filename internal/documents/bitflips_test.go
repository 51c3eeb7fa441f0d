package documents

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
)

var (
	flips = flag.Int("bitflips", 20, "how many bits to flip in objects of a bucket")
	first = flag.Uint64("seed", 1, "the seed of the first one")
)

// TestBitflips flips one bit at a time of an object in a bucket, sealed and not: nobody gets all of it, and it counts as
// unreadable.
func TestBitflips(t *testing.T) {
	t.Parallel()
	for _, sealed := range []bool{false, true} {
		t.Run(fmt.Sprintf("objects sealed %t", sealed), func(t *testing.T) {
			t.Parallel()
			endpoint, folder := s3(t)
			f := openBucket(t, endpoint)
			if sealed {
				f = sealing(t, f)
			}
			want := content(100_000)
			blob, err := f.PutNew(t.Context(), bytes.NewReader(want), MaxSize)
			require.NoError(t, err)
			path := files(t, folder)[0]
			whole, err := os.ReadFile(path)
			require.NoError(t, err)
			read := func() ([]byte, error) {
				r, err := f.OpenWhole(blob.Name, blob.Size, blob.SHA256[:])
				if err != nil {
					return nil, err
				}
				defer r.Close()
				return io.ReadAll(r)
			}
			for n := range *flips {
				seed := *first + uint64(n)
				rng := rand.New(rand.NewPCG(seed, 1))
				at, bit := rng.IntN(len(whole)), rng.IntN(8)
				changed := bytes.Clone(whole)
				changed[at] ^= 1 << bit
				require.NoError(t, os.WriteFile(path, changed, 0o600))
				got, err := read()
				require.ErrorIs(t, err, store.ErrUnreadable, "seed %d: bit %d of byte %d", seed, bit, at)
				require.Less(t, len(got), len(want))
			}
			require.NoError(t, os.WriteFile(path, whole, 0o600))
			got, err := read()
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))
			t.Logf("%d bits flipped from seed %d: all named as unreadable", *flips, *first)
		})
	}
}
