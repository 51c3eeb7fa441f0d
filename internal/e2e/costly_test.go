package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFaultyBodiesHurtNobody sends 64 bodies at a time of acme that are wrong in tens of thousands of places, to a
// gateway that has 512 MiB, and exports of another tenant beside them.
func TestFaultyBodiesHurtNobody(t *testing.T) {
	const senders, exports, most = 64, 200, 700 << 20
	s := newReceiver(t, setup{
		options: "tenant globex {\nsecret " + inboundSecret + "\n}",
		env:     []string{"GOMEMLIMIT=512MiB"},
	})
	alone := s.acknowledged("globex", exports)
	tooLong, withinLimits := faulty(9_999), faulty(1_999)
	require.Greater(t, len(tooLong), 380_000)

	done := make(chan struct{})
	var all sync.WaitGroup
	var mu sync.Mutex
	answers := map[int]int{}
	for n := range senders {
		all.Go(func() {
			for i := 0; ; i++ {
				for _, body := range [][]byte{tooLong, withinLimits} {
					status, _, err := s.send(fmt.Sprintf("faulty-%d-%d", n, i), body)
					assert.NoError(t, err)
					mu.Lock()
					answers[status]++
					mu.Unlock()
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	beside := s.acknowledged("globex", exports)
	close(done)
	all.Wait()
	require.False(t, s.gateway.hasEnded())
	for status := range answers {
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}, status)
	}
	require.NotZero(t, answers[http.StatusUnprocessableEntity])
	require.Less(t, slices.Max(beside), patience)
	peak := s.gateway.peakMemory()
	t.Logf("answers %v; %d exports of another tenant acknowledged: p99 %s alone, %s beside; the gateway took %d MiB at most",
		answers, exports, percentile(alone, 99), percentile(beside, 99), peak>>20)
	require.Less(t, peak, most)
}

// faulty is an export with two lists of n objects, whose members are all wrong.
func faulty(n int) []byte {
	list := "[" + strings.TrimSuffix(strings.Repeat(`{"id":1,"name":777},`, n), ",") + "]"
	return fmt.Appendf(nil, `{"candidate":{"alternateIds":%[1]s,"person":{"id":{},"customFields":%[1]s}}}`, list)
}
