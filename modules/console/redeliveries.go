package console

import (
	"cmp"
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

// redeliveriesPage is the template data of the list of redeliveries, with the form for another one.
type redeliveriesPage struct {
	api.List[api.Redelivery]
	Query   map[string]string
	Choices []string // tenants and integrations, as in acme/hris
	Part    bool     // there are more
	To      string   // the chosen one; empty: none is
	Modes   []model.RedeliveryMode
	Classes []model.Class
	Preview *api.RedeliveryPreview
	Until   string   // up to when it counted: what is received later is not redelivered by it
	Wrong   *failure // why nothing was previewed or started; nil: nothing was refused
	More    string
}

// listRedeliveries shows the redeliveries, and the form for another one. The form asks for a preview; only what was
// previewed can be started.
func listRedeliveries(v *visitor) error { return v.redeliveries(v.URL.Query(), nil) }

// redeliveries shows the redeliveries, and the form with what was asked for; wrong says why that was not started.
func (v *visitor) redeliveries(asked url.Values, wrong *failure) error {
	shown := redeliveriesPage{Query: map[string]string{}, Modes: model.RedeliveryModes, Classes: model.Faults, Wrong: wrong}
	for _, name := range []string{"tenant", "integration", "mode", "since", "until", "class", "status", "attempts", "waitingLonger", "rate"} {
		shown.Query[name] = asked.Get(name)
	}
	if tenant, integration, chosen := strings.Cut(asked.Get("to"), "/"); chosen {
		shown.Query["tenant"], shown.Query["integration"] = tenant, integration
	}
	if shown.Query["tenant"] == "" {
		shown.Query["tenant"] = v.person.Tenant
	}
	path, query := "/v1/redeliveries", url.Values{}
	if label := asked.Get("label"); label != "" {
		query.Set("label", label)
	}
	if tenant := cmp.Or(asked.Get("tenant"), v.person.Tenant); tenant != "" {
		path = at("tenants", tenant, "redeliveries")
		query.Del("label")
	}
	var err error
	if shown.More, err = pageOf(v, path, query, &shown.List, "tenant", "label"); err != nil {
		return err
	}
	if v.duties&operates != 0 {
		if err := v.chooseIntegration(&shown); err != nil {
			return err
		}
	}
	if asked.Get("preview") != "" {
		if shown.Wrong, err = v.preview(asked, &shown); err != nil {
			return err
		}
	}
	status := http.StatusOK
	if shown.Wrong != nil {
		status = shown.Wrong.status
	}
	return v.page(status, "redeliveries", "Redeliveries", &shown)
}

// preview has a redelivery counted. The *failure says what is wrong with the form, for it to show.
func (v *visitor) preview(asked url.Values, shown *redeliveriesPage) (*failure, error) {
	body, wrong := rangeOf(asked)
	if wrong != nil {
		return wrong, nil
	}
	body.Integration, body.DryRun = shown.Query["integration"], true
	var counted api.RedeliveryPreview
	wrong, err := refusal(v.post(at("tenants", shown.Query["tenant"], "redeliveries"), body, &counted))
	if wrong == nil && err == nil {
		shown.Preview, shown.Until = &counted, counted.Until.UTC().Format(time.RFC3339Nano)
	}
	return wrong, err
}

// mostChoices is about how many integrations there are to choose from. Of more, one is typed.
const mostChoices = 2000

// chooseIntegration gets the integrations to choose from. The one that is asked for is among them.
func (v *visitor) chooseIntegration(shown *redeliveriesPage) error {
	query := url.Values{"limit": {"500"}}
	for shown.Part = true; shown.Part && len(shown.Choices) < mostChoices; {
		var all api.List[api.Tenant]
		if err := v.get("/v1/tenants", query, &all); err != nil {
			return err
		}
		for _, t := range all.Items {
			for _, name := range t.Integrations {
				shown.Choices = append(shown.Choices, t.ID+"/"+name)
			}
		}
		if shown.Part = all.Next != nil; shown.Part {
			query.Set("cursor", *all.Next)
		}
	}
	if shown.Query["integration"] != "" {
		shown.To = shown.Query["tenant"] + "/" + shown.Query["integration"]
		if !slices.Contains(shown.Choices, shown.To) {
			shown.Choices = append(shown.Choices, shown.To)
		}
	}
	slices.Sort(shown.Choices)
	return nil
}

// PreviewTitle says what a redelivery would do.
func (p view) PreviewTitle(d *redeliveriesPage) (string, error) {
	to := strings.Replace(d.To, "/", " / ", 1)
	switch d.Preview.Count {
	case 0:
		return p.T("PreviewNone", "to", to)
	case 1:
		return p.T("PreviewOne", "to", to)
	}
	return p.T("PreviewMany", "n", p.Num(d.Preview.Count), "to", to, "in", p.Span(lasts(d.Preview.Count, d.Preview.Rate)))
}

// PreviewTwice says how many exports of a redelivery arrive twice.
func (p view) PreviewTwice(r *api.RedeliveryPreview) (string, error) {
	switch {
	case r.Received == r.Count && r.Count == 1:
		return p.T("TwiceOne")
	case r.Received == r.Count:
		return p.T("TwiceAll", "n", p.Num(r.Count))
	}
	return p.T("TwiceSome", "n", p.Num(r.Received), "of", p.Num(r.Count))
}

// lasts returns how long exports take to begin, at so many a second: a second at least.
func lasts(exports int64, rate int) time.Duration {
	return max(time.Second, time.Duration(exports)*time.Second/time.Duration(max(1, rate)))
}

// fieldTime is the format of a time in a field of type datetime-local. It has no zone: it is UTC.
const fieldTime = "2006-01-02T15:04"

// rangeOf makes the body of a redelivery from the values of the form. Times without a zone are UTC. The *failure says what
// is wrong with them, for the form to show.
func rangeOf(form url.Values) (*api.RedeliveryInput, *failure) {
	body := &api.RedeliveryInput{Integration: form.Get("integration"), Mode: model.RedeliveryMode(form.Get("mode")),
		Class: model.Class(form.Get("class")), Status: model.StatusChoice(form.Get("status")), WaitingLonger: form.Get("waitingLonger")}
	for name, field := range map[string]*time.Time{"since": &body.Since, "until": &body.Until} {
		text := form.Get(name)
		if text == "" {
			continue
		}
		moment, err := time.Parse(fieldTime, text)
		if err != nil {
			if moment, err = time.Parse(time.RFC3339, text); err != nil {
				return nil, &failure{status: http.StatusBadRequest, Text: "WrongTime"}
			}
		}
		*field = moment.UTC()
	}
	for _, number := range []struct {
		name, wrong string
		field       *int
	}{{"rate", "WrongRate", &body.Rate}, {"attempts", "WrongAttempts", &body.Attempts}} {
		if text := form.Get(number.name); text != "" {
			var err error
			if *number.field, err = strconv.Atoi(text); err != nil {
				return nil, &failure{status: http.StatusBadRequest, Text: number.wrong}
			}
		}
	}
	return body, nil
}

// startRedelivery starts what was previewed.
func startRedelivery(v *visitor) error {
	body, wrong := rangeOf(v.PostForm)
	if wrong != nil {
		return v.redeliveries(v.PostForm, wrong)
	}
	of := cmp.Or(v.PostFormValue("tenant"), v.person.Tenant)
	var made api.Redelivery
	wrong, err := refusal(v.post(at("tenants", of, "redeliveries"), body, &made))
	switch {
	case err != nil:
		return err
	case wrong != nil:
		return v.redeliveries(v.PostForm, wrong)
	}
	return v.redirect(pathOf("redeliveries", of, made.ID) + "?done=begun")
}

// redelivery is the template data of a redelivery.
type redelivery struct{ api.Redelivery }

// Left returns the number of exports that it has not come to.
func (r *redelivery) Left() int64 { return max(0, r.Total-r.Reached()) }

// showRedelivery shows how far a redelivery is. Once it has ended, its page is not asked for again by itself.
func showRedelivery(v *visitor) error {
	var shown redelivery
	of, id := v.PathValue("tenant"), v.PathValue("id")
	if err := v.get(at("tenants", of, "redeliveries", id), nil, &shown); err != nil {
		return err
	}
	if v.URL.Query().Has("every") && !shown.EndedAt.IsZero() && shown.Waiting == 0 {
		return v.redirect(pathOf("redeliveries", of, id))
	}
	return v.page(http.StatusOK, "redelivery", "Redelivery", &shown)
}

// RedeliveryTitle says how far a redelivery is.
func (p view) RedeliveryTitle(r *redelivery) (string, error) {
	return p.T("RedeliveryTitle", "n", p.Num(r.Done), "of", p.Num(r.Total), "to", r.Tenant+" / "+r.Integration)
}

// RedeliveryLead says since when and how fast a redelivery runs, or that it does not.
func (p view) RedeliveryLead(r *redelivery) (string, error) {
	if r.State == model.RedeliveryRunning {
		return p.T("RedeliveryRuns", "at", p.clock(r.CreatedAt), "rate", p.Num(r.Rate), "in",
			p.Span(lasts(r.Left(), r.Rate)))
	}
	return p.T("RedeliveryIs", "state", p.Word("redelivery", r.State), "at", p.clock(r.UpdatedAt))
}

// Meter draws the progress of a redelivery.
func (p view) Meter(r *redelivery) (chart.Plot, error) {
	label, err := p.T("RedeliveryLabel", "done", p.Num(r.Done), "waiting", p.Num(r.Waiting), "failed", p.Num(r.Failed),
		"skipped", p.Num(r.Skipped), "left", p.Num(r.Left()))
	return chart.Meter(float64(r.Total), label, chart.Share{Of: float64(r.Done), Fill: chart.Received},
		chart.Share{Of: float64(r.Waiting), Fill: chart.OurFault}, chart.Share{Of: float64(r.Failed), Fill: chart.PartnerFault},
		chart.Share{Of: float64(r.Skipped), Fill: chart.Nothing}), err
}

// actOnRedelivery pauses, resumes or cancels a redelivery.
func actOnRedelivery(v *visitor) error {
	action, of, id := v.PathValue("action"), v.PathValue("tenant"), v.PathValue("id")
	if !slices.Contains([]string{"pause", "resume", "cancel"}, action) {
		return errNotFound
	}
	if err := v.post(at("tenants", of, "redeliveries", id, action), nil, nil); err != nil {
		return err
	}
	return v.redirect(pathOf("redeliveries", of, id))
}
