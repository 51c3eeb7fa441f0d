package api

import "time"

// Overview says what came, was delivered and waited, by the quarter of an hour.
type Overview struct {
	// those in which there was anything, the first one first; the present one is up to a minute late
	Quarters []Quarter `json:"quarters"`
}

// Quarter sums up a quarter of an hour.
type Quarter struct {
	Begin     time.Time `json:"quarter"`       // when it began
	Received  int64     `json:"received"`      // exports that came, or began here
	Delivered int64     `json:"delivered"`     // attempts that integrations received
	Waiting   int64     `json:"waiting"`       // deliveries that waited at once, at most
	Oldest    float64   `json:"oldestSeconds"` // that the oldest of them waited, at most
}
