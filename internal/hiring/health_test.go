package hiring_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

func TestTally(t *testing.T) {
	var tally hiring.Tally
	require.Zero(t, tally.Quantile(0.5))
	for n := range 90 {
		tally.Add("", time.Duration(n%10)*time.Millisecond/10) // up to 1 ms
	}
	for range 8 {
		tally.Add(hiring.ClassPartnerFault, 2*time.Second)
	}
	tally.Add(hiring.ClassDataFault, time.Minute)
	tally.Add(hiring.ClassOurFault, 20*time.Second)
	require.Equal(t, []int64{100, 90, 8, 1, 1},
		[]int64{tally.Attempts, tally.Delivered, tally.PartnerFault, tally.DataFault, tally.OurFault})
	require.InDelta(t, 0.005*50/90, tally.Quantile(0.5).Seconds(), 1e-6, "within the first bucket")
	require.InDelta(t, 1.0+1.5*5/8, tally.Quantile(0.95).Seconds(), 1e-6, "the fifth of the eight between 1 and 2.5 s")
	require.Equal(t, 20*time.Second, tally.Quantile(1))
}

func TestHealth(t *testing.T) {
	at := time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	var h hiring.Health
	next := func(fault hiring.Class) {
		at = at.Add(time.Second)
		h.Add(fault, "because", at)
	}
	next("")
	require.Equal(t, hiring.Health{LastSuccess: at}, h)
	next(hiring.ClassPartnerFault)
	since := at
	next(hiring.ClassDataFault)
	next(hiring.ClassPartnerFault)
	require.False(t, h.Failing(), "the data was to blame once")
	next(hiring.ClassOurFault)
	require.True(t, h.Failing())
	require.Equal(t, since, h.FailingSince)
	require.Equal(t, hiring.ClassOurFault, h.Class)
	next("")
	require.Equal(t, hiring.Health{LastSuccess: at, Recovered: at}, h)
	recovered := at
	next("")
	require.Equal(t, recovered, h.Recovered, "it was well already")
}
