package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// RetryAfter is the error with which an activity asks Temporal to run it again after a delay. class says why, in a
// fixed word; status is the HTTP status of the answer, or 0.
func RetryAfter(class string, status int, delay time.Duration) error {
	return RetryAfterText(class, Reason(class, status), delay)
}

// Reason formats why something waits: its class, in a fixed word, and the HTTP status of the answer, or 0.
func Reason(class string, status int) string {
	if status == 0 {
		return class
	}
	return fmt.Sprintf("%s: status %d", class, status)
}

// RetryAfterText is RetryAfter for an activity that may wait for several things. text says for which, in fixed words and
// counters. Temporal's UI shows the details, of which there must be no more than a KiB or two.
func RetryAfterText(class, text string, delay time.Duration, details ...any) error {
	return temporal.NewApplicationErrorWithOptions(text, class, temporal.ApplicationErrorOptions{
		NextRetryDelay: max(delay, time.Millisecond),
		Details:        details,
		Category:       temporal.ApplicationErrorCategoryBenign, // it is waiting, not broken: the SDK need not log it
	})
}

// Beat sends an activity's heartbeats until stop is called. A short activity ends before its first.
func Beat(ctx context.Context) (stop func()) {
	return BeatWith(ctx, func() []any { return nil })
}

// BeatWith is Beat with details, which Temporal's UI shows.
func BeatWith(ctx context.Context, details func() []any) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(4 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				activity.RecordHeartbeat(ctx, details()...)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
