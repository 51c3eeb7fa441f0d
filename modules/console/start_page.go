package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/console/chart"
)

// failures counts deliveries of the last day that ended without being received, for the same reason.
type failures struct{ api.FailureGroup }

// Range returns the query that asks for their redelivery, of the minutes in which their exports were received.
func (f failures) Range() string {
	q := url.Values{"tenant": {f.Tenant}, "integration": {f.Integration}, "mode": {"failed"},
		"since": {f.Oldest.UTC().Format(fieldTime)}, "until": {f.Newest.UTC().Add(time.Minute).Format(fieldTime)}}
	if slices.Contains(model.Faults, f.Class) {
		q.Set("class", string(f.Class))
	}
	if f.Status > 0 {
		q.Set("status", strconv.Itoa(f.Status))
	}
	return q.Encode()
}

// List returns the query of the list of their exports.
func (f failures) List() string {
	q := url.Values{"tenant": {f.Tenant}, "integration": {f.Integration}, "outcome": {string(f.Outcome)},
		"since": {f.Oldest.UTC().Format(fieldTime)}}
	if slices.Contains(model.Faults, f.Class) {
		q.Set("class", string(f.Class))
	}
	return q.Encode()
}

// fewRows is the number of exports of each kind that a page shows beside other things.
const fewRows = "10"

// needsOfPage is the number of needs that a page shows, and of the integrations that it asks for beside them.
const needsOfPage = "50"

// mostStrips bounds the integrations that the start page shows: the worst ones. The list of integrations has all.
const mostStrips = 30

// startPage is the template data of the start page.
type startPage struct {
	Needs        []need                  // some of them, the worst first; those of integrations by their cause
	Acknowledged []model.Need            // by their cause: they are not counted
	Count        int                     // how many there are
	From, Last   int                     // which of them are shown, from 1
	More         url.Values              // the query of the next ones; nil: these are the last
	Integrations []api.StatusIntegration // the worst first, at most mostStrips
	Waiting      int64                   // deliveries
	Oldest       time.Time               // since when the oldest of them waits; zero: none does
	Stuck        bool                    // some of them need a person
	All          int                     // how many integrations there are
	Quiet        map[string]int64        // how many of them need nobody, by their state
	Failures     []failures
	Lost         []lost
	Quarters     []api.Quarter // of the last day
	First        *firstRun     // nil: an export has come
	Clocks       *api.Clocks   // nil: nothing waits, is to be fetched, or was lost
}

// need adds to a need of the status how its integration does: Of is nil where it concerns none.
type need struct {
	model.Need
	Of *api.StatusIntegration
}

// Held reports whether the exports that it concerns wait without an end.
func (n need) Held() bool {
	return n.LostAt.IsZero() && slices.Contains([]model.NeedKind{model.NeedDisabled, model.NeedQuarantine}, n.Kind)
}

// Ends returns when the certificate ends that it concerns; zero: it concerns none.
func (n need) Ends() (at time.Time) {
	if n.Kind == model.NeedCertificate && n.Of != nil && n.Of.Authentication != nil {
		at = n.Of.Authentication.CertificateEndsAt
	}
	return at
}

// List returns the query of the list of the exports that it concerns.
func (n need) List() string {
	q := url.Values{"tenant": {n.Tenant}}
	switch {
	case n.Kind == model.NeedQuarantine:
		q.Set("quarantined", "true")
	case n.Kind == model.NeedUnreadable:
		q.Set("outcome", string(model.Failed))
		q.Set("class", string(model.ClassOurFault))
	case n.Kind == model.NeedLate:
		q.Set("lateDocuments", "true")
	default:
		q.Set("undelivered", "true")
	}
	if n.Integration != "" {
		q.Set("integration", n.Integration)
	}
	return q.Encode()
}

// Action returns what helps: retry or enable, its integration, its tenant, or the list of its exports; empty: only a
// command does.
func (p view) Action(n need) string {
	switch {
	case n.Kind == model.NeedDisabled && p.May.Administer && p.Others(n.Need) == 0:
		return "enable"
	case n.Cause != nil && n.Cause.Helps == model.HelpsRetry && n.Count > 0 && p.May.Operate:
		return "retry"
	case slices.Contains([]model.NeedKind{model.NeedQuarantine, model.NeedOverdue, model.NeedUndelivered, model.NeedLate,
		model.NeedUnreadable, model.NeedFaulty, model.NeedUnaddressed}, n.Kind):
		return "list"
	case n.Kind == model.NeedRefused:
		return "tenant"
	case n.Integration != "" && n.Kind != model.NeedUnknown:
		return "integration"
	}
	return ""
}

// lost counts the exports of a tenant that went out without a document, in the last day.
type lost struct {
	Tenant string
	Count  int
	Since  string // the begin of the day, as in the filter of the list
}

// showStart shows what needs a person. It leads visitors of a portal to their tenant, and recruiters to candidates.
func showStart(v *visitor) error {
	switch {
	case v.portal:
		return v.redirect(pathOf("tenants", v.person.Tenant))
	case v.role == recruiterRole:
		return v.redirect("/candidates")
	}
	of := v.URL.Query().Get("tenant")
	within := func(tenant string) bool { return of == "" || tenant == "" || tenant == of }
	query := url.Values{"hours": {"24"}, "limit": {needsOfPage}, "grouped": {"true"}}
	for _, name := range []string{"tenant", "from", "label"} {
		if value := v.URL.Query().Get(name); value != "" {
			query.Set(name, value)
		}
	}
	var status api.GatewayStatus
	if err := v.get("/v1/status", query, &status); err != nil {
		return err
	}
	if of == "" && !query.Has("label") {
		v.console.count(v.person.Tenant, &status)
	}
	shown := startPage{Count: status.AllNeeds(), All: status.AllIntegrations(), Quiet: status.Quiet, Integrations: status.Integrations,
		Waiting: status.Waiting, Oldest: status.OldestWaiting, Stuck: status.Stuck > 0, Acknowledged: status.Acknowledged}
	if c := &status.Clocks; c.Delivery.Waiting > 0 || c.Delivery.Lost > 0 || c.Documents.ToFetch > 0 || c.Documents.Lost.All() > 0 {
		shown.Clocks = c
	}
	from, _ := strconv.Atoi(query.Get("from"))
	if shown.Last = from + len(status.Needs); shown.Last < shown.Count {
		shown.More = url.Values{"from": {strconv.Itoa(shown.Last)}}
		for _, name := range []string{"tenant", "label"} {
			if value := query.Get(name); value != "" {
				shown.More.Set(name, value)
			}
		}
	}
	shown.From = from + 1
	for _, one := range status.Needs {
		if one.Kind == model.NeedCertificate {
			one.Since = time.Time{} // fourteen days before its end: what counts is when it ends
		}
		shown.Needs = append(shown.Needs, need{Need: one})
		if n := slices.IndexFunc(shown.Integrations, func(i api.StatusIntegration) bool {
			return i.Tenant == one.Tenant && i.Name == one.Integration
		}); n >= 0 {
			shown.Needs[len(shown.Needs)-1].Of = &shown.Integrations[n]
		}
	}
	shown.Integrations = shown.Integrations[:min(mostStrips, len(shown.Integrations))]
	if query.Has("label") { // the rest is of one tenant, or of all
		return v.page(http.StatusOK, "start", "Attention", &shown)
	}
	var failed api.List[failures]
	if err := v.get("/v1/failures", nil, &failed); err != nil {
		return err
	}
	shown.Failures = slices.DeleteFunc(failed.Items, func(f failures) bool { return !within(f.Tenant) || f.Integration == "" })
	var err error
	if shown.Lost, err = v.lostDocuments(of); err != nil {
		return err
	}
	if shown.Quarters, err = v.overview(of); err != nil {
		return err
	}
	if shown.First, err = v.firstRun(&status); err != nil {
		return err
	}
	return v.page(http.StatusOK, "start", "Attention", &shown)
}

// lostDocuments counts the exports of the last day that went out without a document, by tenant: of the last ones.
func (v *visitor) lostDocuments(tenant string) (all []lost, err error) {
	day := v.console.Gateway.Now().Add(-24 * time.Hour).UTC()
	path := "/v1/exports"
	if tenant != "" {
		path = at("tenants", tenant, "exports")
	}
	var list api.List[export]
	err = v.get(path, url.Values{"lostDocuments": {"true"}, "since": {day.Format(time.RFC3339)}, "limit": {mostOfEach}},
		&list)
	for _, e := range list.Items {
		n := slices.IndexFunc(all, func(l lost) bool { return l.Tenant == e.Tenant })
		if n < 0 {
			n, all = len(all), append(all, lost{Tenant: e.Tenant, Since: day.Format(fieldTime)})
		}
		all[n].Count++
	}
	return all, err
}

// List returns the query of the list of the exports.
func (l lost) List() string {
	return url.Values{"tenant": {l.Tenant}, "lostDocuments": {"true"}, "since": {l.Since}}.Encode()
}

// firstRun says how far the way to the first export is.
type firstRun struct {
	Tenant      string // the first one; empty: there is none
	Integration string // the first one; empty: there is none
}

// firstRun returns how far the way to the first export is; nil: one has come, or the visitor sees one tenant only.
func (v *visitor) firstRun(status *api.GatewayStatus) (*firstRun, error) {
	if v.person.Tenant != "" {
		return nil, nil
	}
	var exports api.List[export]
	if err := v.get("/v1/exports", url.Values{"limit": {"1"}}, &exports); err != nil || len(exports.Items) > 0 {
		return nil, err
	}
	first := &firstRun{}
	var tenants api.List[api.Tenant]
	if err := v.get("/v1/tenants", url.Values{"limit": {"1"}}, &tenants); err != nil {
		return nil, err
	}
	if len(tenants.Items) > 0 {
		first.Tenant = tenants.Items[0].ID
	}
	if len(status.Integrations) > 0 {
		first.Tenant, first.Integration = status.Integrations[0].Tenant, status.Integrations[0].Name
	}
	return first, nil
}

// StartTitle says in a sentence how much needs a person.
func (p view) StartTitle(d *startPage) (string, error) {
	switch {
	case d.First != nil && len(d.Needs) == 0:
		return p.T("FirstRun")
	case d.Count == 1 && len(d.Needs) == 1 && d.Needs[0].Integration != "":
		n := d.Needs[0]
		return n.Tenant + "/" + n.Integration + ": " + p.Word("need", n.Kind), nil
	}
	return p.Many("NeedYou", d.Count)
}

// Strip draws the attempts of an integration in the last 24 hours.
func (p view) Strip(i api.StatusIntegration) (chart.Plot, error) {
	var all []chart.Attempts
	for _, h := range i.Hours {
		all = append(all, attemptsOf(h.Begin, h.Tally))
	}
	columns := chart.Columns(all, p.Now, time.Hour, 24)
	var total, failed int64
	for _, c := range columns {
		total += c.Total()
		failed += c.Failed()
	}
	label, err := p.T("StripLabel", "n", p.Num(total), "failed", p.Num(failed))
	return chart.Strip(columns, label), err
}

// attemptsOf returns the attempts of some time for a chart.
func attemptsOf(begin time.Time, t api.Tally) chart.Attempts {
	return chart.Attempts{Begin: begin, Received: t.Delivered, PartnerFault: t.PartnerFault, DataFault: t.DataFault,
		OurFault: t.OurFault}
}

// Rest says how the integrations do that need nobody.
func (p view) Rest(d *startPage) (string, error) {
	s := speaker{view: p}
	var states []string
	for _, state := range model.Standings {
		if n := d.Quiet[state]; n > 0 {
			states = append(states, s.many("Rest_"+state, int(n)))
		}
	}
	key := "RestAll"
	if slices.ContainsFunc(d.Needs, func(n need) bool { return n.Integration != "" }) {
		key = "RestOthers"
	}
	if len(states) == 0 {
		return "", s.err
	}
	return s.say(key, "states", strings.Join(states, ", ")), s.err
}

// Counted says how many exports a need concerns, and what they do.
func (p view) Counted(n need) (string, error) {
	switch {
	case n.Held() && n.Integration != "":
		return p.T("HeldN", "n", p.Num(n.Count))
	case n.Integration != "":
		return p.T("WaitingN", "n", p.Num(n.Count))
	case n.Kind == model.NeedLate:
		return p.Many("DocumentCount", int(n.Count))
	case n.Kind == model.NeedUnentered || n.Kind == model.NeedErasure:
		return p.Many("ApplicationCount", int(n.Count))
	}
	return p.Many("Exports", int(n.Count))
}
