package console

import (
	"net/url"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/modules/console/chart"
)

// figure is a number with its last 24 hours as a line.
type figure struct {
	Name, Value, Top string
	Plot             chart.Plot
}

// overview returns the quarters of an hour of the last day: of a tenant, or of all where it is empty.
func (v *visitor) overview(tenant string) (all []api.Quarter, err error) {
	var shown api.Overview
	query := url.Values{"since": {v.console.Gateway.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)}}
	if tenant != "" {
		query.Set("tenant", tenant)
	}
	err = v.get("/v1/overview", query, &shown)
	return shown.Quarters, err
}

// Figures returns what flowed in the last day: what came, what was delivered, and what waits. nil: there was nothing.
func (p view) Figures(d *startPage) ([]figure, error) {
	if len(d.Quarters) == 0 {
		return nil, nil
	}
	const quarter, count = 15 * time.Minute, 96
	last := p.Now.Truncate(quarter)
	var received, delivered, waiting, oldest [count]float64
	var came, went int64
	for _, q := range d.Quarters {
		n := count - 1 - int(last.Sub(q.Begin)/quarter)
		if n < 0 || n >= count {
			continue
		}
		received[n], delivered[n] = float64(q.Received), float64(q.Delivered)
		waiting[n], oldest[n] = float64(q.Waiting), q.Oldest
		came, went = came+q.Received, went+q.Delivered
	}
	waiting[count-1] = max(waiting[count-1], float64(d.Waiting))
	if d.Waiting > 0 {
		oldest[count-1] = max(oldest[count-1], p.Now.Sub(d.Oldest).Seconds())
	}
	s := speaker{view: p}
	counted := func(key string, value int64, of []float64, bad bool) figure {
		top := chart.Ceiling(int64(slices.Max(of)))
		name := s.say(key)
		return figure{Name: name, Value: p.Num(value), Top: p.Num(top),
			Plot: chart.Spark(of, float64(top), bad, s.say("FigureLabel", "name", name, "value", p.Num(value),
				"most", p.Num(int64(slices.Max(of)))))}
	}
	longest := max(slices.Max(oldest[:]), 60)
	age, name := p.Age(d.Oldest), s.say("OldestWaits")
	figures := []figure{counted("CameDay", came, received[:], false), counted("DeliveredDay", went, delivered[:], false),
		counted("WaitingNow", d.Waiting, waiting[:], d.Stuck),
		{Name: name, Value: age, Top: p.near(time.Duration(longest) * time.Second), Plot: chart.Spark(oldest[:], longest, d.Stuck,
			s.say("OldestLabel", "value", age, "most", p.Span(time.Duration(slices.Max(oldest[:]))*time.Second)))}}
	return figures, s.err
}
