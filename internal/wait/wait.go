// Package wait waits.
package wait

import (
	"context"
	"time"
)

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
