package chart

import (
	"math"
	"time"
)

// Attempts counts the attempts of some time, from Begin on.
type Attempts struct {
	Begin                                       time.Time
	Received, PartnerFault, DataFault, OurFault int64
	P50, P95                                    time.Duration // of how long they took
}

// Total returns the number of attempts.
func (a Attempts) Total() int64 { return a.Received + a.Failed() }

// Failed returns the number of attempts that were not received.
func (a Attempts) Failed() int64 { return a.PartnerFault + a.DataFault + a.OurFault }

func (a *Attempts) add(b Attempts) {
	a.Received += b.Received
	a.PartnerFault += b.PartnerFault
	a.DataFault += b.DataFault
	a.OurFault += b.OurFault
	a.P50, a.P95 = max(a.P50, b.P50), max(a.P95, b.P95)
}

// Sum adds attempts up. Its durations are the longest.
func Sum(all []Attempts) (sum Attempts) {
	for _, a := range all {
		sum.add(a)
	}
	return sum
}

// Columns sorts attempts into columns of the same length of time. end is in the last one. Durations of a column are the
// longest of its parts.
func Columns(all []Attempts, end time.Time, each time.Duration, columns int) []Attempts {
	last := end.UTC().Truncate(each)
	sorted := make([]Attempts, columns)
	for n := range sorted {
		sorted[n].Begin = last.Add(time.Duration(n+1-columns) * each)
	}
	for _, a := range all {
		if n := columns - 1 + int(math.Floor(float64(a.Begin.Sub(last))/float64(each))); n >= 0 && n < columns {
			sorted[n].add(a)
		}
	}
	return sorted
}

// ground is the line at the bottom of a chart.
var ground = Line{X2: 100, Y1: 100, Y2: 100, Class: "axis"}

// Strip draws a column for each part of some time, as high as the root of its attempts. One with failures has the full
// height, at least a third of it hatched, so that few failures are seen too; one without attempts is a stub.
func Strip(columns []Attempts, label string) Plot {
	const highest, stub = 78, 8 // of a column without failures; what has some stands out
	p := Plot{Class: "strip", Label: label, Lines: []Line{{X2: 100, Y1: 100, Y2: 100, Class: "grid"}}}
	most := int64(1)
	for _, c := range columns {
		most = max(most, c.Total())
	}
	for n, c := range columns {
		x, width := place(n, len(columns))
		failed := Percent(0)
		switch height := Percent(highest * math.Sqrt(float64(c.Total())/float64(most))); {
		case c.Total() == 0:
			p.Rects = append(p.Rects, Rect{x, 100 - stub, width, stub, Nothing})
		case c.Failed() == 0:
			p.Rects = append(p.Rects, Rect{x, 100 - height, width, height, Received})
		default:
			failed = max(100./3, Percent(100*float64(c.Failed())/float64(c.Total())))
			p.Rects = append(p.Rects, Rect{x, 0, width, failed, PartnerFault})
			if failed < 100 {
				p.Rects = append(p.Rects, Rect{x, failed, width, 100 - failed, Received})
			}
		}
	}
	return p
}

// place returns where one of several columns is. A fifth of its space is left free.
func place(n, of int) (x, width Percent) {
	each := 100 / Percent(of)
	return Percent(n)*each + each/10, each * 0.8
}

// Stack draws a column for each part of some time: from the bottom what was received, what failed by the partner's
// fault, what was refused for its data, and our faults. top is the end of its scale.
func Stack(columns []Attempts, label string) (p Plot, top int64) {
	for _, c := range columns {
		top = max(top, c.Total())
	}
	top = Ceiling(top)
	p = Plot{Class: "plot", Label: label}
	for y := Percent(0); y < 100; y += 25 {
		p.Lines = append(p.Lines, Line{X2: 100, Y1: y, Y2: y, Class: "grid"})
	}
	for n, c := range columns {
		x, width := place(n, len(columns))
		from := Percent(100)
		for _, part := range []struct {
			n    int64
			fill Fill
		}{{c.Received, Received}, {c.PartnerFault, PartnerFault}, {c.DataFault, DataFault}, {c.OurFault, OurFault}} {
			if part.n > 0 {
				height := 100 * Percent(part.n) / Percent(top)
				from -= height
				p.Rects = append(p.Rects, Rect{x, from, width, height, part.fill})
			}
		}
	}
	p.Lines = append(p.Lines, ground)
	return p, top
}

// LongestShown is the end of the scale of Latency.
const LongestShown = time.Second

// Latency draws how long attempts took: half of them, and 95 of 100. What took longer than LongestShown is at the top.
func Latency(columns []Attempts, label string) Plot {
	p := Plot{Class: "plot", Label: label}
	p.Lines = []Line{{X2: 100, Class: "grid"}, {X2: 100, Y1: 50, Y2: 50, Class: "grid"}, ground}
	p50, p95 := make([][2]float64, len(columns)), make([][2]float64, len(columns))
	for n, c := range columns {
		x := (float64(n) + 0.5) * 100 / float64(len(columns))
		p50[n], p95[n] = [2]float64{x, math.NaN()}, [2]float64{x, math.NaN()}
		if c.Total() > 0 {
			p50[n][1], p95[n][1] = heightOf(c.P50), heightOf(c.P95)
		}
	}
	p.Curves = []Curve{{path(p95), "curve p95"}, {path(p50), "curve p50"}}
	return p
}

func heightOf(d time.Duration) float64 {
	return 100 - 100*min(1, float64(d)/float64(LongestShown))
}

// Tick is a mark on the axis of time: the begin of a day, say. Middle is the middle of the time that it begins.
type Tick struct {
	X, Middle Percent
	At        time.Time
}

// Midnights returns the ticks of the days of some columns, each of which is an hour or a day long. The first tick is at
// the begin, also within a day.
func Midnights(columns []Attempts) (ticks []Tick) {
	for n, c := range columns {
		x := 100 * Percent(n) / Percent(len(columns))
		if y, m, d := c.Begin.Date(); n == 0 || !ticks[len(ticks)-1].At.Equal(time.Date(y, m, d, 0, 0, 0, 0, time.UTC)) {
			ticks = append(ticks, Tick{X: x, At: time.Date(y, m, d, 0, 0, 0, 0, time.UTC)})
		}
	}
	for n := range ticks {
		end := Percent(100)
		if n+1 < len(ticks) {
			end = ticks[n+1].X
		}
		ticks[n].Middle = (ticks[n].X + end) / 2
	}
	return ticks
}

// Spark draws values of the same distance in time, the last one now, on a scale from 0 to top.
func Spark(values []float64, top float64, bad bool, label string) Plot {
	class := ""
	if bad {
		class = " bad"
	}
	points := make([][2]float64, len(values))
	for n, v := range values {
		points[n] = [2]float64{100 * float64(n) / float64(max(1, len(values)-1)), 100 - 100*min(1, v/top)}
	}
	p := Plot{Class: "plot", Label: label, Lines: []Line{{X2: 100, Class: "grid"}, ground}}
	for x := Percent(0); x <= 100; x += 25 {
		p.Lines = append(p.Lines, Line{X1: x, X2: x, Y1: 100, Y2: 108, Class: "axis"})
	}
	if len(points) > 0 {
		line, last := path(points), points[len(points)-1]
		p.Curves = []Curve{{line + "L" + unit(last[0]) + " 100L0 100z", "area" + class}, {line, "curve" + class}}
		p.Dots = []Dot{{Percent(last[0]), Percent(last[1]), "end-dot" + class}}
	}
	return p
}
