package check

import (
	"context"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/wait"
)

// A Retry-After up to longestWait is waited for, mostWaits times for one request.
const (
	longestWait = 10 * time.Second
	mostWaits   = 2
)

// postponement returns the time after which an answer asks for its request again, if that can be waited for; otherwise 0.
func postponement(status int, after time.Duration) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable || after > longestWait {
		return 0
	}
	return after
}

// patiently makes a request, again while it is postponed for a time above 0.
func patiently[T any](ctx context.Context, request func() T, postponed func(T) time.Duration) T {
	for times := 1; ; times++ {
		answer := request()
		after := postponed(answer)
		if times > mostWaits || after <= 0 || !wait.For(ctx, after) {
			return answer
		}
	}
}
