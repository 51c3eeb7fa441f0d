package console

import (
	"time"
)

// attempt is an attempt at an integration as the management API has it.
type attempt struct {
	Number     int       `json:"number"`
	StartedAt  time.Time `json:"startedAt"`
	DurationMs float64   `json:"durationMs"`
	Status     int       `json:"status"`
	Class      string    `json:"class"`
	Error      string    `json:"error"`
	Answer     string    `json:"answer"`
	Header     string    `json:"header"`
	Address    string    `json:"address"`
	Manual     bool      `json:"manual"`
	Phases     struct {
		DNS       float64 `json:"dnsMs"`
		Connect   float64 `json:"connectMs"`
		TLS       float64 `json:"tlsMs"`
		FirstByte float64 `json:"firstByteMs"`
	} `json:"phases"`
}

// Head is the beginning of an answer: what a person needs to recognise it.
func (a attempt) Head() string {
	const most = 500
	if runes := []rune(a.Answer); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return a.Answer
}

// phase is a part of the time of an attempt, and where its bar is in one of 100 units.
type phase struct {
	Name     string
	Ms       float64
	X, Width float64
}

// Timeline are the phases of an attempt that took time, in their order, and what is left.
func (a attempt) Timeline() (all []phase) {
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
