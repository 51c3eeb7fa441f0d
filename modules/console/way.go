package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/console/chart"
)

// way is the template data of the way of an export: the axis of time, and a lane for each that had part in it.
type way struct {
	Scale chart.Plot
	Lanes []lane
}

// lane is a line of a way. Note stands below its name.
type lane struct {
	Name, Note string
	Plot       chart.Plot
}

// WayOf returns the way of an export: when it was received, its documents, and the attempts at each integration.
func (p view) WayOf(e *exportPage) (*way, error) {
	s := &speaker{view: p}
	axis := chart.NewWay(e.ReceivedAt, e.lastMoment(p.Now), p.Now)
	w := &way{Scale: axis.Scale(short)}
	w.Lanes = append(w.Lanes, lane{Name: s.say("Received"), Note: p.clock(e.ReceivedAt), Plot: axis.Lane(chart.Lane{
		Events: []chart.Event{{At: e.ReceivedAt, Mark: "m-in", Class: "idle", Text: s.say("LaneStored")}},
	}, s.say("LaneReceived"))})
	if len(e.Documents) > 0 {
		w.Lanes = append(w.Lanes, s.documents(e, axis))
	}
	for _, t := range e.Tried() {
		w.Lanes = append(w.Lanes, s.attempts(e, t, axis))
	}
	return w, s.err
}

// lastMoment returns the last thing that happens to an export: now, while it is open.
func (e *export) lastMoment(now time.Time) time.Time {
	last := e.ReceivedAt
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for _, d := range e.Documents {
		if later(d.FetchedAt); underWay(d) {
			later(now)
			later(e.documentsEnd(now))
		}
	}
	for _, d := range e.Deliveries {
		for _, a := range d.History {
			later(endOf(a))
		}
		if later(d.NextAt); d.Current && !d.Outcome.Final() {
			later(now)
			later(e.end(d, now))
		}
	}
	return last
}

// documentsEnd returns when the documents are lost that are still to be fetched; zero: none is, or that is over.
func (e *export) documentsEnd(now time.Time) time.Time {
	if e.toFetch() == 0 || !e.DocumentsTill.After(now) {
		return time.Time{}
	}
	return e.DocumentsTill
}

// toFetch counts the documents that are still to be fetched.
func (e *export) toFetch() (n int) {
	for _, d := range e.Documents {
		if d.State == model.Fetching {
			n++
		}
	}
	return n
}

// end returns when a delivery is given up; zero: it is held, is final, or that is over.
func (e *export) end(d api.DeliveryDetail, now time.Time) time.Time {
	if !d.Current || d.Outcome.Final() || d.Outcome == model.Held || !e.DeliverTill.After(now) {
		return time.Time{}
	}
	return e.DeliverTill
}

// left says on the axis, and below the name of a lane, how long something is left that ends at a time.
func (s *speaker) left(l *chart.Lane, note string, end time.Time) string {
	if end.IsZero() {
		return note
	}
	l.End = chart.Event{At: end, Text: s.say("LaneEnd")}
	return s.say("LaneLeft", "note", note, "left", s.near(end.Sub(s.Now)))
}

func endOf(a api.Attempt) time.Time {
	return a.StartedAt.Add(milliseconds(a.DurationMs))
}

func (s *speaker) documents(e *exportPage, axis chart.Way) lane {
	var l chart.Lane
	span := chart.Interval{From: e.ReceivedAt, To: e.ReceivedAt}
	for _, d := range e.Documents {
		at, event := d.FetchedAt, chart.Event{Mark: "m-ok", Class: "ok"}
		switch {
		case underWay(d):
			at, event = s.Now, chart.Event{Mark: "m-warn", Class: "warn"}
		case at.IsZero():
			at, event = minTime(s.Now, e.DocumentsTill), chart.Event{Mark: "m-lost", Class: "warn"}
		}
		event.At = at
		l.Events = append(l.Events, event)
		if at.After(span.To) {
			span.To = at
		}
	}
	l.Spans = []chart.Interval{span}
	note := s.left(&l, s.say("DocumentsHere", "n", e.Fetched, "of", len(e.Documents)), e.documentsEnd(s.Now))
	return lane{Name: s.say("Documents"), Note: note,
		Plot: axis.Lane(l, s.say("LaneDocuments", "n", e.Fetched, "of", len(e.Documents), "in", s.Between(span.From, span.To)))}
}

func underWay(d api.ExportDocument) bool {
	return d.State == model.Fetching || d.State == model.Scanning
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (s *speaker) attempts(e *exportPage, t tried, axis chart.Way) lane {
	var l chart.Lane
	var told []string
	attempts := 0
	for _, d := range t.Rounds {
		since := time.Time{} // when the attempt before ended
		for _, a := range d.History {
			if !since.IsZero() {
				l.Waits = append(l.Waits, chart.Interval{From: since, To: a.StartedAt, Text: short(a.StartedAt.Sub(since))})
			}
			since = endOf(a)
			l.Spans = append(l.Spans, chart.Interval{From: a.StartedAt, To: since})
			event := chart.Event{At: since, Mark: "m-bad", Class: "bad"}
			if a.Class == model.ClassDelivered {
				event.Mark, event.Class = "m-ok", "ok"
			}
			l.Events = append(l.Events, event)
			told = append(told, s.say("LaneAttempt", "n", a.Number, "after", s.Between(e.ReceivedAt, a.StartedAt),
				"answer", s.answered(a)))
		}
		attempts += d.Attempts
		if s.Left(d.NextAt) {
			if since.IsZero() {
				since = e.ReceivedAt
			}
			l.Waits = append(l.Waits, chart.Interval{From: since, To: d.NextAt})
			l.Events = append(l.Events, chart.Event{At: d.NextAt, Text: s.say("LaneNext", "in", short(d.NextAt.Sub(s.Now)))})
			told = append(told, s.say("LaneNextLabel", "in", s.Until(d.NextAt)))
		}
	}
	const most = 6
	if len(told) > most {
		told = told[len(told)-most:]
	}
	if len(told) == 0 {
		told = []string{s.say("LaneNone")}
	}
	note := s.left(&l, s.many("LaneAttempts", attempts), e.end(t.Last(), s.Now))
	return lane{Name: t.Integration, Note: note,
		Plot: axis.Lane(l, t.Integration+": "+strings.Join(told, "; "))}
}

func (s *speaker) answered(a api.Attempt) string {
	if a.Status == 0 {
		return s.say("NoAnswer")
	}
	return fmt.Sprint(a.Status)
}

// short returns a length of time in one unit, for an axis.
func short(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if d >= unit.of {
			return fmt.Sprintf("%d %s", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// tried holds all attempts at an integration, of all rounds: the first one first.
type tried struct {
	Integration string
	Rounds      []api.DeliveryDetail
}

// Last returns how the export stands at the integration.
func (t tried) Last() api.DeliveryDetail { return t.Rounds[len(t.Rounds)-1] }

// Refuses reports whether the system refused the data at last: the same bytes get the same answer.
func (t tried) Refuses() bool {
	history := t.Last().History
	return len(history) > 0 && meaning(history[len(history)-1]) == "data"
}

func (t tried) rank() int {
	if t.Last().Outcome == model.Delivered {
		return 1
	}
	return 0
}

// Tried returns the integrations that the export goes or went to: those that have not received it first.
func (e *export) Tried() (all []tried) {
	rounds := slices.Clone(e.Deliveries)
	slices.SortStableFunc(rounds, func(a, b api.DeliveryDetail) int { return a.Round - b.Round })
	for _, d := range rounds {
		if d.Integration == "" { // there was none
			continue
		}
		n := slices.IndexFunc(all, func(t tried) bool { return t.Integration == d.Integration })
		if n < 0 {
			n, all = len(all), append(all, tried{Integration: d.Integration})
		}
		all[n].Rounds = append(all[n].Rounds, d)
	}
	slices.SortStableFunc(all, func(a, b tried) int { return cmp.Compare(a.rank(), b.rank()) })
	return all
}
