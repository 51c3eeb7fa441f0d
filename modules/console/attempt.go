package console

import "github.com/hiregate/hiregate/internal/api"

// Head returns the beginning of an answer, which is enough to recognise it.
func (view) Head(answer string) string {
	const most = 500
	if runes := []rune(answer); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return answer
}

// phase is a part of the time of an attempt, and where its bar is in one of 100 units.
type phase struct {
	Name     string
	Ms       float64
	X, Width float64
}

// Timeline returns the phases of an attempt that took time, in their order, and the rest of its time.
func (view) Timeline(a api.Attempt) (all []phase) {
	rest := a.DurationMs
	for _, p := range []phase{{Name: "dns", Ms: a.Phases.DNS}, {Name: "connect", Ms: a.Phases.Connect},
		{Name: "tls", Ms: a.Phases.TLS}, {Name: "first_byte", Ms: a.Phases.FirstByte}} {
		if p.Ms > 0 {
			rest -= p.Ms
			all = append(all, p)
		}
	}
	if len(all) > 0 && rest > 0 {
		all = append(all, phase{Name: "rest", Ms: rest})
	}
	total, x := 0.0, 0.0
	for _, p := range all {
		total += p.Ms
	}
	for n := range all {
		all[n].X, all[n].Width = x, 100*all[n].Ms/total
		x += all[n].Width
	}
	return all
}
