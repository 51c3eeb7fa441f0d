package webhook

import (
	"errors"
	"fmt"
	"time"
)

// Schedule is the gaps between the attempts of one delivery. After its last entry it goes on with that entry. The empty
// schedule stands for DefaultSchedule.
type Schedule []time.Duration

// DefaultSchedule is the schedule of an integration without a `retry` directive.
var DefaultSchedule = Schedule{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
}

// Jitter is how far a gap may be from its entry in the schedule, as a share of it: ±20 %.
const Jitter = 0.2

const (
	maxGaps = 32
	minGap  = 10 * time.Millisecond
	maxGap  = 24 * time.Hour
)

// ParseSchedule reads the arguments of the `retry` directive: 1 to 32 durations such as 5s, 2m or 1h, each from 10ms to
// 24h.
func ParseSchedule(args []string) (Schedule, error) {
	if len(args) == 0 {
		return nil, errors.New("retry needs at least one gap between attempts: write durations such as `retry 5s 30s 2m 1h`")
	}
	if len(args) > maxGaps {
		return nil, fmt.Errorf("retry takes at most %d gaps, not %d: the last one repeats by itself", maxGaps,
			len(args))
	}
	s := make(Schedule, len(args))
	for i, arg := range args {
		gap, err := time.ParseDuration(arg)
		if err != nil {
			return nil, fmt.Errorf("retry gap %q is not a duration: write it as 30s, 5m or 1h", arg)
		}
		if gap < minGap || gap > maxGap {
			return nil, fmt.Errorf("retry gap %q is out of range: use %v to %v", arg, minGap, maxGap)
		}
		s[i] = gap
	}
	return s, nil
}

// Backoff returns how long to wait after so many attempts (1 or more), jittered: rnd in [0,1) picks the point between
// −20 % and +20 %.
func (s Schedule) Backoff(attempts int, rnd float64) time.Duration {
	if len(s) == 0 {
		s = DefaultSchedule
	}
	gap := s[min(max(attempts, 1), len(s))-1]
	return time.Duration(float64(gap) * (1 - Jitter + 2*Jitter*rnd))
}
