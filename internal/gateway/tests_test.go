package gateway

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ten tests a minute of one caller, and sixty of all.
func TestTestsAreLimited(t *testing.T) {
	t.Parallel()
	var tests Tests
	now := time.Now()
	for range testsOfOne {
		require.Zero(t, tests.Take("ops", now))
	}
	require.InDelta(t, time.Minute/testsOfOne, tests.Take("ops", now), float64(time.Millisecond))
	require.Zero(t, tests.Take("ops", now.Add(time.Minute/testsOfOne)))
	later := now.Add(time.Hour)
	for n := range testsOfAll {
		require.Zero(t, tests.Take("caller-"+strconv.Itoa(n), later))
	}
	require.Positive(t, tests.Take("another", later))
}
