package api

import (
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// GatewayStatus says what needs a person, and how all integrations do.
type GatewayStatus struct {
	// what a person has to look at, the worst first; empty: nothing needs you
	Needs []model.Need `json:"needs" schema:"maxItems=500"`
	// how many needs are left out: those that are less urgent, and those before from
	OmittedNeeds int `json:"omittedNeeds"`
	// how many needs there are by tenant, with those that are left out; under the empty name those that concern all tenants
	NeedsOf map[string]int64 `json:"needsOf"`
	// needs whose cause is acknowledged, each cause once: they are not counted
	Acknowledged []model.Need        `json:"acknowledged,omitempty" schema:"maxItems=500"`
	Integrations []StatusIntegration `json:"integrations" schema:"maxItems=500"` // the worst first
	// deviations that exports had lately, by tenant: nobody has to do anything, since those were accepted
	Deviations []Remark `json:"deviations" schema:"maxItems=500"`
	// what was erased again when the gateway that answers started, because its database was older than its list of erasures
	ErasedAgain *ErasedAgain `json:"erasedAgain,omitempty"`
	// how many integrations are left out: those that do better, and those before from
	Omitted int `json:"omitted"`
	// how many integrations are in each state, with those that are left out
	States map[string]int64 `json:"states"`
	// how many of them need nobody, by state
	Quiet map[string]int64 `json:"quiet"`
	// how many deliveries wait, with those to integrations that are left out
	Waiting int64 `json:"waiting"`
	// how many of these wait for an integration that needs a person
	Stuck         int64     `json:"stuck"`
	OldestWaiting time.Time `json:"oldestWaiting,omitzero"` // since when the oldest of them waits; absent: none does
	Clocks        Clocks    `json:"clocks"`
}

// Clocks are the two times after which something is lost: an export is delivered within 72 hours, and a document of the
// service fetched within 2 h 30 min.
type Clocks struct {
	Delivery  DeliveryClock `json:"delivery"`
	Documents DocumentClock `json:"documents"`
}

// DeliveryClock counts the deliveries that wait.
type DeliveryClock struct {
	Waiting int64     `json:"waiting"`
	Held    int64     `json:"held"`            // of these, those that are held: they do not end
	LostAt  time.Time `json:"lostAt,omitzero"` // when the first of them is given up; absent: none is
	Lost    int64     `json:"lost"`            // how many were given up in the last 24 hours, and not redelivered; at most 2,000
}

// DocumentClock counts the documents of services that are still to be fetched.
type DocumentClock struct {
	ToFetch int64     `json:"toFetch"`
	Late    int64     `json:"late"`            // of these, those that were tried in vain: they can still be fetched
	More    bool      `json:"more,omitzero"`   // only the 10,000 that are lost first were counted
	LostAt  time.Time `json:"lostAt,omitzero"` // when the first of them is lost; absent: there are none
	Lost    LostCount `json:"lost"`            // of the last 24 hours
}

// LostCount counts documents that can't be fetched any more, by whose fault that is; at most 10,000.
type LostCount struct {
	Service int64 `json:"service"` // it did not give them out
	Ours    int64 `json:"ours"`    // they could not be stored, egress refused their address, or their URLs ended before the first try
}

// All returns how many documents were lost.
func (l LostCount) All() int64 { return l.Service + l.Ours }

// AllNeeds returns how many needs there are, with those that are left out.
func (s *GatewayStatus) AllNeeds() (n int) { return len(s.Needs) + s.OmittedNeeds }

// AllIntegrations returns how many integrations there are, with those that are left out.
func (s *GatewayStatus) AllIntegrations() int { return len(s.Integrations) + s.Omitted }

// ErasedAgain says what a gateway erased again at its start.
type ErasedAgain struct {
	At         time.Time `json:"at"`
	Entries    int64     `json:"entries"` // of the list that the database did not know
	Exports    int       `json:"exports"`
	Candidates int       `json:"candidates"`
}

// StatusIntegration is an integration and how it does, in the status of all.
type StatusIntegration struct {
	IntegrationHealth
	// of the last hours, those with attempts, the first one first; absent: they were not asked for
	Hours []HourTally `json:"hours,omitzero"`
}

// IntegrationHealth is an integration and how it does.
type IntegrationHealth struct {
	Integration
	// the state of the integration, or how a configured one does. unproven: nothing was delivered to it yet. failing:
	// its last three attempts failed, or more, without those that it refused for their data. refusing: it refused ten
	// different exports for their data and received none since, or most of at least ten attempts in an hour; it ends
	// with the first export that it receives, or with three in a row while most of the hour was refused
	State  string `json:"state" schema:"enum=configured|unproven|refusing|failing|not_configured|disabled|removed"`
	Reason string `json:"reason,omitempty"`
	// the reason taken apart; absent: there is none, or it has no code
	Why   *model.Reason `json:"why,omitempty"`
	Since time.Time     `json:"since,omitzero"` // when the state began; absent: nothing was sent yet
	// how many exports are not delivered to it yet: pending, retrying, held, or waiting for Temporal
	Waiting int64 `json:"waiting"`
	// since when the oldest of them waits: since it came, or was redelivered
	OldestWaiting time.Time `json:"oldestWaiting,omitzero"`
	// when the first of them is given up: 72 hours after it came or, of an export that begins here, at the end of its
	// document URLs; absent: nothing waits, or all that waits is held
	LostAt      time.Time `json:"lostAt,omitzero"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"` // when it received an export last; absent: never
	// failed attempts since then, without those that it refused for their data
	Failures int64       `json:"consecutiveFailures"`
	Breaker  Breaker     `json:"breaker"`
	Day      Rates       `json:"lastDay"`
	Week     Rates       `json:"lastWeek"`
	Need     *model.Need `json:"need,omitempty"` // what a person has to look at; absent: nothing
}

// Breaker is the circuit breaker of an integration, in the node that answers. It is open after ten failures in a row:
// no attempt is made until nextProbe.
type Breaker struct {
	State     string    `json:"state" schema:"enum=closed|open"`
	NextProbe time.Time `json:"nextProbe,omitzero"`
}

// Tally counts the attempts of some time.
type Tally struct {
	Attempts     int64 `json:"attempts"`
	Delivered    int64 `json:"delivered"`
	PartnerFault int64 `json:"partnerFault"` // no answer, or one that is neither 2xx nor about the data
	DataFault    int64 `json:"dataFault"`    // refused for their data: 400, 413, 415 or 422
	OurFault     int64 `json:"ourFault"`     // refused by egress
}

// HourTally counts the attempts of an hour.
type HourTally struct {
	Begin time.Time `json:"hour"` // when it began
	Tally
}

// Rates counts the attempts of some time, and says how long they took.
type Rates struct {
	Tally
	// the share of the attempts that was received, from 0 to 1; absent: there were none
	SuccessRate *float64 `json:"successRate,omitempty"`
	P50         float64  `json:"p50Ms,omitzero"` // half of the attempts took at most this long
	P95         float64  `json:"p95Ms,omitzero"` // 95 of 100 attempts took at most this long
}

// Hour counts the attempts of an hour, and says how long they took.
type Hour struct {
	Begin time.Time `json:"hour"` // when it began
	Rates
}

// IntegrationHours is how an integration does, and its attempts by hour.
type IntegrationHours struct {
	IntegrationHealth
	RotatedBy *model.Author `json:"rotatedBy,omitempty"` // who began the rotation of its secret; absent: it is not known
	Hours     []Hour        `json:"hours"`               // the hours with attempts, the first one first
}

// Failures groups the deliveries that ended without being received.
type Failures struct {
	Items []FailureGroup `json:"items"`
}

// FailureGroup counts deliveries that ended without being received, for the same reason.
type FailureGroup struct {
	Tenant      string        `json:"tenant" schema:"ref=ShortName"`
	Integration string        `json:"integration"` // empty: the tenant had no integration
	Outcome     model.Outcome `json:"outcome" schema:"enum=failed|expired"`
	// of the last attempt; absent: none was made
	Class  model.Class `json:"class,omitempty" schema:"enum=partner_fault|data_fault|our_fault"`
	Status int         `json:"status,omitzero"` // of the last attempt; absent: no answer came
	Count  int64       `json:"count"`
	Oldest time.Time   `json:"oldest"` // when the first of the exports was received
	Newest time.Time   `json:"newest"` // when the last of the exports was received
	Last   time.Time   `json:"last"`   // when the last delivery ended
}
