package chart_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hiregate/hiregate/modules/console/chart"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func near(t *testing.T, what string, got, want chart.Percent) {
	t.Helper()
	if math.Abs(float64(got-want)) > 0.01 {
		t.Errorf("%s is %s, want %s", what, got, want)
	}
}

func TestStrip(t *testing.T) {
	columns := chart.Columns([]chart.Attempts{
		{Begin: noon.Add(-25 * time.Hour), Received: 900}, // before
		{Begin: noon.Add(-23 * time.Hour), Received: 100},
		{Begin: noon.Add(-22 * time.Hour), Received: 25},
		{Begin: noon.Add(-time.Hour), Received: 30, PartnerFault: 5, DataFault: 5},
		{Begin: noon, PartnerFault: 3, OurFault: 1},
	}, noon.Add(40*time.Minute), time.Hour, 24)
	if len(columns) != 24 || columns[0].Total() != 100 || columns[23].Failed() != 4 {
		t.Fatalf("the columns are %v", columns)
	}
	p := chart.Strip(columns, "four failed")
	near(t, "the highest column", p.Rects[0].Height, 78)
	near(t, "the column of a quarter of that", p.Rects[1].Height, 39)
	if stub := p.Rects[2]; stub.Fill != chart.Nothing || stub.Height != 8 || stub.Y != 92 {
		t.Errorf("an hour without attempts is %+v", stub)
	}
	few, rest, all := p.Rects[22], p.Rects[23], p.Rects[24]
	if few.Fill != chart.PartnerFault || rest.Fill != chart.Received || few.Y != 0 || all.Height != 100 ||
		len(p.Rects) != 25 {
		t.Errorf("the hours with failures are %+v, %+v, %+v of %d", few, rest, all, len(p.Rects))
	}
	near(t, "the least share of failures", few.Height, 100./3)
	near(t, "what is left of it", rest.Height+few.Height, 100)
	near(t, "the place of the last column", all.X, 23*100./24+10./24)
}

func TestSpark(t *testing.T) {
	p := chart.Spark([]float64{0, 5, 20, 10}, 10, true, "waiting")
	if want := "M0 100h.1L33.33 50L66.67 0L100 0"; p.Curves[1].Path != want {
		t.Errorf("the line is %s, want %s", p.Curves[1].Path, want)
	}
	if area := p.Curves[0]; !strings.HasSuffix(area.Path, "L100 100L0 100z") || area.Class != "area bad" {
		t.Errorf("the area is %+v", area)
	}
	if dot := p.Dots[0]; dot.X != 100 || dot.Y != 0 || dot.Class != "end-dot bad" {
		t.Errorf("the end is %+v", dot)
	}
	if empty := chart.Spark(nil, 10, false, "nothing"); len(empty.Curves) > 0 || len(empty.Dots) > 0 {
		t.Errorf("without values there is %+v", empty)
	}
}

func TestStack(t *testing.T) {
	columns := chart.Columns([]chart.Attempts{
		{Begin: noon.Add(-time.Hour), Received: 10, PartnerFault: 5, DataFault: 3, OurFault: 2},
		{Begin: noon.Add(-time.Hour), Received: 15},
	}, noon, time.Hour, 48)
	p, top := chart.Stack(columns, "attempts")
	if top != 40 || len(p.Rects) != 4 {
		t.Fatalf("the scale ends at %d, and %d bars are drawn", top, len(p.Rects))
	}
	y := chart.Percent(100)
	for n, want := range []struct {
		height chart.Percent
		fill   chart.Fill
	}{{62.5, chart.Received}, {12.5, chart.PartnerFault}, {7.5, chart.DataFault}, {5, chart.OurFault}} {
		y -= want.height
		r := p.Rects[n]
		near(t, "the height of a part", r.Height, want.height)
		near(t, "the top of a part", r.Y, y)
		if r.Fill != want.fill {
			t.Errorf("part %d is filled with %s, want %s", n, r.Fill, want.fill)
		}
	}
}

func TestCeiling(t *testing.T) {
	for most, want := range map[int64]int64{0: 4, 4: 4, 5: 8, 11: 12, 13: 20, 21: 40, 60: 80, 101: 120, 1999: 2000,
		81000: 120000} {
		if got := chart.Ceiling(most); got != want {
			t.Errorf("the scale for %d ends at %d, want %d", most, got, want)
		}
	}
}

func TestMidnights(t *testing.T) {
	ticks := chart.Midnights(chart.Columns(nil, noon, time.Hour, 7*24)) // from 13:00 seven days ago
	if len(ticks) != 8 || ticks[0].At.Day() != 17 || ticks[7].At.Day() != 24 {
		t.Fatalf("the days are %v", ticks)
	}
	near(t, "the first midnight", ticks[1].X, 100*11./168)
	near(t, "the middle of the first day", ticks[0].Middle, 50*11./168)
	near(t, "the middle of the last day", ticks[7].Middle, 100-50*13./168)
}

func TestLatency(t *testing.T) {
	columns := chart.Columns([]chart.Attempts{
		{Begin: noon.Add(-3 * time.Hour), Received: 1, P50: 100 * time.Millisecond, P95: 500 * time.Millisecond},
		{Begin: noon.Add(-2 * time.Hour), Received: 1, P50: 200 * time.Millisecond, P95: 30 * time.Second},
		{Begin: noon, Received: 1, P50: time.Second, P95: time.Second},
	}, noon, time.Hour, 4)
	p := chart.Latency(columns, "durations")
	if want := "M12.5 50h.1L37.5 0M87.5 0h.1"; p.Curves[0].Path != want || p.Curves[0].Class != "curve p95" {
		t.Errorf("p95 is %+v, want %s", p.Curves[0], want)
	}
	if want := "M12.5 90h.1L37.5 80M87.5 0h.1"; p.Curves[1].Path != want {
		t.Errorf("p50 is %s, want %s", p.Curves[1].Path, want)
	}
}

func TestWay(t *testing.T) {
	next := noon.Add(80 * time.Minute)
	w := chart.NewWay(noon, next, noon.Add(42*time.Minute))
	near(t, "the place of the export", w.X(noon), 0)
	near(t, "the place of 10 ms", w.X(noon.Add(10*time.Millisecond)), 0)
	near(t, "the place of 1 s", w.X(noon.Add(time.Second)), 32.48)
	near(t, "the place of 1 h", w.X(noon.Add(time.Hour)), 90.22)
	near(t, "the place of the end", w.X(noon.Add(5*time.Hour)), 100)
	scale := w.Scale(time.Duration.String)
	if names := len(scale.Texts); names != 8 || scale.Texts[7].Text != "4h0m0s" || scale.Texts[7].Class != "end" {
		t.Errorf("the axis has %d names: %+v", names, scale.Texts)
	}
	first := noon.Add(time.Second)
	p := w.Lane(chart.Lane{
		Spans: []chart.Interval{{From: first, To: noon.Add(10 * time.Second)}},
		Waits: []chart.Interval{{From: noon.Add(10 * time.Second), To: noon.Add(11 * time.Second), Text: "1 s"},
			{From: noon.Add(time.Minute), To: next, Text: "79 min"}},
		Events: []chart.Event{{At: first, Mark: "m-bad", Class: "bad"}, {At: next, Text: "in 39 min"}},
	}, "one attempt")
	near(t, "the begin of what is under way", p.Rects[0].X, 32.48)
	near(t, "its length", p.Rects[0].Width, 16.24)
	now := slices.IndexFunc(p.Lines, func(l chart.Line) bool { return l.Class == "now" })
	if now < 0 {
		t.Fatal("there is no line of now")
	}
	near(t, "now", p.Lines[now].X1, 87.71)
	if p.Texts[0].Text != "79 min" || p.Texts[1].Class != "thin" {
		t.Errorf("the texts are %+v: a wait without space has none, and what is to come stands beside its mark", p.Texts)
	}
	if p.Marks[1].Symbol != "" || p.Marks[0].Class != "bad" {
		t.Errorf("the marks are %+v", p.Marks)
	}
	over := chart.NewWay(noon, first, noon.Add(time.Hour))
	for _, l := range over.Lane(chart.Lane{}, "").Lines {
		if l.Class == "now" {
			t.Error("now is on the way of an export that is finished")
		}
	}
}

func TestPhases(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	short := []chart.Phase{{Name: "dns", Took: ms(50)}, {Name: "connect", Took: ms(100)}, {Name: "first", Took: ms(250)}}
	p := chart.Phases(short, "400 ms", "phases")
	near(t, "the begin of the last phase", p.Rects[2].X, 24.6)
	near(t, "the end of the bar", p.Rects[2].X+p.Rects[2].Width, 65.6)
	if p.Tear != 0 || len(p.Texts) != 0 || p.Rects[2].Fill != "p-first" {
		t.Errorf("the bar is %+v", p)
	}
	long := chart.Phases([]chart.Phase{{Name: "dns", Took: ms(50)}, {Name: "first", Took: 30 * time.Second},
		{Name: "rest", Took: ms(1)}}, "30 s", "phases")
	near(t, "the end of a torn bar", long.Rects[1].X+long.Rects[1].Width, 92)
	if len(long.Rects) != 2 || long.Tear == 0 || long.Texts[0].Text != "30 s" {
		t.Errorf("the torn bar is %+v", long)
	}
	most := chart.Phases([]chart.Phase{{Name: "dns", Took: ms(400)}, {Name: "first", Took: ms(150)}}, "550 ms", "phases")
	near(t, "the end of a bar that is just too long", most.Rects[1].X+most.Rects[1].Width, 92)
}

func TestMeter(t *testing.T) {
	p := chart.Meter(150, "108 of 150 minutes", chart.Share{Of: 108, Fill: chart.Received})
	near(t, "what is left of the time", p.Rects[1].Width, 72)
	p = chart.Meter(10, "", chart.Share{Of: 4, Fill: chart.Received}, chart.Share{Fill: chart.OurFault},
		chart.Share{Of: 9, Fill: chart.Bad})
	if len(p.Rects) != 3 {
		t.Fatalf("the meter has %d bars", len(p.Rects))
	}
	near(t, "the begin of the second share", p.Rects[2].X, 40)
	near(t, "the second share, which is too much", p.Rects[2].Width, 60)
	if empty := chart.Meter(0, "", chart.Share{}); len(empty.Rects) != 1 {
		t.Errorf("a share of nothing is %+v", empty.Rects)
	}
}

// TestSVG checks that a chart is well-formed, needs neither style nor script, and escapes its texts.
func TestSVG(t *testing.T) {
	columns := chart.Columns([]chart.Attempts{{Begin: noon, Received: 3, PartnerFault: 1}}, noon, time.Hour, 24)
	stack, _ := chart.Stack(columns, `attempts "of" <7> days`)
	w := chart.NewWay(noon, noon.Add(time.Hour), noon)
	lane := w.Lane(chart.Lane{Events: []chart.Event{{At: noon, Mark: "m-ok", Class: "ok", Text: "<200>"}, {At: noon}}}, "")
	for _, p := range []chart.Plot{stack, lane, chart.Strip(columns, "strip"), chart.Latency(columns, "latency"),
		chart.Spark([]float64{1, 2}, 4, false, "spark"), w.Scale(time.Duration.String),
		chart.Phases([]chart.Phase{{Name: "dns", Took: time.Hour}}, "1 h", "torn"), chart.Meter(1, "meter")} {
		svg, err := p.SVG()
		if err != nil {
			t.Fatal(err)
		}
		in := xml.NewDecoder(strings.NewReader(string(svg)))
		for {
			token, err := in.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
			root, ok := token.(xml.StartElement)
			if !ok || root.Name.Local != "svg" {
				continue
			}
			for _, a := range root.Attr {
				if a.Name.Local == "aria-label" && a.Value != p.Label || a.Name.Local == "style" {
					t.Errorf("%s is %q in %s", a.Name.Local, a.Value, svg)
				}
			}
		}
		named, hidden := strings.Contains(string(svg), `role="img"`), strings.Contains(string(svg), "aria-hidden")
		if named != (p.Label != "") || hidden == named {
			t.Errorf("a chart labelled %q is %s", p.Label, svg)
		}
		if strings.Contains(string(svg), "ZgotmplZ") {
			t.Errorf("the template refused a value: %s", svg)
		}
	}
}
