package export

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/failpoint"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// documentsLook is how often a delivery of a group that waits for its documents looks for them, unless it is woken.
	documentsLook = 2 * time.Second
	// groupLane is how many deliveries of a group to one integration are prepared at a time.
	groupLane = 32
	// groupPatience is how long a delivery of a group waits for its place at the integration: as long as an attempt may
	// take. It takes up no worker meanwhile.
	groupPatience = 20 * time.Second
	// membersFresh is for how long a delivery is stepped as the agenda read it. Later it is read again.
	membersFresh = time.Second
)

// DeliverGroup takes the deliveries of a group as far as they go now, and asks to be run again until each is final, or
// parked.
func (a *Activities) DeliverGroup(ctx context.Context, part GroupPart) (GroupResult, error) {
	defer workflows.Beat(ctx)()
	g := groupDelivery{a: a, ids: part.Exports, began: a.Now(), members: map[Part]member{}, stepped: map[Part]time.Time{}}
	wake, forget := a.documentNews.listen(part.Exports)
	defer forget()
	steps := agenda[Part]{now: a.Now, read: g.refresh, lane: g.lane, step: g.step,
		wake: wake, woken: func(part Part, export int64) bool { return part.Export == export }}
	next, err := steps.run(ctx)
	switch {
	case err != nil:
		return GroupResult{}, a.storeAway(err)
	case !next.IsZero():
		why, err := g.waiting(ctx)
		if err != nil {
			return GroupResult{}, a.storeAway(err)
		}
		return GroupResult{}, workflows.RetryGroupAfter(why, next.Sub(a.Now()))
	}
	failpoint.Reach(failpoint.GroupDelivered)
	return g.result, nil
}

// errNotHere says that members of a group are in another database.
var errNotHere = fmt.Errorf("members of a group: %w", store.ErrNotFound)

// groupDelivery is one run of DeliverGroup.
type groupDelivery struct {
	a     *Activities
	ids   []int64
	began time.Time // when this run did

	mu      sync.Mutex
	members map[Part]member // those that were open, as they were read last
	read    time.Time       // when that reading began; zero: it may lack what was done
	stepped map[Part]time.Time
	open    []*model.Delivery
	result  GroupResult
}

// refresh reads the deliveries that are open, and counts the others.
func (g *groupDelivery) refresh(ctx context.Context) (map[Part]time.Time, error) {
	began := g.a.Now()
	if !g.a.unstored.none() {
		began = time.Time{}
	}
	members, err := g.a.Store.Members(ctx, g.ids)
	if err != nil {
		return nil, err
	}
	if len(members) < len(g.ids) {
		return nil, errNotHere
	}
	statuses, err := g.statuses(ctx, members)
	if err != nil {
		return nil, err
	}
	due := map[Part]time.Time{}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open, g.result, g.read = nil, GroupResult{}, began
	for _, m := range members {
		for _, d := range m.Deliveries {
			switch {
			case d.Outcome.Final() || d.Parked:
				g.result.Deliveries = append(g.result.Deliveries, GroupDelivery{d.ExportID, d.Integration, d.Class()})
			default:
				part := Part{Export: d.ExportID, Integration: d.Integration, Till: firstEnd(m.Export)}
				if d.Till = part.Till; d.Read.IsZero() {
					d.CreatedAt = g.a.begunAt(m.Export, d.Round)
				}
				g.members[part], due[part] = member{m.Export, d}, g.due(m.Export, d, statuses)
				g.open = append(g.open, d)
			}
		}
	}
	return due, nil
}

// statuses reads how the integrations stand, if a delivery of a member is held.
func (g *groupDelivery) statuses(ctx context.Context, members []store.Member) (store.IntegrationStatuses, error) {
	for _, m := range members {
		if slices.ContainsFunc(m.Deliveries, func(d *model.Delivery) bool { return d.Outcome == model.Held }) {
			return g.a.Store.ListIntegrationStatuses(ctx)
		}
	}
	return store.IntegrationStatuses{}, nil
}

// released reports whether what held a delivery is over.
func (g *groupDelivery) released(e *model.Export, d *model.Delivery, statuses store.IntegrationStatuses) bool {
	c := g.a.InForce.Current()
	if c == nil || e.Quarantined {
		return false
	}
	i, ok := c.Integration(d.Tenant, d.Integration)
	if !ok {
		return false
	}
	status := statuses.Of(i)
	return status.Deliverable(i)
}

// due is when a delivery has its next step by what the store says; the zero time: now.
func (g *groupDelivery) due(e *model.Export, d *model.Delivery, statuses store.IntegrationStatuses) time.Time {
	first := g.began.Add(documentsLook)
	switch {
	case !d.AskedAt.IsZero(): // another time than it was due before, so that the agenda sees it
		return d.AskedAt
	case d.Outcome == model.Pending && first.Before(g.documentsTill(e, d)): // or as soon as they are here
		return first
	case d.Outcome == model.Retrying:
		return d.NextAt
	case d.Outcome == model.Held && !g.released(e, d, statuses):
		if first := d.HeldSince.Add(holdFirst); g.a.Now().Before(first) {
			return first
		}
		return holdEnd(e, d, firstEnd(e))
	}
	return time.Time{}
}

// firstEnd is the end of round 0 of an export.
func firstEnd(e *model.Export) time.Time {
	switch {
	case e.Round == 0:
		return e.DeliverTill
	case e.Origin == model.Triggered:
		return e.DocumentsTill
	}
	return e.ReceivedAt.Add(model.DeliveryWindow)
}

func (g *groupDelivery) member(part Part) member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members[part]
}

// current returns a copy of a delivery as the agenda has just read it, or reads it. One that another node writes
// meanwhile is found stale when it is stored, as after any read.
func (g *groupDelivery) current(ctx context.Context, part Part) (member, error) {
	g.mu.Lock()
	m, read, stepped := g.members[part], g.read, g.stepped[part]
	g.mu.Unlock()
	if !read.After(stepped) || g.a.Now().Sub(read) >= membersFresh {
		return g.a.read(ctx, part)
	}
	e, d := *m.export, *m.delivery
	return member{&e, &d}, nil
}

// lane is the integration of a delivery. Those that somebody asked for have their own: they pass an open breaker.
func (g *groupDelivery) lane(part Part) (string, int) {
	m := g.member(part)
	name := m.export.Tenant + " " + part.Integration
	if !m.delivery.AskedAt.IsZero() {
		name += " asked"
	}
	return name, groupLane
}

func (g *groupDelivery) step(ctx context.Context, part Part) nextStep {
	m := g.member(part)
	if g.a.Now().Before(g.documentsTill(m.export, m.delivery)) {
		if settled, err := g.a.Archive.Settled(ctx, m.export); err != nil || !settled {
			return g.nextStepIn(documentsLook)
		}
	}
	if c := g.a.InForce.Current(); c != nil {
		if i, ok := c.Integration(m.export.Tenant, part.Integration); ok {
			leave, err := g.a.gates.queue(ctx, i)
			if err != nil { // it is we who end
				return g.nextStepIn(gateDelay)
			}
			defer leave()
		}
	}
	next, err := g.deliver(ctx, part)
	if err != nil {
		return g.nextStepIn(gateDelay)
	}
	return nextStep{until: next.due, closed: slices.Contains(closedGates, next.class)}
}

func (g *groupDelivery) deliver(ctx context.Context, part Part) (nextState, error) {
	if next := g.a.unstoredState(part); !next.due.IsZero() {
		return next, nil
	}
	m, err := g.current(ctx, part)
	if err != nil {
		return nextState{}, err
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stepped[part] = g.a.Now()
	}()
	if next := g.a.planned(m.delivery); !next.due.IsZero() {
		return next, nil
	}
	return g.a.deliver(ctx, m, groupPatience)
}

func (g *groupDelivery) nextStepIn(delay time.Duration) nextStep {
	return nextStep{until: g.a.Now().Add(delay)}
}

// documentsTill is until when the first attempt waits for documents, as the workflow of a single export has it wait;
// the zero time: it does not.
func (g *groupDelivery) documentsTill(e *model.Export, d *model.Delivery) time.Time {
	c := g.a.InForce.Current()
	if d.Attempts > 0 || e.Attachments == 0 || c == nil {
		return time.Time{}
	}
	tenant, ok := c.Tenant(e.Tenant)
	if !ok {
		return time.Time{}
	}
	dispatched := e.DispatchedAt
	if dispatched.IsZero() { // just now
		dispatched = g.began
	}
	if wait := documentsWait(e, tenant, d.Integration, d.Documents, dispatched); wait > 0 {
		return dispatched.Add(wait)
	}
	return time.Time{}
}

// waiting says in fixed words what a group waits for: how many deliveries, by the class and status of the last attempt.
func (g *groupDelivery) waiting(ctx context.Context) (string, error) {
	var failed []int64
	for _, d := range g.open {
		if d.Outcome == model.Retrying {
			failed = append(failed, d.ID)
		}
	}
	statuses, err := g.a.Store.LastStatuses(ctx, failed)
	if err != nil {
		return "", err
	}
	counts := map[string]int{}
	for _, d := range g.open {
		why := string(d.Class())
		if d.Outcome == model.Retrying && d.Fault != "" {
			why = string(d.Fault)
		}
		if status := statuses[d.ID]; status != 0 {
			why += fmt.Sprintf(" %d", status)
		}
		counts[why]++
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[why], why))
	}
	all := len(g.open)
	return fmt.Sprintf("%d of %d deliveries wait: %s", all, all+len(g.result.Deliveries), strings.Join(parts, ", ")), nil
}
