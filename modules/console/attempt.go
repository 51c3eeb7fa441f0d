package console

import (
	"html/template"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/console/chart"
)

// StatusText returns the name of an HTTP status; empty where it has none.
func (view) StatusText(status int) string { return http.StatusText(status) }

// phasesOf returns the phases of an attempt that took time, in their order, and the rest of its time.
func phasesOf(a api.Attempt) (all []chart.Phase) {
	rest := milliseconds(a.DurationMs)
	for _, p := range []chart.Phase{{Name: "dns", Took: milliseconds(a.Phases.DNS)}, {Name: "connect", Took: milliseconds(a.Phases.Connect)},
		{Name: "tls", Took: milliseconds(a.Phases.TLS)}, {Name: "first", Took: milliseconds(a.Phases.FirstByte)}} {
		if p.Took > 0 {
			rest -= p.Took
			all = append(all, p)
		}
	}
	if len(all) > 0 && rest > 0 {
		all = append(all, chart.Phase{Name: "rest", Took: rest})
	}
	return all
}

// PhaseNames returns the names of the phases, for their legend.
func (view) PhaseNames() []string { return []string{"dns", "connect", "tls", "first"} }

// timeline is the template data of the phases of an attempt.
type timeline struct {
	Plot  chart.Plot
	Parts []chart.Phase
}

// Timeline returns the phases of an attempt; nil: it came to nothing.
func (p view) Timeline(a api.Attempt) (*timeline, error) {
	parts := phasesOf(a)
	if len(parts) == 0 {
		return nil, nil
	}
	label, err := p.T("PhasesOf", "n", a.Number, "ms", p.Ms(a.DurationMs))
	return &timeline{Plot: chart.Phases(parts, p.Ms(a.DurationMs), label), Parts: parts}, err
}

// PhaseParts returns the phases of a VERIFY event; none: nothing came back.
func (view) PhaseParts(t *api.ReceiverTest) []chart.Phase {
	return phasesOf(api.Attempt{DurationMs: t.DurationMs, Phases: t.Phases})
}

// Took returns a length of time as people read it.
func (p view) Took(d time.Duration) string { return p.Ms(float64(d) / float64(time.Millisecond)) }

// StandsAt returns how an export stands at an integration.
func (p view) StandsAt(e *exportPage, d api.DeliveryDetail) (template.HTML, error) {
	s := speaker{view: p}
	words := p.Word("outcome", d.Outcome)
	switch {
	case d.Outcome == model.Delivered:
		words = s.say("StandsDelivered", "after", p.Between(e.ReceivedAt, d.UpdatedAt))
	case p.Left(d.NextAt):
		words = s.say("StandsNext", "outcome", words, "at", p.clock(d.NextAt))
	}
	l := lookOf("outcome", d.Outcome)
	return p.As(l.tone+" pill", l.mark, words), s.err
}

// attempts holds a round of an integration. The attempts before the last ones are folded.
type attempts struct{ Early, Late []api.Attempt }

// Attempts returns the attempts of a delivery.
func (view) Attempts(d api.DeliveryDetail) attempts {
	const most, late = 5, 3
	if n := len(d.History); n > most {
		return attempts{d.History[:n-late], d.History[n-late:]}
	}
	return attempts{Late: d.History}
}

// attempted is an attempt on the page of its export.
type attempted struct {
	api.Attempt
	ForClient template.URL // the text that the client can be told; empty: it was received
	Meaning   string       // of the last one; empty: the reason says it all
}

// Attempted returns the template data of an attempt at a delivery.
func (p view) Attempted(e *exportPage, d api.DeliveryDetail, a api.Attempt) attempted {
	shown := attempted{Attempt: a}
	if a.Class != model.ClassDelivered {
		shown.ForClient = p.ExportPath(e.Tenant, e.ID, "attempts", d.Integration, strconv.Itoa(d.Round), strconv.Itoa(a.Number)+".txt")
		if a.Number == d.History[len(d.History)-1].Number {
			shown.Meaning = meaning(a)
		}
	}
	return shown
}

// showForClient answers the text that a client can be told about an attempt. With the text of the answer, it is for those
// who see that.
func showForClient(v *visitor) error {
	uuid, err := v.uuid()
	if err != nil {
		return err
	}
	answer := v.URL.Query().Get("answer") == "yes"
	if answer && v.duties&answers == 0 {
		return errNotAllowed
	}
	var e export
	if err := v.get(exportAt(v.PathValue("tenant"), uuid), nil, &e); err != nil {
		return err
	}
	for n := range e.Deliveries {
		d := &e.Deliveries[n]
		for m := range d.History {
			if d.Integration == v.PathValue("integration") && strconv.Itoa(d.Round) == v.PathValue("round") &&
				strconv.Itoa(d.History[m].Number)+".txt" == v.PathValue("number") {
				h := v.w.Header()
				h.Set("Content-Type", "text/plain; charset=utf-8")
				h.Set("Cache-Control", "no-store")
				h.Set("Content-Security-Policy", policy)
				h.Set("X-Content-Type-Options", "nosniff")
				_, err := io.WriteString(v.w, e.ForClient(d, &d.History[m], answer))
				return err
			}
		}
	}
	return errNotFound
}
