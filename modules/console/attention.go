package console

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// health is an integration and how it does, as the management API has it.
type health struct {
	Tenant        string    `json:"tenant"`
	Name          string    `json:"name"`
	URL           string    `json:"url"`
	State         string    `json:"state"`
	Reason        string    `json:"reason"`
	DisabledBy    string    `json:"disabledBy"`
	Since         time.Time `json:"since"`
	Waiting       int64     `json:"waiting"`
	OldestWaiting time.Time `json:"oldestWaiting"`
	LastSuccess   time.Time `json:"lastSuccess"`
	Failures      int64     `json:"consecutiveFailures"`
	Breaker       struct {
		State     string    `json:"state"`
		NextProbe time.Time `json:"nextProbe"`
	} `json:"breaker"`
	Day      rates       `json:"lastDay"`
	Week     rates       `json:"lastWeek"`
	Need     *model.Need `json:"need"`
	Declared bool        `json:"declared"`
	Hours    []hour      `json:"hours"`
}

// rates are the attempts of some time.
type rates struct {
	Attempts    int64    `json:"attempts"`
	Delivered   int64    `json:"delivered"`
	SuccessRate *float64 `json:"successRate"`
	P50         float64  `json:"p50Ms"`
	P95         float64  `json:"p95Ms"`
}

type hour struct {
	Begin time.Time `json:"hour"`
	rates
}

// failures are deliveries of the last day that ended without being received, for the same reason.
type failures struct {
	Tenant      string    `json:"tenant"`
	Integration string    `json:"integration"`
	Outcome     string    `json:"outcome"`
	Class       string    `json:"class"`
	Status      int       `json:"status"`
	Count       int64     `json:"count"`
	Oldest      time.Time `json:"oldest"`
	Newest      time.Time `json:"newest"`
	Last        time.Time `json:"last"`
}

// Range is the query that asks for their redelivery, of the minutes in which their exports were received.
func (f failures) Range() string {
	q := url.Values{"tenant": {f.Tenant}, "integration": {f.Integration}, "mode": {"failed"},
		"since": {f.Oldest.UTC().Format(fieldTime)}, "until": {f.Newest.UTC().Add(time.Minute).Format(fieldTime)}}
	if slices.Contains(faults, f.Class) {
		q.Set("class", f.Class)
	}
	if f.Status > 0 {
		q.Set("status", strconv.Itoa(f.Status))
	}
	return q.Encode()
}

// List is the query of the list of their exports.
func (f failures) List() string {
	q := url.Values{"tenant": {f.Tenant}, "integration": {f.Integration}, "outcome": {f.Outcome},
		"since": {f.Oldest.UTC().Format(fieldTime)}}
	if slices.Contains(faults, f.Class) {
		q.Set("class", f.Class)
	}
	return q.Encode()
}

// fewRows is how many exports of each kind the start page shows.
const fewRows = "10"

// attention shows what needs a person. It leads visitors of a portal to their tenant.
func attention(v *visitor) error {
	if v.portal {
		return v.redirect(pathOf("tenants", v.person.Tenant))
	}
	var shown struct {
		Status struct {
			Integrations []health     `json:"integrations"`
			Needs        []model.Need `json:"needs"`
		}
		Needing           []health
		Failures          listOf[failures]
		Quarantined, Lost listOf[export]
	}
	if err := v.get("/v1/status", nil, &shown.Status); err != nil {
		return err
	}
	for _, h := range shown.Status.Integrations {
		if h.Need != nil {
			shown.Needing = append(shown.Needing, h)
		}
	}
	day := v.console.Gateway.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	if err := v.get("/v1/failures", nil, &shown.Failures); err != nil {
		return err
	}
	for list, query := range map[*listOf[export]]url.Values{
		&shown.Quarantined: {"quarantined": {"true"}, "limit": {fewRows}},
		&shown.Lost:        {"lostDocuments": {"true"}, "since": {day}, "limit": {fewRows}},
	} {
		if err := v.get("/v1/exports", query, list); err != nil {
			return err
		}
	}
	return v.page(200, "attention", "Attention", shown)
}
