package main

import (
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// release measures one tenant's exports, 20 a second, without anything else, and while those of 1,000 other integrations
// that were held are released at once.
func (b *bench) release() error {
	const tenants, perSecond, seconds = 1000, 20, 40
	newcomer := fmt.Sprint("t", tenants)
	f, err := b.newFlow(flowOptions{tenants: tenants + 1})
	if err != nil {
		return err
	}
	defer f.close()
	beside := flowLoad{exports: perSecond * seconds, connections: 4, perSecond: perSecond, first: tenants, tenants: 1, body: b.body}
	alone, err := f.run(beside)
	if err != nil {
		return err
	}
	if err := report("release, nothing is released", alone); err != nil {
		return err
	}
	each := func(action string) error {
		var group errgroup.Group
		group.SetLimit(4)
		for n := range tenants {
			group.Go(func() error {
				return f.server.post(fmt.Sprintf("/tenants/t%d/integrations/hris/%s", n, action), map[string]any{})
			})
		}
		return group.Wait()
	}
	if err := each("disable"); err != nil {
		return err
	}
	if _, err := f.send(flowLoad{exports: b.waiting, connections: 32, tenants: tenants, body: b.body}); err != nil {
		return err
	}
	held := func() error {
		n, err := f.server.metric("hiregate_deliveries_held")
		if err == nil && int(n) < b.waiting {
			err = fmt.Errorf("%d of %d exports are held", int(n), b.waiting)
		}
		return err
	}
	if err := eventually(10*time.Minute, held); err != nil {
		return err
	}
	f.reset()
	var group errgroup.Group
	group.Go(func() error { return each("enable") })
	began := time.Now()
	acking, err := f.send(beside)
	if err != nil {
		return err
	}
	if err := group.Wait(); err != nil {
		return err
	}
	time.Sleep(time.Until(began.Add(seconds*time.Second + 10*time.Second)))
	released := f.measured(began, acking, newcomer)
	return report(fmt.Sprintf("release of %d held exports of %d integrations", b.waiting, tenants), released)
}
