package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"time"
)

// turn is how long a server is loaded before the next one is loaded. Turns are short, because the other work of a shared
// machine changes from one second to the next.
const turn = 500 * time.Millisecond

// contender is a server that is loaded in turn with others, and the sums of its turns.
type contender struct {
	options
	result
	Rates  []float64     // answers a second, one for each round
	OfBare []float64     // the same as shares of the first server's rate in that round
	Syncs  float64       // syncs of the disk for each answer; negative: not counted
	CPU    time.Duration // processor time of the server for each answer

	server *server
	sender *sender
	body   []byte
	turns  []result
}

const gatewaySite = `export_receiver {
		tenant_from path 1
	}`

// acknowledgements loads four servers in turn: a bare Caddy, one that syncs each body to a file, and the gateway on
// both databases. No Temporal runs, so that only the acknowledgement is measured.
func (b *bench) acknowledgements() error {
	say("acks: %d rounds of %s for each of four servers, %d connections, %d bytes", b.rounds, turn, connections,
		len(b.full))
	var all []*contender
	defer func() {
		for _, c := range all {
			c.close()
		}
	}()
	for _, o := range []options{
		{name: "bare Caddy, respond 202", site: "respond 202"},
		{name: "Caddy, body synced to a file", binary: b.self, site: "bench_read * " + b.dir},
		{name: "hiregate, durable, on SQLite", site: gatewaySite},
		{name: "hiregate, durable, on PostgreSQL", site: gatewaySite, postgres: true},
	} {
		c, err := b.enter(o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		all = append(all, c)
	}
	for round := range b.rounds {
		for _, n := range rand.Perm(len(all)) { // so that no server always follows the same one
			if err := all[n].takeTurn(); err != nil {
				return fmt.Errorf("%s: %w", all[n].name, err)
			}
		}
		if (round+1)%8 == 0 {
			say("  %d of %d rounds", round+1, b.rounds)
		}
	}
	for _, c := range all {
		if err := c.sum(all[0].Rates); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return reportAcknowledgements(all)
}

// enter starts a server, connects to it and warms it up.
func (b *bench) enter(o options) (*contender, error) {
	s, err := b.serve(o)
	if err != nil {
		return nil, err
	}
	c := &contender{options: o, Syncs: -1, server: s, body: b.full}
	if c.sender, err = dial(s.address, signed(b.full), connections); err != nil {
		s.stop()
		return nil, err
	}
	if _, err := c.load(2 * turn); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *contender) load(during time.Duration) (result, error) {
	return c.sender.load("/hooks/acme", c.body, http.StatusAccepted, during)
}

func (c *contender) close() {
	c.sender.close()
	c.server.stop()
}

func (c *contender) takeTurn() error {
	r, cpu, err := c.server.measure(func() (result, error) { return c.load(turn) })
	if err != nil {
		return err
	}
	c.Rates = append(c.Rates, r.rate())
	c.turns = append(c.turns, r)
	c.CPU += cpu
	return nil
}

// sum adds the turns up.
func (c *contender) sum(bare []float64) error {
	c.result = together(c.turns)
	c.CPU /= time.Duration(c.Requests)
	for round, rate := range c.Rates {
		c.OfBare = append(c.OfBare, rate/bare[round])
	}
	if c.site != gatewaySite {
		return nil
	}
	// Both counters are read once, at the end: the gateway updates them about once a second, together.
	commits, err := c.server.metric("hiregate_store_commits_total")
	if err != nil {
		return err
	}
	writes, err := c.server.metric("hiregate_store_writes_total")
	c.Syncs = commits / writes
	return err
}

func reportAcknowledgements(acks []*contender) error {
	fmt.Printf("\n%s, %d cores, client and servers on this one machine\n\n", runtime.Version(), runtime.NumCPU())
	w := table()
	fmt.Fprintln(w, "server\tanswers/s\tof bare\tquartiles\tp50\tp99\tCPU of the server\tsyncs/answer\tfailed\t")
	for _, m := range acks {
		syncs := "-"
		if m.Syncs >= 0 {
			syncs = fmt.Sprintf("%.3f", m.Syncs)
		}
		_, rate, _ := quartiles(m.Rates)
		lower, ofBare, upper := quartiles(m.OfBare)
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f-%.2f\t%s\t%s\t%s\t%d\t\n", m.name, rate, ofBare, lower, upper,
			m.percentiles(), m.CPU.Round(time.Microsecond), syncs, m.Failed)
	}
	return w.Flush()
}

// quartiles returns the quartiles of at least one figure, in any order.
func quartiles[T cmp.Ordered](all []T) (lower, middle, upper T) {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/4], sorted[len(sorted)/2], sorted[len(sorted)*3/4]
}
