package model_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hiregate/hiregate/internal/model"
)

func TestDefaultSchedule(t *testing.T) {
	t.Parallel()
	want := []time.Duration{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, time.Hour, time.Hour, time.Hour,
	}
	for i, gap := range want {
		require.Equal(t, gap, model.DefaultSchedule.Backoff(i+1, 0.5), "after attempt %d", i+1)
		require.Equal(t, gap, model.Schedule(nil).Backoff(i+1, 0.5), "no schedule is the default one")
	}
	require.Equal(t, time.Hour, model.DefaultSchedule.Backoff(10_000, 0.5))
	require.Equal(t, 5*time.Second, model.DefaultSchedule.Backoff(0, 0.5), "no attempt counts as one")
}

func TestGapJitter(t *testing.T) {
	t.Parallel()
	s := model.Schedule{10 * time.Second}
	require.Equal(t, 8*time.Second, s.Backoff(1, 0))
	require.InDelta(t, 12*time.Second, s.Backoff(1, 0.999999), float64(10*time.Millisecond))
	rapid.Check(t, func(t *rapid.T) {
		s := model.Schedule(rapid.SliceOfN(rapid.Map(rapid.Int64Range(int64(10*time.Millisecond), int64(24*time.Hour)),
			func(n int64) time.Duration { return time.Duration(n) }), 1, 32).Draw(t, "schedule"))
		attempts := rapid.IntRange(1, 100).Draw(t, "attempts")
		rnd := rapid.Float64Range(0, 0.9999999).Draw(t, "rnd")
		entry := float64(s[min(attempts, len(s))-1])
		require.InDelta(t, entry, float64(s.Backoff(attempts, rnd)), 0.2*entry+1)
	})
}

func TestParseSchedule(t *testing.T) {
	t.Parallel()
	s, err := model.ParseSchedule([]string{"10ms", "1m30s", "24h"})
	require.NoError(t, err)
	require.Equal(t, model.Schedule{10 * time.Millisecond, 90 * time.Second, 24 * time.Hour}, s)
	_, err = model.ParseSchedule(slices.Repeat([]string{"1s"}, 32))
	require.NoError(t, err)

	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "at least one gap"},
		{slices.Repeat([]string{"1s"}, 33), "at most 32 gaps, not 33"},
		{[]string{"5"}, `"5" is not a duration: write it as 30s, 5m or 1h`},
		{[]string{"1s", "soon"}, `"soon" is not a duration`},
		{[]string{"0s"}, `"0s" is out of range: use 10ms to 24h0m0s`},
		{[]string{"-1s"}, `"-1s" is out of range`},
		{[]string{"9ms"}, `"9ms" is out of range`},
		{[]string{"24h1s"}, `"24h1s" is out of range`},
	} {
		_, err := model.ParseSchedule(c.args)
		require.ErrorContains(t, err, c.want)
	}
}
