package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// scenario is one way to load the gateway.
type scenario struct {
	name   string
	run    func(b *bench) error
	partOf string // scenario that includes this one
	alone  bool   // runs only when it is asked for
}

// scenarios are in the order in which a run without -scenario makes them. acks and signin print tables, the others a
// line of JSON for each load.
var scenarios = []scenario{
	{name: "acks", run: (*bench).acknowledgements},
	{name: "signin", run: func(b *bench) error {
		return inTurn(func() error { return b.signin(false) }, func() error { return b.signin(true) })
	}},
	{name: "burst", run: (*bench).bursts},
	{name: "documents", run: (*bench).documents, partOf: "burst"},
	{name: "network", run: (*bench).network},
	{name: "sustained", run: (*bench).sustained},
	{name: "low", run: func(b *bench) error {
		return inTurn(func() error { return b.low(10) }, func() error { return b.low(100) }, func() error { return b.low(200) })
	}},
	{name: "hang", run: (*bench).hang},
	{name: "backlog", run: (*bench).backlog},
	{name: "outage", run: (*bench).outage},
	{name: "release", run: (*bench).release},
	{name: "console", run: (*bench).console},
	{name: "applications", run: (*bench).applications},
	{name: "waits", run: (*bench).waits},
	{name: "retention", run: (*bench).retention},
	{name: "recovery", run: (*bench).recovery, alone: true},
	{name: "faults", run: (*bench).faults, alone: true},
}

func scenarioNames() (names []string) {
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

// runScenarios runs the scenario that was asked for, or all.
func (b *bench) runScenarios() error {
	if b.only != "" && !slices.Contains(scenarioNames(), b.only) {
		return fmt.Errorf("there is no scenario %q: choose one of %s", b.only, strings.Join(scenarioNames(), ", "))
	}
	if b.only != "acks" && b.only != "signin" {
		if err := b.bare(); err != nil {
			return err
		}
	}
	for _, s := range scenarios {
		if b.only == s.name || b.only == "" && s.partOf == "" && !s.alone {
			if err := s.run(b); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

// inTurn takes steps one after the other, until one fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// bare loads a bare Caddy for three seconds, so that runs on different machines can be compared.
func (b *bench) bare() error {
	c, err := b.enter(options{name: "bare Caddy", site: "respond 202"})
	if err != nil {
		return err
	}
	defer c.close()
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

// report prints one line of JSON.
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
	return b.flow(f, name, l)
}

// flow measures a load, and the processor time that is spent on it.
func (b *bench) flow(f *flow, name string, l flowLoad) error {
	before := b.spent(f)
	m, err := f.run(l)
	if err != nil {
		return err
	}
	return report(name, struct {
		flowed
		spent
	}{m, b.spent(f).since(before, m.Exports)})
}

func (b *bench) burst(name string, o flowOptions) error {
	return b.through("burst, "+name, o, flowLoad{exports: b.burstSize, connections: 32, tenants: o.tenants, body: b.body})
}

func (b *bench) bursts() error {
	for _, one := range []struct {
		name string
		flowOptions
	}{
		{"one tenant", flowOptions{tenants: 1}},
		{"1,000 tenants", flowOptions{tenants: 1000}},
		{"one tenant, 10 % of attempts fail", flowOptions{tenants: 1, failing: 10, option: "retry 1s"}},
	} {
		if err := b.burst(one.name, one.flowOptions); err != nil {
			return err
		}
	}
	return inTurn(b.documents, b.newcomer)
}

func (b *bench) low(perSecond int) error {
	return b.through(fmt.Sprintf("%d/s", perSecond), flowOptions{tenants: 1},
		flowLoad{exports: perSecond * int(b.during.Seconds()), connections: 8, perSecond: perSecond, tenants: 1, body: b.body})
}

// sustained sends for minutes as fast as exports arrive: no more than 1,000 are under way, so that no backlog grows.
func (b *bench) sustained() error {
	return b.through(fmt.Sprintf("sustained for %s", b.sustain), flowOptions{tenants: 10},
		flowLoad{exports: 1 << 30, during: b.sustain, underWay: 1000, connections: 32, tenants: 10, body: b.body})
}

// hang measures the exports of 49 tenants beside one more, whose partner answers, or does not, in turn.
func (b *bench) hang() error {
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
		body: b.body}
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
	return inTurn(
		func() error { return report("hang, all partners answer", without) },
		func() error { return report("hang, one partner of 50 does not answer", with) },
	)
}

// newcomer measures the exports of one tenant that come while 20,000 of another wait.
func (b *bench) newcomer() error {
	f, err := b.newFlow(flowOptions{tenants: 2})
	if err != nil {
		return err
	}
	defer f.close()
	var group errgroup.Group
	group.Go(func() error {
		_, err := f.run(flowLoad{exports: b.burstSize, connections: 32, tenants: 1, body: b.body})
		return err
	})
	time.Sleep(time.Second)
	group.Go(func() error {
		_, err := f.send(flowLoad{exports: 100, connections: 4, perSecond: 10, first: 1, tenants: 1, body: b.body})
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
func (b *bench) backlog() error {
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
		m, err := f.run(flowLoad{exports: 2000, connections: 8, perSecond: 100, first: 1, tenants: 1, body: b.body})
		if err != nil {
			return err
		}
		return report(name, struct {
			flowed
			Resident float64 `json:"residentBytes"`
		}{m, resident})
	}
	// The same load first with a partner that answers, so that the memory is that of a gateway that was busy.
	if _, err := f.run(flowLoad{exports: b.waiting, connections: 32, tenants: 1, body: b.body}); err != nil {
		return err
	}
	if err := sample("backlog, nothing waits"); err != nil {
		return err
	}
	f.refuse("t0")
	if _, err := f.run(flowLoad{exports: b.waiting, connections: 32, tenants: 1, body: b.body}); err != nil {
		return err
	}
	return sample(fmt.Sprintf("backlog, %d exports wait", b.waiting))
}

// documents measures a burst of exports with two documents each, which are re-hosted.
func (b *bench) documents() error {
	body, _, stop, err := b.serveDocuments()
	if err != nil {
		return err
	}
	defer stop()
	return b.through("burst, two documents each", flowOptions{tenants: 1, option: "documents rehost"},
		flowLoad{exports: b.burstSize / 4, connections: 32, tenants: 1, body: body})
}
