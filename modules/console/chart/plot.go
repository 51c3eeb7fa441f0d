// Package chart computes the console's charts. All places and lengths are in percent of the chart, so that texts,
// strokes and hatching keep their size at any width, and no style is needed.
package chart

import (
	"embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Percent is a place in a chart or a length, in percent of its width or height. Places begin at the left and at the top.
type Percent float64

func (p Percent) String() string {
	return strconv.FormatFloat(math.Round(float64(p)*100)/100, 'f', -1, 64) + "%"
}

// Plot is a chart: an SVG without a viewBox.
type Plot struct {
	Class  string // of the style sheet
	Label  string // says in a sentence what the chart shows; empty: the chart is hidden from screen readers
	Lines  []Line
	Rects  []Rect
	Curves []Curve
	Dots   []Dot
	Tear   Percent // where a bar is torn; 0: nowhere
	Marks  []Mark
	Texts  []Text
}

// Line is a straight line.
type Line struct {
	X1, X2, Y1, Y2 Percent
	Class          string
}

// Rect is a bar. Fill is one of the patterns of the layout, or else the name of a class.
type Rect struct {
	X, Y, Width, Height Percent
	Fill                Fill
}

// Fill says how a bar is filled.
type Fill string

// The fills of attempts, and those of the other bars.
const (
	Received     Fill = "b-ok"
	PartnerFault Fill = "hatch"
	DataFault    Fill = "dots"
	OurFault     Fill = "bars"
	Nothing      Fill = "b-none"
	Bad          Fill = "b-bad"
	Warn         Fill = "b-warn"
	Span         Fill = "span"
	Bed          Fill = "bed"
)

// Pattern reports whether the fill is a pattern of the layout rather than a class.
func (f Fill) Pattern() bool { return f == PartnerFault || f == DataFault || f == OurFault }

// Curve is a path in a square of 100 by 100 units, which is stretched over the chart.
type Curve struct{ Path, Class string }

// Dot is the end of a curve.
type Dot struct {
	X, Y  Percent
	Class string
}

// Mark is a symbol of the layout, such as m-ok; without a symbol, the dashed ring of what is still to come.
type Mark struct {
	X, Y          Percent
	Symbol, Class string
}

// Text is a text in a chart, DX and DY pixels from its place.
type Text struct {
	X, Y   Percent
	DX, DY int
	Class  string
	Text   string
}

//go:embed plot.svg
var files embed.FS

var drawing = template.Must(template.ParseFS(files, "plot.svg"))

// SVG draws the chart.
func (p Plot) SVG() (template.HTML, error) {
	var b strings.Builder
	if err := drawing.ExecuteTemplate(&b, "plot.svg", p); err != nil {
		return "", fmt.Errorf("drawing a chart: %w", err)
	}
	return template.HTML(b.String()), nil
}

// Ceiling returns the end of a scale for values up to most: the next of 4, 8, 12, 20, 40, 60, 80 and those times a
// power of ten, so that a quarter of it is a whole number. It is at least 4.
func Ceiling(most int64) int64 {
	for scale := int64(1); ; scale *= 10 {
		for _, step := range []int64{4, 8, 12, 20} {
			if most <= step*scale {
				return step * scale
			}
		}
	}
}

// path returns a line through points; a point that is not a number interrupts it.
func path(points [][2]float64) string {
	var b strings.Builder
	pen := "M"
	for _, p := range points {
		if math.IsNaN(p[1]) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%s %s", pen, unit(p[0]), unit(p[1]))
		if pen == "M" {
			b.WriteString("h.1") // a point alone is seen
		}
		pen = "L"
	}
	return b.String()
}

func unit(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }
