package console

import (
	"cmp"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// export is an export of a list or of a page; in a list, its deliveries have no attempts.
type export struct{ api.ExportDetail }

// Current returns the deliveries in the latest round of each integration.
func (e *export) Current() []api.DeliveryDetail {
	return slices.DeleteFunc(slices.Clone(e.Deliveries), func(d api.DeliveryDetail) bool { return !d.Current })
}

// Received returns the deliveries that an integration received, the first one first.
func (e *export) Received(integration string) (received []api.DeliveryDetail) {
	for _, d := range e.Deliveries {
		if d.Integration == integration && d.Outcome == model.Delivered {
			received = append(received, d)
		}
	}
	return received
}

// AskedBy returns the person who asked for the round of a delivery, with the name that the audit of the export has.
func (e *export) AskedBy(d api.DeliveryDetail) model.Author {
	for _, one := range e.Audit {
		if one.Actor == d.BegunBy && !one.Claimed { // several may claim to be behind one actor
			return one.Author
		}
	}
	return model.Author{Actor: d.BegunBy}
}

// Attempts returns the number of attempts of all deliveries.
func (e *export) Attempts() (n int) {
	for _, d := range e.Deliveries {
		n += d.Attempts
	}
	return n
}

// filters lists the query parameters of the list that the management API knows as well.
var filters = append(slices.Clone(api.ExportFilters), "order", "label")

// listing is the template data of the list of exports.
type listing struct {
	api.List[export]
	Query        map[string]string
	Outcomes     []model.Outcome
	Classes      []model.Class
	Integrations []string          // of the tenant; nil: no tenant is chosen
	Counts       *api.ExportCounts // of the frequent questions, with the other filters; nil: they were not counted
	More         string            // the query of the next page; empty: this is the last one
	Text         string            // that is sought in answers; empty: none is
	Looked       int               // for it, at so many exports
	Last         time.Time         // when the last of these came
	Range        string            // the query of a redelivery of all that match; empty: no redelivery has that range
	Wrong        string            // why nothing is shown; empty: something is
}

// questions are the filters of the frequent questions about exports. A chip asks one of them; the form adds to it.
var questions = []string{"outcome", "class", "quarantined", "undelivered", "lostDocuments"}

// attemptFilters are the parameters that choose by what became of attempts. What they choose is counted.
var attemptFilters = []string{"status", "attempts", "waitingLonger", "lateDocuments"}

// asked returns how many of the questions are asked.
func (l *listing) asked() (n int) {
	for _, name := range questions {
		if l.Query[name] != "" {
			n++
		}
	}
	return n
}

// chip is a link that sets a filter.
type chip struct {
	Text    string
	To      template.URL
	Count   string // empty: it has none
	Current bool
}

// Chips returns the frequent questions about exports, with the other filters as they are.
func (p view) Chips(l *listing) ([]chip, error) {
	if l.Counts == nil {
		return nil, nil
	}
	s := speaker{view: p}
	others, asked := url.Values{}, l.asked()
	var all *api.Count
	if slices.ContainsFunc(attemptFilters, func(name string) bool { return l.Query[name] != "" }) {
		all = &l.Counts.All
	}
	for name, value := range l.Query {
		if value != "" && !slices.Contains(questions, name) {
			others.Set(name, value)
		}
	}
	var chips []chip
	for _, one := range []struct {
		text, name, value string
		count             *api.Count
	}{
		{s.say("AllExports"), "", "", all}, {s.say("Undelivered"), "undelivered", "true", &l.Counts.Undelivered},
		{s.say("FailedExports"), "outcome", "failed", &l.Counts.Failed},
		{s.say("Quarantined"), "quarantined", "true", &l.Counts.Quarantined},
		{s.say("DocumentLost"), "lostDocuments", "true", &l.Counts.LostDocuments},
	} {
		query := maps.Clone(others)
		c := chip{Text: one.text, Current: asked == 0}
		if one.name != "" {
			query.Set(one.name, one.value)
			c.Current = asked == 1 && l.Query[one.name] == one.value
		}
		if one.count != nil {
			c.Count = p.NumOrMore(one.count.Count, one.count.More)
		}
		c.To = p.Path("exports")
		if len(query) > 0 {
			c.To += template.URL("?" + query.Encode())
		}
		chips = append(chips, c)
	}
	return chips, s.err
}

// ExportsTitle says which of the frequent questions is asked, and its answer.
func (p view) ExportsTitle(l *listing) (string, error) {
	chips, err := p.Chips(l)
	for _, c := range chips {
		if c.Current && c.Count != "" && l.asked() > 0 {
			return c.Text + ": " + c.Count + " · " + p.Title, err
		}
	}
	return p.Title, err
}

// Chosen returns the other filters that are set, as links that remove them.
func (p view) Chosen(l *listing) (chips []chip, err error) {
	s, asked := speaker{view: p}, l.asked()
	yes := map[string]string{"undelivered": "Undelivered", "quarantined": "Quarantined", "lostDocuments": "DocumentLost",
		"lateDocuments": "DocumentLate"}
	for _, name := range []string{"label", "integration", "candidate", "undelivered", "quarantined", "lostDocuments", "lateDocuments", "redelivery",
		"outcome", "class", "status", "attempts", "waitingLonger", "since", "until"} {
		value := l.Query[name]
		text := value
		switch {
		case value != "" && yes[name] != "":
			if asked == 1 && slices.Contains(questions, name) {
				continue // its chip is the current one
			}
			text = s.say(yes[name])
		case value == "" || name == "outcome" && value == "failed" && asked == 1:
			continue
		case name == "outcome" || name == "class":
			text = s.Word(name, value)
		case name == "redelivery":
			text = s.say("Chosen_redelivery")
		case name == "status" && value == string(model.NoStatus):
			text = s.say("NoAnswerCame")
		case slices.Contains(attemptFilters, name):
			text = s.say("Chosen_"+name, "value", value)
		case name == "since" || name == "until":
			text = s.say("Chosen_"+name) + " " + strings.Replace(strings.TrimSuffix(value, ":00Z"), "T", " ", 1)
		}
		chips = append(chips, chip{Text: text, To: p.Set(name, "")})
	}
	return chips, s.err
}

// listExports shows exports, the newest first.
func listExports(v *visitor) error {
	asked := v.URL.Query()
	query := url.Values{}
	for _, name := range filters {
		if value := asked.Get(name); value != "" {
			query.Set(name, value)
		}
	}
	for _, name := range []string{"since", "until"} { // the form has a time without a zone: it is UTC
		if at, err := time.Parse(fieldTime, query.Get(name)); err == nil {
			query.Set(name, at.Format(time.RFC3339))
		}
	}
	tenant := cmp.Or(asked.Get("tenant"), v.person.Tenant)
	path := "/v1/exports"
	if tenant != "" {
		path = at("tenants", tenant, "exports")
		query.Del("label") // which is of the tenants among which this one was chosen
	} else if query.Has("integration") || query.Has("candidate") {
		return v.page(http.StatusBadRequest, "exports", "Exports", v.listing(asked, "TenantNeeded"))
	}
	shown := v.listing(asked, "")
	if shown.Text = v.soughtText(asked.Get(sought)); shown.Text != "" {
		if err := v.searchAnswers(path, query, shown); err != nil {
			return err
		}
		return v.page(http.StatusOK, "exports", "Exports", shown)
	}
	var err error
	if shown.More, err = pageOf(v, path, query, &shown.List, append([]string{"tenant"}, filters...)...); err != nil {
		return err
	}
	shown.Range = rangeLike(asked, tenant)
	if err := v.countExports(shown, tenant, query); err != nil {
		return err
	}
	return v.page(http.StatusOK, "exports", "Exports", shown)
}

// countExports counts what answers the frequent questions, with the other filters of a list.
func (v *visitor) countExports(shown *listing, tenant string, query url.Values) error {
	path := "/v1/export-counts"
	if tenant != "" {
		path = at("tenants", tenant, "export-counts")
		var t api.Tenant
		if err := v.get(at("tenants", tenant), nil, &t); err != nil && !errors.Is(err, errNotFound) { // removed meanwhile
			return err
		}
		shown.Integrations = t.Integrations
	}
	query = maps.Clone(query)
	for _, name := range append([]string{"order", "cursor"}, questions...) {
		query.Del(name)
	}
	return v.get(path, query, &shown.Counts)
}

// rangeLike returns the query that asks for a redelivery of the exports of a list: of all from some time on, or of
// those that failed, with a class or a status. Empty: no redelivery has that range.
func rangeLike(asked url.Values, tenant string) string {
	for _, name := range []string{"candidate", "quarantined", "undelivered", "lostDocuments", "lateDocuments", "redelivery", "waitingLonger"} {
		if asked.Get(name) != "" {
			return ""
		}
	}
	class, outcome, status := asked.Get("class"), asked.Get("outcome"), asked.Get("status")
	if class != "" || status != "" || asked.Get("attempts") != "" {
		outcome = cmp.Or(outcome, "failed")
	}
	mode := map[string]string{"": "all", "failed": "failed"}[outcome]
	if mode == "" || tenant == "" || asked.Get("integration") == "" || asked.Get("since") == "" {
		return ""
	}
	return url.Values{"tenant": {tenant}, "integration": {asked.Get("integration")}, "mode": {mode}, "class": {class}, "status": {status},
		"attempts": {asked.Get("attempts")},
		"since":    {asked.Get("since")}, "until": {asked.Get("until")}}.Encode()
}

func (v *visitor) listing(asked url.Values, wrong string) *listing {
	l := &listing{Query: map[string]string{}, Outcomes: model.Outcomes, Classes: model.Faults, Wrong: wrong}
	for _, name := range append([]string{"tenant"}, filters...) {
		l.Query[name] = asked.Get(name)
	}
	return l
}
