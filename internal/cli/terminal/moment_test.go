package terminal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseEnd(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-24T13:00:01+01:00": now.Add(time.Second), "90m": now.Add(90 * time.Minute), "7d": now.Add(7 * 24 * time.Hour),
	} {
		got, err := ParseEnd(text, now)
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s: %s", text, got)
	}
	for _, text := range []string{"", "tomorrow", "0s", "-1h", "0d", "2026-11-25"} {
		_, err := ParseEnd(text, now)
		require.ErrorContains(t, err, "no time to come", text)
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-20T12:00:00Z":      time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		"2026-11-20T13:00:00+01:00": time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		"90m":                       now.Add(-90 * time.Minute),
		"24h":                       now.Add(-24 * time.Hour),
		"7d":                        now.Add(-7 * 24 * time.Hour),
		"0s":                        now,
	} {
		got, err := ParseTime(text, now)
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s: %s", text, got)
	}
	for _, text := range []string{"", "yesterday", "-1h", "-1d", "1.5d", "24", "2026-11-20"} {
		_, err := ParseTime(text, now)
		require.ErrorContains(t, err, "how long ago", text)
	}
}
