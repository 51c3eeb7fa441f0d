package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// order is how exports left that waited for a partner.
type order struct {
	flowed
	PerSecond float64 `json:"leftPerSecond"`         // once the partner answered again
	Tenth     float64 `json:"slowestTenthPerSecond"` // of the ten parts, by arrival
	Off90     int     `json:"positionsOffP90"`       // of a tenant's, between the order of acknowledgement and that of arrival
	Off       int     `json:"positionsOffMost"`
}

// outage measures how exports leave: at once through a partner that takes 400 a second, and after they waited for it.
func (b *bench) outage() error {
	const exports, perSecond = 12_000, 66
	f, err := b.newFlow(flowOptions{tenants: 1, option: "in_flight 8", takes: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	defer f.close()
	l := flowLoad{exports: exports, connections: 8, tenants: 1, body: b.body}
	began := time.Now()
	m, err := f.run(l)
	if err != nil {
		return err
	}
	if err := report("outage, a burst while the partner answers", f.left(m, began)); err != nil {
		return err
	}
	f.reset()
	l.perSecond = perSecond
	return f.waitForPartner(fmt.Sprintf("outage, %d exports wait for the partner", exports), l)
}

// waitForPartner sends exports while all partners are down, and reports how they leave once these are back.
func (f *flow) waitForPartner(name string, l flowLoad) error {
	f.down.Store(true)
	began := time.Now()
	acking, err := f.send(l)
	if err != nil {
		return err
	}
	f.down.Store(false)
	up := time.Now()
	if err := f.arrivals(); err != nil {
		say("  %v", err)
	}
	return report(name, f.left(f.measured(began, acking, ""), up))
}

// left returns how the exports of a flow left since a time.
func (f *flow) left(m flowed, since time.Time) order {
	f.mu.Lock()
	defer f.mu.Unlock()
	arrived := slices.SortedFunc(maps.Keys(f.arrived), func(a, b string) int { return f.arrived[a].Compare(f.arrived[b]) })
	position, came := map[string]int{}, map[string]int{} // by export, and by tenant
	for _, uuid := range arrived {
		tenant := f.acked[uuid].tenant
		position[uuid] = came[tenant]
		came[tenant]++
	}
	var off []int
	clear(came)
	for _, uuid := range slices.SortedFunc(maps.Keys(f.acked), func(a, b string) int { return f.acked[a].at.Compare(f.acked[b].at) }) {
		tenant := f.acked[uuid].tenant
		at := came[tenant]
		came[tenant]++
		if to, ok := position[uuid]; ok {
			off = append(off, max(at-to, to-at))
		}
	}
	o := order{flowed: m}
	if n := len(arrived); n >= 10 {
		slices.SortFunc(off, cmp.Compare[int])
		o.Off90, o.Off = off[len(off)*9/10], off[len(off)-1]
		o.PerSecond = float64(n) / f.arrived[arrived[n-1]].Sub(since).Seconds()
		for part := range 10 {
			from, to := f.arrived[arrived[part*n/10]], f.arrived[arrived[(part+1)*n/10-1]]
			if rate := float64(n) / 10 / to.Sub(from).Seconds(); part == 0 || rate < o.Tenth {
				o.Tenth = rate
			}
		}
	}
	return o
}
