package model

import "time"

// CatchUp makes the deliveries due that wait for their next attempt at an integration, the oldest first: once the
// integration takes exports again, or when an operator asks for it. There is one for each integration at most.
type CatchUp struct {
	Place
	BeganAt  time.Time // it comes to what was not attempted since
	Asked    bool      // an operator asked for it: it also comes to what the integration refused because of the data
	After    int64     // the last export that it came to
	Received int64     // deliveries that were received
	Failed   int64     // deliveries that failed once more, and wait for their next attempt again
	Reason   string    // why it ended before it came to all, a sentence for people
	EndedAt  time.Time // zero: it is running
	Before   int64     // it comes to no export from this id on; 0: it comes to all
}

// CatchUpPage returns how many deliveries of an integration are made due at a time: a few more than may be under way,
// so that each page is attempted at once.
func CatchUpPage(i *Integration) int {
	const least, most = 20, 200
	return min(max(2*i.AtOnce(), least), most)
}
