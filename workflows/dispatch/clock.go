package dispatch

import (
	"math"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

const (
	// startsApart is how long after a start the next one is at the earliest, where hardly any exports come.
	startsApart = 15 * time.Millisecond
	// startsApartPer is how much longer for each export a second. One whose documents are fetched counts fetchedCosts times:
	// its workflow has two activities more, and its first attempt waits for the documents anyway.
	startsApartPer = 70 * time.Microsecond
	fetchedCosts   = 4
	// startsApartMost is the longest.
	startsApartMost = 100 * time.Millisecond
	// rateOver is over how long the exports a second are measured: those of so long ago count 1/e.
	rateOver = 500 * time.Millisecond
)

// startClock spaces the starts of workflows of one node: each costs Temporal the same, whatever is in it. The more
// exports come, the further the starts are apart. An export that comes alone waits for nothing.
type startClock struct {
	count float64   // of exports that were offered, as of at
	at    time.Time // when the last one was
	next  time.Time // no start before, unless a full group waits
}

// offered counts an export.
func (c *startClock) offered(e *model.Export, now time.Time) {
	costs := 1.0
	if fetches(e) {
		costs = fetchedCosts
	}
	c.count, c.at = c.counted(now)+costs, now
}

// started sets when the next start may be.
func (c *startClock) started(now time.Time) {
	perSecond := c.counted(now) / rateOver.Seconds()
	c.next = now.Add(min(startsApartMost, startsApart+time.Duration(perSecond*float64(startsApartPer))))
}

func (c *startClock) counted(now time.Time) float64 {
	return c.count * math.Exp(-now.Sub(c.at).Seconds()/rateOver.Seconds())
}
