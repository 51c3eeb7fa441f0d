package model

import "time"

// TookBounds are the upper bounds of the buckets that attempts are counted in by how long they took. What took longer
// is in the last one.
var TookBounds = [...]time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 20 * time.Second,
}

// Tally counts the attempts at an integration in some time.
type Tally struct {
	Attempts, Delivered               int64
	PartnerFault, DataFault, OurFault int64
	Took                              [len(TookBounds)]int64 // by TookBounds
}

// Add counts an attempt. fault is who has to look at its failure; empty: it was received.
func (t *Tally) Add(fault Class, took time.Duration) {
	t.Attempts++
	switch fault {
	case "":
		t.Delivered++
	case ClassDataFault:
		t.DataFault++
	case ClassPartnerFault:
		t.PartnerFault++
	default:
		t.OurFault++
	}
	bucket := 0
	for bucket < len(TookBounds)-1 && took > TookBounds[bucket] {
		bucket++
	}
	t.Took[bucket]++
}

// Quantile is how long a share q of the attempts took at most, between 0 and 1, as far as the buckets tell: it is
// interpolated within one. It is 0 without attempts.
func (t *Tally) Quantile(q float64) time.Duration {
	rank, below := q*float64(t.Attempts), 0.0
	for n, count := range t.Took {
		if in := float64(count); count > 0 && below+in >= rank {
			from := time.Duration(0)
			if n > 0 {
				from = TookBounds[n-1]
			}
			return from + time.Duration(float64(TookBounds[n]-from)*(rank-below)/in)
		}
		below += float64(count)
	}
	return 0
}

// What people call an integration that may get exports, by how these went; without one of these it is Configured.
const (
	Failing  = "failing"  // its last attempts failed
	Refusing = "refusing" // it answers, and refuses most of what it gets for its data
	Unproven = "unproven" // nothing was delivered to it yet
)

// Standings are all states in which people see an integration.
var Standings = []string{string(Configured), Unproven, Refusing, Failing, string(NotConfigured), string(Disabled)}

// BreakAfter is after how many failures in a row, over all exports of an integration, the breaker opens: the integration
// is down, and asking it for each export would only make its return harder.
const BreakAfter = 10

// FailingAfter is after how many failures in a row an integration counts as failing: a few come and go.
const FailingAfter = 3

// Health sums up the last attempts at an integration.
type Health struct {
	LastSuccess  time.Time // zero: there was none
	Recovered    time.Time // the last success after it was failing; zero: none
	Failures     int64     // since the last success, without those that the data was to blame for
	FailingSince time.Time // the first of them; zero: the last attempt was received
	Class        Class     // of the last one
	Reason       string    // of the last one, a sentence for people
	Refusals     Refusals
}

// Failing reports whether the integration does not take exports at present.
func (h *Health) Failing() bool { return h.Failures >= FailingAfter }

// Refusing reports whether the integration answers, and refuses what it gets. It is failing rather than refusing while
// its last attempts failed otherwise.
func (h *Health) Refusing() bool {
	return h.Refusals.Refusing && (!h.Failing() || h.Refusals.InRow >= FailingAfter)
}

// Add takes over an attempt that ended at a time.
func (h *Health) Add(fault Class, reason string, at time.Time) {
	switch fault {
	case "":
		if h.Failing() {
			h.Recovered = at
		}
		h.LastSuccess, h.Failures, h.FailingSince, h.Class, h.Reason = at, 0, time.Time{}, "", ""
	case ClassDataFault: // the integration works, and refuses this body
	default:
		if h.Failures++; h.Failures == 1 {
			h.FailingSince = at
		}
		h.Class, h.Reason = fault, reason
	}
}
