package console

import (
	"fmt"
	"html/template"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/hiregate/hiregate/internal/api"
)

// How times are written, by language: a day, a time of the day, and both in full.
var (
	days     = map[string]string{"en": "2 Jan 2006", "de": "02.01.2006"}
	soonDays = map[string]string{"en": "2 Jan", "de": "02.01."}
	fully    = map[string]string{"en": "2006-01-02 15:04:05 UTC", "de": "02.01.2006 15:04:05 UTC"}
	printers = map[string]*message.Printer{"en": message.NewPrinter(language.English),
		"de": message.NewPrinter(language.German)}
)

// Num returns a number as people of the language write it: 1,234.5 or 1.234,5.
func (t *texts) Num(n any) string {
	switch n.(type) {
	case float32, float64:
		return printers[t.Lang].Sprintf("%.1f", n)
	}
	return printers[t.Lang].Sprintf("%d", n)
}

// NumOrMore returns a number, with a plus where there are more.
func (t *texts) NumOrMore(n int64, more bool) string {
	if more {
		return t.Num(n) + "+"
	}
	return t.Num(n)
}

// Percent returns a success rate in percent; a dash without any attempt.
func (t *texts) Percent(r api.Rates) string {
	if r.SuccessRate == nil {
		return "–"
	}
	return t.Num(*r.SuccessRate*100) + "\u00a0%"
}

// Bytes returns a size, in a unit that people read.
func (t *texts) Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return t.Num(float64(n)/1000) + " kB"
	}
	return t.Num(float64(n)/1_000_000) + " MB"
}

// Ms returns a time in milliseconds, in a unit that people read.
func (t *texts) Ms(ms float64) string {
	if ms < 10 {
		return printers[t.Lang].Sprintf("%.2g ms", ms)
	}
	return t.Span(time.Duration(ms * float64(time.Millisecond)))
}

// Span returns a length of time in two units at most.
func (t *texts) Span(d time.Duration) string {
	d = max(0, d)
	pair := func(n int, unit string, m int, smaller string) string {
		if m == 0 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		return fmt.Sprintf("%d %s %d %s", n, unit, m, smaller)
	}
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return pair(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	case d < 48*time.Hour:
		return pair(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	}
	return pair(int(d.Hours())/24, t.Word("unit", "days"), int(d.Hours())%24, "h")
}

// stamp returns a time for machines, and in words for people; its tip has it in full.
func (t *texts) stamp(at time.Time, words string) template.HTML {
	if at.IsZero() {
		return "–"
	}
	at = at.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, at.Format(time.RFC3339),
		at.Format(fully[t.Lang]), words))
}

// Time returns a time in full, in UTC.
func (t *texts) Time(at time.Time) template.HTML { return t.stamp(at, at.UTC().Format(fully[t.Lang])) }

// Day returns the day of a time, in UTC.
func (t *texts) Day(at time.Time) template.HTML { return t.stamp(at, at.UTC().Format(days[t.Lang])) }

// Clock returns the time of the day, in UTC, with the day unless it is today's.
func (p view) Clock(at time.Time) template.HTML { return p.stamp(at, p.clock(at)) }

func (p view) clock(at time.Time) string {
	at = at.UTC()
	if y, m, d := at.Date(); y != p.Now.Year() || m != p.Now.Month() || d != p.Now.Day() {
		return at.Format(soonDays[p.Lang] + " 15:04")
	}
	return at.Format("15:04:05")
}

// Ago returns how long ago a time was, as words of a sentence.
func (p view) Ago(at time.Time) (template.HTML, error) {
	words, err := p.T("Ago", "age", p.near(p.Now.Sub(at)))
	return p.stamp(at, words), err
}

// near returns a length of time in one unit.
func (t *texts) near(d time.Duration) string {
	switch d = max(0, d); {
	case d >= 48*time.Hour:
		return t.Span(d.Truncate(24 * time.Hour))
	case d >= 3*time.Hour:
		return t.Span(d.Truncate(time.Hour))
	case d >= time.Minute:
		return t.Span(d.Truncate(time.Minute))
	}
	return t.Span(d)
}

// Age returns how long ago a time was.
func (p view) Age(at time.Time) string {
	if at.IsZero() {
		return "–"
	}
	return p.Span(p.Now.Sub(at))
}

// Moment returns the time that the page shows, as forms send it.
func (p view) Moment() string { return p.Now.UTC().Format(time.RFC3339Nano) }

// Until returns how long it is until a time.
func (p view) Until(at time.Time) string { return p.Span(at.Sub(p.Now)) }

// Between returns the time from one to the other.
func (t *texts) Between(from, to time.Time) string { return t.Span(to.Sub(from)) }
