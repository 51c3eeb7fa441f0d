package egress_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/egress"
)

// Each of ten thousand owners keeps its client for as long as it keeps its setting, and has one alone.
func TestClientsAreKept(t *testing.T) {
	t.Parallel()
	g := egress.New(egress.Policy{})
	defer g.Close()
	built := 0
	client := func(owner int, setting string) *http.Client {
		return g.Kept(fmt.Sprint(owner), sha256.Sum256([]byte(setting)), func() *http.Client {
			built++
			return new(http.Client)
		})
	}
	first := map[int]*http.Client{}
	for n := range 10_000 {
		first[n] = client(n, "first")
	}
	for n := range 10_000 {
		require.Same(t, first[n], client(n, "first"))
	}
	second := client(0, "second")
	require.NotSame(t, first[0], second)
	require.Same(t, second, client(0, "second"))
	require.NotSame(t, first[0], client(0, "first"), "the client of a setting that is no longer there was kept")
	require.Equal(t, 10_002, built)
}
