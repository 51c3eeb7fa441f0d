package model

import (
	"fmt"
	"time"
)

// Remark counts requests that came for a tenant: exports with a right signature that had a deviation or were refused, and
// all by their result.
type Remark struct {
	Tenant string
	Kind   RemarkKind
	Name   string // of the deviation; else the result, as in hiregate_received_total
	Count  int64  // since First
	First  time.Time
	Last   time.Time
	// Rule and Pointer (RFC 6901) say what was the matter with the last one. They hold no value of a body.
	Rule, Pointer string
}

// RemarkKind says what a remark counts.
type RemarkKind string

// The kinds of remarks.
const (
	DeviationAccepted RemarkKind = "deviation"
	ExportRefused     RemarkKind = "refused"
	VerifyAnswered    RemarkKind = "verified" // a verification event was answered with 200
	RequestReceived   RemarkKind = "received" // a request of anybody, whatever came of it
)

// RemarkKinds are all kinds of remarks.
var RemarkKinds = []RemarkKind{DeviationAccepted, ExportRefused, VerifyAnswered, RequestReceived}

// Gap is the time after the last one of a kind from which on it counts as over: it is not shown any more, and the next
// one begins a count of its own.
func (k RemarkKind) Gap() time.Duration {
	switch k {
	case ExportRefused:
		return 24 * time.Hour
	case VerifyAnswered:
		return 50 * 365 * 24 * time.Hour // it is known for good
	case RequestReceived:
		return 90 * 24 * time.Hour
	}
	return 7 * 24 * time.Hour
}

// DeviationPolicy decides about an export with listed deviations and no other fault.
type DeviationPolicy string

// The policies for deviations.
const (
	AcceptDeviations     DeviationPolicy = "" // they are accepted and noted
	RefuseDeviations     DeviationPolicy = "refuse"
	QuarantineDeviations DeviationPolicy = "quarantine"
)

// ParseDeviations reads what becomes of exports with deviations. Without a word, or with accept, they are accepted.
func ParseDeviations(s string) (DeviationPolicy, error) {
	switch p := DeviationPolicy(s); p {
	case AcceptDeviations, RefuseDeviations, QuarantineDeviations:
		return p, nil
	case "accept":
		return AcceptDeviations, nil
	}
	return "", fmt.Errorf("deviations %q is unknown: write accept, refuse or quarantine", s)
}

// Word returns the policy as people write it.
func (p DeviationPolicy) Word() string {
	if p == AcceptDeviations {
		return "accept"
	}
	return string(p)
}
