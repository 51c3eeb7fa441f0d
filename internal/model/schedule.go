package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// Words returns the gaps as ParseSchedule reads them.
func (s Schedule) Words() []string {
	words := make([]string, len(s))
	for n, gap := range s {
		words[n] = gap.String()
	}
	return words
}

// String returns the gaps with spaces between them.
func (s Schedule) String() string { return strings.Join(s.Words(), " ") }

func (s Schedule) MarshalJSON() ([]byte, error) { return json.Marshal(s.Words()) }

// UnmarshalJSON reads a list of durations; an empty one and null are no schedule. An *InvalidError says what is wrong with
// one that breaks a rule.
func (s *Schedule) UnmarshalJSON(raw []byte) (err error) {
	var words []string
	if err := json.Unmarshal(raw, &words); err != nil {
		return err
	}
	if *s = nil; len(words) == 0 {
		return nil
	}
	if *s, err = ParseSchedule(words); err != nil {
		return &InvalidError{Faults: []string{err.Error()}}
	}
	return nil
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
