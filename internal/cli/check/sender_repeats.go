package check

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// each demands something of all events of a kind. wrong returns what is wrong with one; empty: nothing.
func each(which func(*event) bool, wrong func(*playedReceiver, *event) string, do string) func(context.Context, *playedReceiver) finding {
	return func(_ context.Context, p *playedReceiver) finding {
		none := true
		for _, e := range p.seen {
			if !which(e) {
				continue
			}
			none = false
			if got := wrong(p, e); got != "" {
				return finding{Sent: e.String(), Got: got, Do: do}
			}
		}
		if none {
			return finding{Skipped: "no event came that it is about"}
		}
		return finding{}
	}
}

func anyEvent(*event) bool { return true }

func isVerify(e *event) bool { return e.kind == webhook.EventVerify }

func isExport(e *event) bool { return e.kind == webhook.EventExport }

func wellFormed(e *event) bool { return e.malformed == "" }

func hasLink(e *event) bool { return isExport(e) && len(e.header.Values(webhook.LinkHeader)) > 0 }

func readableVerify(e *event) bool { return isVerify(e) && e.unreadable == "" }

func readableExport(e *event) bool { return isExport(e) && e.unreadable == "" }

// neverFails demands that an export has none of its faults that are such.
func neverFails(such func(schemas.Finding) bool, do string) func(context.Context, *playedReceiver) finding {
	return each(readableExport, func(_ *playedReceiver, e *event) string {
		return described(slices.DeleteFunc(slices.Clone(e.faults), func(f schemas.Finding) bool { return !such(f) }))
	}, do)
}

// neverDeviates demands that an export has none of the listed deviations of these names.
func neverDeviates(do string, names ...string) func(context.Context, *playedReceiver) finding {
	return each(readableExport, func(_ *playedReceiver, e *event) string {
		return described(slices.DeleteFunc(slices.Clone(e.deviations), func(f schemas.Finding) bool {
			return !slices.Contains(names, f.Deviation)
		}))
	}, do)
}

func waitsFor200(_ context.Context, p *playedReceiver) finding {
	asked := false
	for _, e := range p.seen {
		switch {
		case isVerify(e) && e.status == http.StatusOK:
			return finding{}
		case isVerify(e):
			asked = true
		case isExport(e) && asked:
			return finding{Sent: "202 to VERIFY", Got: e.String(), Do: "take an integration for configured after exactly 200, and send it nothing before"}
		}
	}
	return finding{Skipped: "no VERIFY was answered 200: save the integration again after the first one"}
}

func wrongContext(p *playedReceiver, e *event) string {
	values := e.header.Values(p.names.ExportContext)
	switch {
	case len(values) == 0:
		return ""
	case values[0] == "":
		return p.names.ExportContext + " without a value"
	case e.unattached:
		return p.names.ExportContext + ", and a candidate without a job application"
	}
	return ""
}

// later returns the events after one that satisfy a condition.
func (p *playedReceiver) later(e *event, such func(*event) bool) (all []*event) {
	for _, o := range p.seen[e.number:] {
		if such(o) {
			all = append(all, o)
		}
	}
	return all
}

// first returns the first event that satisfies a condition; nil: there is none.
func (p *playedReceiver) first(such func(*event) bool) *event {
	if n := slices.IndexFunc(p.seen, such); n >= 0 {
		return p.seen[n]
	}
	return nil
}

func wasAway(e *event) bool {
	return isExport(e) && e.status == http.StatusServiceUnavailable && !e.hungUp
}

func sentAgain(_ context.Context, p *playedReceiver) finding {
	e := p.first(wasAway)
	if e == nil {
		return finding{Skipped: "no export came so far that it was answered 503"}
	}
	if len(p.later(e, e.sameExport)) > 0 {
		return finding{}
	}
	got := "nothing under its UUID"
	if len(p.later(e, func(o *event) bool { return isExport(o) && o.sum == e.sum })) > 0 {
		got = "the same bytes under another UUID: unless a person exported the candidate again, a receiver takes it for another export"
	}
	return finding{Sent: "503 with Retry-After, to " + e.String(), Got: got,
		Do: "send it again by itself, with the same UUID and the same bytes: what nobody exports again is lost otherwise"}
}

func sentInTime(_ context.Context, p *playedReceiver) finding {
	e := p.first(wasAway)
	if e == nil {
		return finding{Skipped: "no export came so far that it was answered 503"}
	}
	again := p.later(e, e.sameExport)
	if len(again) == 0 {
		return finding{Skipped: "the export that was answered 503 did not come again"}
	}
	if gap := again[0].at.Sub(e.at); gap < p.away {
		return finding{Sent: "503 with Retry-After: " + terminal.FormatDuration(p.away), Got: "the export again after " + terminal.FormatDuration(gap),
			Do: "wait as long as Retry-After says"}
	}
	return finding{}
}

func sameBytes(_ context.Context, p *playedReceiver) finding {
	again := false
	for _, e := range p.seen {
		if !isExport(e) || e.uuid == "" || e.acknowledged() {
			continue
		}
		for _, o := range p.later(e, e.sameExport) {
			if again = true; o.sum != e.sum {
				return finding{Sent: o.String(), Got: fmt.Sprintf("another body than in event %d, which was answered %d", e.number, e.status),
					Do: "keep the bytes of an export, and send these each time: a receiver may refuse others under a UUID that it knows"}
			}
			if o.acknowledged() {
				break // what comes under its UUID later is not the same export
			}
		}
	}
	if !again {
		return finding{Skipped: "no export came again under its UUID"}
	}
	return finding{}
}

func sentOnce(_ context.Context, p *playedReceiver) finding {
	if p.first((*event).acknowledged) == nil {
		return finding{Skipped: "no export was answered 2xx"}
	}
	for _, e := range p.seen {
		if o := p.repeated(e); o != nil {
			return finding{Sent: fmt.Sprintf("%d to event %d", o.status, o.number), Got: "it again, " + e.String(),
				Do: "take any 2xx for an acknowledgement; and give a candidate that is exported once more another UUID"}
		}
	}
	return finding{}
}

func anotherUUID(_ context.Context, p *playedReceiver) finding {
	first := p.first(func(e *event) bool { return e.acknowledged() && e.uuid != "" })
	if first == nil {
		return finding{Skipped: "no export with a UUID was answered 2xx"}
	}
	others := p.later(first, func(o *event) bool { return isExport(o) && o.sum != first.sum })
	if len(others) == 0 {
		return finding{Skipped: "no other export came after the one that was answered 2xx"}
	}
	for _, o := range others {
		if o.uuid == first.uuid {
			return finding{Sent: o.String(), Got: fmt.Sprintf("the UUID of event %d, and another body", first.number),
				Do: "give each export a random UUID: under one that was acknowledged, a receiver drops it"}
		}
	}
	return finding{}
}

func waitsForAnswers(_ context.Context, p *playedReceiver) finding {
	if e := p.first(func(e *event) bool { return e.hungUp }); e != nil {
		return finding{Sent: "nothing for " + terminal.FormatDuration(p.slow) + ", after " + e.String(), Got: "the end of the connection",
			Do: "wait 20 s for an answer"}
	}
	if p.step < takesAll {
		return finding{Skipped: "no second export came: its answer takes long"}
	}
	return finding{}
}
