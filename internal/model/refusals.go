package model

import (
	"slices"
	"time"
)

const (
	// refusedExports is after how many different refused exports, with none received since, an integration counts as
	// refusing: one refused body is the body's fault.
	refusedExports = 10
	// refusedAttempts is of how many attempts in an hour at least more than half must be refused for the same.
	refusedAttempts = 10
	// acceptedAgain is after how many received attempts in a row what was refused before is forgotten.
	acceptedAgain = 3
)

// Refusals counts the attempts that an integration refused for their data, from the first refusal until it received
// three attempts in a row. Its JSON is stored.
type Refusals struct {
	Since    time.Time `json:"since,omitzero"` // of the first one; zero: nothing was refused
	Attempts int64     `json:"attempts"`       // since then
	Refused  int64     `json:"refused"`        // of these
	Status   int       `json:"status"`         // that the last one was answered with
	Refusing bool      `json:"refusing"`       // it refuses more than single bodies

	InRow    int64     `json:"inRow"`            // refused since an attempt was not
	Received int64     `json:"received"`         // in a row, up to the last attempt
	First    int64     `json:"first"`            // the ID of the first export that was refused
	Several  bool      `json:"several"`          // others were refused as well
	Exports  []int64   `json:"exports,omitzero"` // different ones that were refused since one was received, 10 at most
	Hour     time.Time `json:"hour,omitzero"`    // the begin of the hour of the last attempt, with those in it
	InHour   int64     `json:"inHour"`
	OfHour   int64     `json:"ofHour"` // of these, the refused ones
}

// Add takes over an attempt for an export, which ended at a time.
func (r *Refusals) Add(export int64, fault Class, status int, at time.Time) {
	if r.Since.IsZero() && fault != ClassDataFault {
		return
	}
	if hour := at.UTC().Truncate(time.Hour); !hour.Equal(r.Hour) {
		r.Hour, r.InHour, r.OfHour = hour, 0, 0
	}
	r.Attempts++
	r.InHour++
	switch fault {
	case ClassDataFault:
		r.refuse(export, status, at)
		r.Refusing = r.Refusing || len(r.Exports) >= refusedExports || r.mostly()
	case "":
		r.InRow, r.Exports = 0, nil
		if r.Received++; r.Received >= acceptedAgain {
			*r = Refusals{}
			return
		}
		r.Refusing = r.Refusing && r.mostly()
	default:
		r.InRow, r.Received = 0, 0
	}
}

func (r *Refusals) refuse(export int64, status int, at time.Time) {
	if r.Since.IsZero() {
		r.Since, r.First = at, export
	}
	r.Refused++
	r.OfHour++
	r.InRow++
	r.Received, r.Status = 0, status
	r.Several = r.Several || export != r.First
	if len(r.Exports) < refusedExports && !slices.Contains(r.Exports, export) {
		r.Exports = append(r.Exports, export)
	}
}

// mostly reports whether most of the attempts in this hour were refused, and not for a single export.
func (r *Refusals) mostly() bool {
	return r.Several && r.InHour >= refusedAttempts && 2*r.OfHour > r.InHour
}
