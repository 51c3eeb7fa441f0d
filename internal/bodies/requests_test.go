package bodies_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/bodies"
)

// begin begins requests from an address until one is refused, and returns how many there are, and what ends them.
func begin(q *bodies.Requests, address string) (n int, ends []func()) {
	for {
		end, ok := q.Begin(address)
		if !ok {
			return n, ends
		}
		n, ends = n+1, append(ends, end)
	}
}

func TestAnAddressGetsHalfOfTheRequests(t *testing.T) {
	q := bodies.NewRequests()
	first, ends := begin(q, "192.0.2.1")
	require.Equal(t, 2048, first)
	other, _ := begin(q, "2001:db8::1")
	require.Equal(t, 2048, other, "an address holds up another")
	third, _ := begin(q, "192.0.2.2")
	require.Zero(t, third, "there is no bound for all")
	ends[0]()
	_, ok := q.Begin("2001:db8::2")
	require.False(t, ok, "an IPv6 network counts as many addresses")
	_, ok = q.Begin("192.0.2.1")
	require.True(t, ok)
}

func TestAnEmptyAddressCountsInTheTotalOnly(t *testing.T) {
	q := bodies.NewRequests()
	all, _ := begin(q, "")
	require.Equal(t, 4096, all)
	_, ok := q.Begin("192.0.2.1")
	require.False(t, ok)
}

// What waits for its body is bounded by memory, where it gives way to others: there must be room for all that may wait.
func TestMoreMemoryAllowsMoreRequests(t *testing.T) {
	q := bodies.NewRequests()
	q.Configure(1 << 30)
	one, _ := begin(q, "192.0.2.1")
	require.Equal(t, 32_768, one)
	q.Configure(1 << 20)
	_, ok := q.Begin("192.0.2.2")
	require.False(t, ok)
}

func TestRequestsThatEndMakeRoom(t *testing.T) {
	q := bodies.NewRequests()
	var all sync.WaitGroup
	for n := range 64 {
		all.Go(func() {
			for range 1000 {
				if end, ok := q.Begin(fmt.Sprintf("192.0.2.%d", n%4)); ok {
					end()
				}
			}
		})
	}
	all.Wait()
	n, _ := begin(q, "192.0.2.1")
	require.Equal(t, 2048, n)
}
