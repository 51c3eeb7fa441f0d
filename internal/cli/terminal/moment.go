package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseTime reads a time, as RFC 3339 writes it, or how long it is before now: 90m, 24h, 7d.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	ago, err := parseDays(text)
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%s is no time: write one such as 2026-11-20T12:00:00Z, or how long ago it is, "+
			"such as 90m, 24h or 7d", Printable(text))
	}
	return now.Add(-ago), nil
}

// ParseEnd reads a time, as RFC 3339 writes it, or how long it is after now: 90m, 24h, 7d. Whether a time is past, the
// gateway's clock decides.
func ParseEnd(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	after, err := parseDays(text)
	if err != nil || after <= 0 {
		return time.Time{}, fmt.Errorf("%s is no time to come: write one such as 2026-11-20T12:00:00Z, or how long it is until then, "+
			"such as 90m, 24h or 7d", Printable(text))
	}
	return now.Add(after), nil
}

// parseDays reads a duration, which may be in days.
func parseDays(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}
