package model

import "time"

// ShortestKept and LongestKept are for how many days job applications can be kept. An export of one is tried, and its
// documents are offered, for less.
const (
	ShortestKept = 4
	LongestKept  = 36_500
)

// ApplicationRetention says for how long job applications are kept: those of a job, or all others of a tenant.
type ApplicationRetention struct {
	Tenant      string
	Job         string        // its job board code; empty: it is the tenant's
	Kept        time.Duration // from EffectiveAt on
	Former      time.Duration // before; 0: for ever
	EffectiveAt time.Time
	Announced   int64 // how many job applications of the tenant are erased up to then
}

// At returns for how long job applications are kept at a time; 0: for ever.
func (r *ApplicationRetention) At(now time.Time) time.Duration {
	if now.Before(r.EffectiveAt) {
		return r.Former
	}
	return r.Kept
}
