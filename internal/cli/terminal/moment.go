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
	ago, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		ago = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%s is no time: write one such as 2026-11-20T12:00:00Z, or how long ago it is, "+
			"such as 90m, 24h or 7d", Printable(text))
	}
	return now.Add(-ago), nil
}
