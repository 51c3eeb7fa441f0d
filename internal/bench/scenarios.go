package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// scenarios are ways in which exports come, by name. body is an export without documents, full one with two.
var scenarios = map[string]func(b *bench, body, full []byte) error{
	"burst": func(b *bench, body, full []byte) error {
		return cmp.Or(
			b.burst("one tenant", flowOptions{tenants: 1}, body),
			b.burst("1,000 tenants", flowOptions{tenants: 1000}, body),
			b.burst("one tenant, 10 % of attempts fail", flowOptions{tenants: 1, failing: 10, option: "retry 1s"}, body),
			b.withDocuments(full),
			b.newcomer(body),
		)
	},
	"documents": func(b *bench, _, full []byte) error { return b.withDocuments(full) },
	"sustained": func(b *bench, body, _ []byte) error { return b.sustained(body) },
	"low":       func(b *bench, body, _ []byte) error { return cmp.Or(b.low(10, body), b.low(40, body)) },
	"hang":      func(b *bench, body, _ []byte) error { return b.hang(body) },
	"costs":     func(b *bench, body, _ []byte) error { return b.costs(body) },
	"backlog":   func(b *bench, body, _ []byte) error { return b.backlog(body) },
	"console":   func(b *bench, _, _ []byte) error { return b.console() },
	"health": func(b *bench, body, _ []byte) error {
		return cmp.Or(b.health(), b.burst("one tenant", flowOptions{tenants: 1}, body))
	},
}

// scenario measures one way in which exports come, beside a bare Caddy. It prints a line of JSON for each flow.
func (b *bench) scenario(name string, body, full []byte) error {
	run, ok := scenarios[name]
	if !ok {
		return fmt.Errorf("there is no scenario %q: %s", name, strings.Join(slices.Sorted(maps.Keys(scenarios)), ", "))
	}
	if err := b.bare(full); err != nil {
		return err
	}
	return run(b, body, full)
}

// bare loads a bare Caddy for three seconds, to compare machines by.
func (b *bench) bare(body []byte) error {
	c, err := b.enter(options{name: "bare Caddy", site: "respond 202"}, body)
	if err != nil {
		return err
	}
	defer c.leave()
	r, err := c.load(3 * time.Second)
	if err != nil {
		return err
	}
	return report("bare Caddy", struct {
		Cores   int     `json:"cores"`
		Answers float64 `json:"answersPerSecond"`
		P50     float64 `json:"p50Seconds"`
		P99     float64 `json:"p99Seconds"`
	}{runtime.NumCPU(), r.rate(), r.P50.Seconds(), r.P99.Seconds()})
}

// report prints what was measured as one line of JSON.
func report(scenario string, measured any) error {
	text, err := json.Marshal(measured)
	if err != nil {
		return err
	}
	name, err := json.Marshal(scenario)
	if err == nil {
		fmt.Printf("{\"scenario\":%s,%s\n", name, text[1:])
	}
	return err
}

// through sends exports through a new flow, waits until they have arrived, and reports how long that took.
func (b *bench) through(name string, o flowOptions, l flowLoad) error {
	f, err := b.newFlow(o)
	if err != nil {
		return err
	}
	defer f.close()
	m, err := f.run(l)
	if err != nil {
		return err
	}
	return report(name, m)
}

func (b *bench) burst(name string, o flowOptions, body []byte) error {
	return b.through("burst, "+name, o, flowLoad{exports: b.burstSize, connections: 32, tenants: o.tenants, body: body})
}

func (b *bench) low(perSecond int, body []byte) error {
	return b.through(fmt.Sprintf("%d/s", perSecond), flowOptions{tenants: 1},
		flowLoad{exports: perSecond * int(b.during.Seconds()), connections: 8, perSecond: perSecond, tenants: 1, body: body})
}

// sustained sends for minutes as fast as exports arrive: no more than 1,000 are under way, so that no backlog grows.
func (b *bench) sustained(body []byte) error {
	return b.through(fmt.Sprintf("sustained for %s", b.sustain), flowOptions{tenants: 10},
		flowLoad{exports: 1 << 30, during: b.sustain, underWay: 1000, connections: 32, tenants: 10, body: body})
}

// hang measures the exports of 49 tenants beside one more, whose partner answers, or does not, in turn.
func (b *bench) hang(body []byte) error {
	answers, err := b.newFlow(flowOptions{tenants: 50})
	if err != nil {
		return err
	}
	defer answers.close()
	hangs, err := b.newFlow(flowOptions{tenants: 50, hanging: "t0"})
	if err != nil {
		return err
	}
	defer hangs.close()
	const perSecond, rounds = 100, 4
	l := flowLoad{exports: perSecond * int(b.during.Seconds()), connections: 16, perSecond: perSecond, tenants: 50,
		body: body}
	var without, with flowed
	for range rounds {
		one, err := answers.run(l)
		if err != nil {
			return err
		}
		other, err := hangs.run(l)
		if err != nil {
			return err
		}
		without, with = without.with(one), with.with(other)
	}
	return cmp.Or(report("hang, all partners answer", without),
		report("hang, one partner of 50 does not answer", with))
}

// newcomer measures the exports of one tenant that come while 20,000 of another wait.
func (b *bench) newcomer(body []byte) error {
	f, err := b.newFlow(flowOptions{tenants: 2})
	if err != nil {
		return err
	}
	defer f.close()
	var group errgroup.Group
	group.Go(func() error {
		_, err := f.run(flowLoad{exports: b.burstSize, connections: 32, tenants: 1, body: body})
		return err
	})
	time.Sleep(time.Second)
	group.Go(func() error {
		_, err := f.send(flowLoad{exports: 100, connections: 4, perSecond: 10, first: 1, tenants: 1, body: body})
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := f.arrivals(); err != nil {
		return err
	}
	return report("100 exports of a tenant beside a burst of another", f.measured(time.Time{}, 0, "t1"))
}

// backlog measures acknowledgements and memory without and with exports that wait for a partner that is down.
func (b *bench) backlog(body []byte) error {
	f, err := b.newFlow(flowOptions{tenants: 2})
	if err != nil {
		return err
	}
	defer f.close()
	sample := func(name string) error {
		time.Sleep(time.Minute) // memory that is free goes back to the system
		resident, err := f.server.metric("process_resident_memory_bytes")
		if err != nil {
			return err
		}
		m, err := f.run(flowLoad{exports: 2000, connections: 8, perSecond: 100, first: 1, tenants: 1, body: body})
		if err != nil {
			return err
		}
		return report(name, struct {
			flowed
			Resident float64 `json:"residentBytes"`
		}{m, resident})
	}
	// The same load first with a partner that answers, so that the memory is that of a gateway that was busy.
	if _, err := f.run(flowLoad{exports: b.waiting, connections: 32, tenants: 1, body: body}); err != nil {
		return err
	}
	if err := sample("backlog, nothing waits"); err != nil {
		return err
	}
	f.refuse("t0")
	if _, err := f.run(flowLoad{exports: b.waiting, connections: 32, tenants: 1, body: body}); err != nil {
		return err
	}
	return sample(fmt.Sprintf("backlog, %d exports wait", b.waiting))
}

// withDocuments is a burst of exports with two documents each, which are re-hosted.
func (b *bench) withDocuments(full []byte) error {
	object, err := os.ReadFile("testdata/samples/document-object.json")
	if err != nil {
		return err
	}
	address, stop, err := listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(object)
	}))
	if err != nil {
		return err
	}
	defer stop()
	full = []byte(strings.ReplaceAll(string(full), "http://127.0.0.1:9099", "http://"+address))
	return b.through("burst, two documents each", flowOptions{tenants: 1, option: "documents rehost"},
		flowLoad{exports: b.burstSize / 4, connections: 32, tenants: 1, body: full})
}
