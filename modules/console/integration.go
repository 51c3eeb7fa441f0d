package console

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/console/chart"
)

// integrationPage is the template data of an integration, with the test export that was just sent.
type integrationPage struct {
	api.IntegrationHours
	Retry  api.Retry
	Days   int // that the chart shows
	Causes api.Causes
	Trial  *api.Trial // nil: none was just sent
}

// showIntegration shows how an integration does.
func showIntegration(v *visitor) error { return v.integration(http.StatusOK, nil) }

func (v *visitor) integration(status int, sent *api.Trial) error {
	shown := integrationPage{Trial: sent, Days: 7}
	switch v.URL.Query().Get("days") {
	case "1":
		shown.Days = 1
	case "90":
		shown.Days = 90
	}
	path := at("tenants", v.PathValue("tenant"), "integrations", v.PathValue("name"))
	if err := v.get(path+"/retry", nil, &shown.Retry); err != nil {
		return err
	}
	since := v.console.Gateway.Now().Add(-time.Duration(shown.Days) * 24 * time.Hour).UTC().Format(time.RFC3339)
	if err := v.get(path+"/health", url.Values{"since": {since}}, &shown.IntegrationHours); err != nil {
		return err
	}
	if err := v.get(path+"/causes", nil, &shown.Causes); err != nil {
		return err
	}
	return v.page(status, "integration", "Integration", &shown)
}

// actOnIntegration enables or disables an integration, or has attempted what waits for it.
func actOnIntegration(action string) handler {
	return func(v *visitor) error {
		var body any
		if reason := v.PostFormValue("reason"); action == "disable" && reason != "" {
			body = api.DisableInput{Reason: reason}
		}
		of, name := v.PathValue("tenant"), v.PathValue("name")
		if err := v.post(at("tenants", of, "integrations", name, action), body, nil); err != nil {
			return err
		}
		return v.redirect(pathOf("tenants", of, "integrations", name) + "?done=" + action)
	}
}

// testIntegration sends a test export, and shows what came of it.
func testIntegration(v *visitor) error {
	var sent api.Trial
	path := at("tenants", v.PathValue("tenant"), "integrations", v.PathValue("name"), "test")
	if err := v.post(path, nil, &sent); err != nil {
		return err
	}
	return v.integration(http.StatusOK, &sent)
}

// IntegrationTitle says in a line how an integration does.
func (p view) IntegrationTitle(i *integrationPage) (string, error) {
	s := speaker{view: p}
	title := fmt.Sprintf("%s / %s: %s", i.Tenant, i.Name, p.Word("state", i.State))
	if !i.Since.IsZero() && i.State != "configured" && i.State != "unproven" {
		title += " " + s.say("SinceClock") + " " + p.clock(i.Since)
	}
	if i.Waiting > 0 {
		title += " · " + s.say("WaitingN", "n", p.Num(i.Waiting))
	}
	return title, s.err
}

// history is the template data of the charts of an integration. Its columns are hours, or days where it is long.
type history struct {
	Stack, Latency, Dates chart.Plot
	Scale                 []string // of the stack, from the top
	Total                 chart.Attempts
	Rows                  []chart.Attempts // with attempts, by the day, or by the hour where it is short
}

// History returns the charts of an integration.
func (p view) History(i *integrationPage) (*history, error) {
	var all []chart.Attempts
	for _, h := range i.Hours {
		a := attemptsOf(h.Begin, h.Tally)
		a.P50, a.P95 = milliseconds(h.P50), milliseconds(h.P95)
		all = append(all, a)
	}
	const day = 24 * time.Hour
	columns, rows := chart.Columns(all, p.Now, time.Hour, i.Days*24), chart.Columns(all, p.Now, day, i.Days+1)
	switch i.Days {
	case 1:
		rows = columns
	case 90:
		columns = rows
	}
	h := &history{Total: chart.Sum(columns)}
	for _, r := range rows {
		if r.Total() > 0 {
			h.Rows = append(h.Rows, r)
		}
	}
	s := speaker{view: p}
	label := s.say("StackLabel", "days", i.Days, "n", p.Num(h.Total.Total()), "received", p.Num(h.Total.Received),
		"partner", p.Num(h.Total.PartnerFault), "data", p.Num(h.Total.DataFault), "our", p.Num(h.Total.OurFault))
	var top int64
	h.Stack, top = chart.Stack(columns, label)
	for quarter := int64(4); quarter >= 0; quarter-- {
		h.Scale = append(h.Scale, p.Num(top*quarter/4))
	}
	h.Latency = chart.Latency(columns, s.say("LatencyLabel", "p50", p.Span(h.Total.P50), "p95", p.Span(h.Total.P95)))
	if h.Total.P95 > chart.LongestShown {
		h.Latency.Texts = []chart.Text{{X: 97.5, Y: 12, Text: s.say("LatencyAbove", "p95", p.Span(h.Total.P95))}}
	}
	h.Dates = p.dates(columns, i.Days)
	for _, l := range h.Dates.Lines {
		l.Class, l.Y1, l.Y2 = "grid", 0, 100
		h.Stack.Lines = append([]chart.Line{l}, h.Stack.Lines...)
	}
	return h, s.err
}

// hours is the axis below the columns of a day: each sixth hour.
func (p view) hours(columns []chart.Attempts) chart.Plot {
	axis := chart.Plot{Class: "dates"}
	for n, c := range columns {
		hour, x := c.Begin.UTC().Hour(), 100*chart.Percent(n)/chart.Percent(len(columns))
		if hour%6 != 0 {
			continue
		}
		axis.Lines = append(axis.Lines, chart.Line{X1: x, X2: x, Y2: 40, Class: "axis"})
		text := fmt.Sprintf("%02d:00", hour)
		if hour == 0 {
			text = p.Word("weekday", int(c.Begin.UTC().Weekday()))
		}
		if x >= 3 && x <= 97 {
			axis.Texts = append(axis.Texts, chart.Text{X: x, Y: 80, Text: text})
		}
	}
	return axis
}

// dates is the axis below the columns: each day, or each Monday of many; of a single day, its hours.
func (p view) dates(columns []chart.Attempts, days int) chart.Plot {
	if days == 1 {
		return p.hours(columns)
	}
	axis := chart.Plot{Class: "dates"}
	for _, t := range chart.Midnights(columns) {
		text := p.Word("weekday", int(t.At.Weekday()))
		switch {
		case days == 90 && (t.At.Weekday() != time.Monday || t.X < 2 || t.X > 97):
			continue
		case days == 90:
			t.Middle, text = t.X, t.At.Format(soonDays[p.Lang])
		case t.Middle < 3 || t.Middle > 97: // of a day that has just begun, or is nearly left out
			text = ""
		}
		if t.X > 0 {
			axis.Lines = append(axis.Lines, chart.Line{X1: t.X, X2: t.X, Y2: 40, Class: "axis"})
		}
		class := ""
		if days == 90 && len(axis.Texts)%3 != 0 {
			class = "thin" // there is no space for it on a phone
		}
		if text != "" {
			axis.Texts = append(axis.Texts, chart.Text{X: t.Middle, Y: 80, Class: class, Text: text})
		}
	}
	return axis
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// BreakerMeter draws how many failures in a row there are, up to those that open the breaker.
func (p view) BreakerMeter(i *integrationPage) (chart.Plot, error) {
	const opens = model.BreakAfter
	label, err := p.T("BreakerMeter", "n", p.Num(i.Failures), "of", opens)
	return chart.Meter(opens, label, chart.Share{Of: float64(i.Failures), Fill: chart.PartnerFault}), err
}
