// Package wait waits, and says for how long.
package wait

import (
	"context"
	"math/rand/v2"
	"time"
)

// Jittered spreads a delay by a fifth to either side, so that what waits together does not come back together.
func Jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// Later returns the later of two times.
func Later(at, other time.Time) time.Time {
	if at.Before(other) {
		return other
	}
	return at
}

// For waits for a time, and reports whether it passed before ctx ended.
func For(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
