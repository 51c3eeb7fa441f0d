package chart

import (
	"math"
	"slices"
	"time"
)

// Way is the axis of the way of an export: the time since it came, each step ten times the one before.
type Way struct {
	came time.Time
	end  time.Duration
	now  Percent // negative: after the end, or of no interest
}

// shortest is the begin of the axis: what took less begins there.
const shortest = 10 * time.Millisecond

// steps are the ticks of the axis; it ends with one of them.
var steps = []time.Duration{shortest, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute,
	time.Hour, 4 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour, 10 * 24 * time.Hour, 100 * 24 * time.Hour,
	1000 * 24 * time.Hour}

// NewWay makes the axis of an export that came at some time, up to the last thing that happens. The line of now is on it
// where that is not the last thing.
func NewWay(came, last, now time.Time) Way {
	w := Way{came: came, end: steps[len(steps)-1], now: -1}
	if n := slices.IndexFunc(steps, func(d time.Duration) bool { return d >= last.Sub(came) }); n >= 0 {
		w.end = steps[max(2, n)]
	}
	if !now.After(last) {
		w.now = w.X(now)
	}
	return w
}

// X returns the place of a time on the axis.
func (w Way) X(at time.Time) Percent {
	d := min(w.end, max(shortest, at.Sub(w.came)))
	return Percent(100 * math.Log(float64(d)/float64(shortest)) / math.Log(float64(w.end)/float64(shortest)))
}

// Scale draws the axis. name puts a length of time into words.
func (w Way) Scale(name func(time.Duration) string) Plot {
	p := Plot{Class: "plot scale"}
	for _, d := range w.steps() {
		x := w.X(w.came.Add(d))
		class := "mid"
		switch {
		case d == shortest:
			class = ""
		case d == w.end:
			class = "end"
		case d == 100*time.Millisecond || d == 10*time.Second || d == 10*time.Minute || x > 85:
			class = "mid thin" // there is no space for it on a phone
		}
		p.Texts = append(p.Texts, Text{X: x, Y: 62, Class: class, Text: name(d)})
	}
	return p
}

// steps returns the ticks of the axis that do not stand in the way of the last one.
func (w Way) steps() (all []time.Duration) {
	for _, d := range steps {
		if d == w.end || d < w.end && w.X(w.came.Add(d)) < 93 {
			all = append(all, d)
		}
	}
	return all
}

// Lane holds the events of one line of a way.
type Lane struct {
	Spans  []Interval // under way
	Waits  []Interval // dotted
	Events []Event
	End    Event // after which it is lost, as a line; without a time there is none
}

// Interval is a time from one moment to another. Text names it where there is space.
type Interval struct {
	From, To time.Time
	Text     string
}

// Event is something that happened at a moment, with a mark of the layout. Text stands beside it. Without a mark it is
// still to come.
type Event struct {
	At                time.Time
	Mark, Class, Text string
}

// Lane draws a line of the way.
func (w Way) Lane(l Lane, label string) Plot {
	p := Plot{Class: "plot", Label: label}
	for _, d := range w.steps() {
		x := w.X(w.came.Add(d))
		p.Lines = append(p.Lines, Line{X1: x, X2: x, Y2: 100, Class: "grid"})
	}
	for _, i := range l.Waits {
		from, to := w.X(i.From), w.X(i.To)
		p.Lines = append(p.Lines, Line{X1: from, X2: to, Y1: 50, Y2: 50, Class: "waits"})
		if to-from > 7 {
			p.Texts = append(p.Texts, Text{X: (from + to) / 2, Y: 38, Class: "soft mid thin", Text: i.Text})
		}
	}
	for _, i := range l.Spans {
		if from, to := w.X(i.From), w.X(i.To); to-from > 1.5 { // a shorter one is below its mark
			p.Rects = append(p.Rects, Rect{from, 34, to - from, 32, Span})
		}
	}
	if w.now >= 0 {
		p.Lines = append(p.Lines, Line{X1: w.now, X2: w.now, Y2: 100, Class: "now"})
	}
	if at := l.End.At; !at.IsZero() {
		x := w.X(at)
		p.Lines = append(p.Lines, Line{X1: x, X2: x, Y2: 100, Class: "end-line"})
		p.Texts = append(p.Texts, Text{X: x, Y: 50, DX: -6, DY: -10, Text: l.End.Text, Class: "end thin"})
	}
	for _, e := range l.Events {
		x := w.X(e.At)
		p.Marks = append(p.Marks, Mark{X: x, Y: 50, Symbol: e.Mark, Class: e.Class})
		if e.Text != "" {
			text := Text{X: x, Y: 50, DX: 12, DY: -6, Text: e.Text, Class: "thin"}
			if x > 94 {
				text.DX, text.Class = -12, "end thin"
			}
			p.Texts = append(p.Texts, text)
		}
	}
	return p
}

// Phase is a part of the time that an attempt took. Name is the end of its class: dns, connect, tls, first, rest.
type Phase struct {
	Name string
	Took time.Duration
}

// LongestPhases is the end of the scale of Phases. A longer bar is torn, and ends with its length.
const LongestPhases = 500 * time.Millisecond

// Phases draws the parts of an attempt one after the other, on the same scale for all attempts. length is the time that
// the attempt took, in words.
func Phases(phases []Phase, length, label string) Plot {
	const end, torn, beside = 82, 92, 94 // of a bar of LongestPhases, and of a longer one; where its length stands
	p := Plot{Class: "phases", Label: label}
	var total time.Duration
	for _, one := range phases {
		total += one.Took
	}
	limit := Percent(end)
	if total > LongestPhases {
		limit, p.Tear = torn, 87
		p.Texts = []Text{{X: beside, Y: 84, Text: length}}
	}
	x := Percent(0)
	for n, one := range phases {
		width := end * Percent(one.Took) / Percent(LongestPhases)
		if n == len(phases)-1 && total > LongestPhases {
			width = limit
		}
		if width = min(width, limit-x); width > 0 {
			p.Rects = append(p.Rects, Rect{x, 0, max(width, 0.35), 100, Fill("p-" + one.Name)})
			x += width
		}
	}
	return p
}

// Share is a part of a whole, for Meter.
type Share struct {
	Of   float64
	Fill Fill
}

// Meter draws the shares of a whole one after the other. What is left is empty.
func Meter(whole float64, label string, shares ...Share) Plot {
	p := Plot{Class: "meter", Label: label, Rects: []Rect{{0, 0, 100, 100, Bed}}}
	x := Percent(0)
	for _, s := range shares {
		if width := min(100-x, Percent(100*s.Of/max(1, whole))); width > 0 {
			p.Rects = append(p.Rects, Rect{x, 0, width, 100, s.Fill})
			x += width
		}
	}
	return p
}
