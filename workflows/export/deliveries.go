package export

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/failpoint"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// documentsLook is how often a delivery of a group looks for its documents, unless it is woken.
	documentsLook = 2 * time.Second
	// groupLane is how many deliveries of a group to one integration are prepared at a time.
	groupLane = 32
	// groupPatience is how long a delivery of a group waits for its place at the integration: as long as an attempt may
	// take. It takes up no worker meanwhile.
	groupPatience = 20 * time.Second
	// membersFresh is for how long a delivery is stepped as the agenda read it. Later it is read again.
	membersFresh = time.Second
)

// Deliver takes the deliveries of exports as far as they go now, and asks to be run again when the next step is due,
// until each is final, or parked because it was held for too long.
func (a *Activities) Deliver(ctx context.Context, part Part) ([]DeliverResult, error) {
	defer workflows.Beat(ctx)()
	if err := checkInput(part.Version, part.Exports); err != nil {
		return nil, err
	}
	if delay := a.unstored.delay(a.Now()); delay > 0 {
		return nil, workflows.RetryAfter(storeUnavailable, 0, delay)
	}
	leave, free := a.runs.enter(part)
	if !free { // Temporal took the run before this one for dead: its attempts may be under way
		return nil, workflows.RetryAfter("under_way", 0, workflows.Jittered(runsDelay))
	}
	defer leave()
	a.gates.arrived(activity.GetInfo(ctx).WorkflowExecution.ID)
	if err := workflows.RestoreRetryInterval(ctx, a.Client, retry.InitialInterval); workflows.Unanswered(err) {
		return nil, workflows.RetryAfter("temporal_unavailable", 0, workflows.Jittered(gateDelay))
	} else if err != nil {
		a.Log.Warn("the retry interval of a delivery stays short: should this gateway lose Temporal, an export may be sent twice",
			zap.Error(err))
	}
	now := a.Now()
	r := delivering{a: a, part: part, many: len(part.Exports) > 1, began: now, patience: patience,
		look:    min(max(now.Sub(part.Began), time.Second), time.Minute), // after as long as it waited before
		members: map[place]member{}, stepped: map[place]time.Time{}, waits: map[place]nextState{}}
	wake, forget := a.documentNews.listen(part.Exports)
	defer forget()
	steps := agenda[place]{now: a.Now, read: r.refresh, compare: earlier, lane: r.lane, step: r.step,
		wake: wake, woken: func(of place, export int64) bool { return of.export == export }}
	if r.many { // it takes one place of the worker for all
		a.groups.Add(1)
		defer a.groups.Add(-1)
		steps.lingers, r.patience, r.look = agendaLingers, groupPatience, documentsLook
	}
	next, err := steps.run(ctx)
	switch {
	case err != nil:
		return nil, a.storeAway(err)
	case !next.IsZero():
		class, text, err := r.why(ctx)
		if err != nil {
			return nil, a.storeAway(err)
		}
		r.wait(ctx)
		return nil, workflows.RetryAfterText(class, text, next.Sub(a.Now()))
	}
	if r.many {
		failpoint.Reach(failpoint.GroupDelivered)
	}
	return r.results, nil
}

// errNotHere says that the exports, or the round, of a workflow are in another database.
var errNotHere = fmt.Errorf("exports of a workflow: %w", store.ErrNotFound)

// delivering is one run of Deliver.
type delivering struct {
	a        *Activities
	part     Part
	many     bool
	began    time.Time     // when this run did
	patience time.Duration // for a place at an integration
	look     time.Duration // how often a delivery looks for its documents

	mu      sync.Mutex
	members map[place]member // those that were open, as they were read last
	read    time.Time        // when that reading began; zero: it may lack what was done
	stepped map[place]time.Time
	waits   map[place]nextState // as the last step of this run said
	open    []*model.Delivery
	results []DeliverResult
}

// refresh reads the deliveries that are open, and the results of the others.
func (r *delivering) refresh(ctx context.Context) (map[place]time.Time, error) {
	began := r.a.Now()
	if !r.a.unstored.none() {
		began = time.Time{}
	}
	members, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	var statuses store.IntegrationStatuses
	if slices.ContainsFunc(members, func(m member) bool { return m.delivery.Outcome == model.Held }) {
		if statuses, err = r.a.Store.ListIntegrationStatuses(ctx); err != nil {
			return nil, err
		}
	}
	due := map[place]time.Time{}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open, r.results, r.read = nil, nil, began
	for _, m := range members {
		d := m.delivery
		if d.Outcome.Final() || d.Parked {
			r.results = append(r.results, DeliverResult{d.ExportID, d.Integration, d.Class(), d.Attempts})
			continue
		}
		of := placeOf(d)
		r.members[of], due[of] = m, r.due(m.export, d, statuses)
		r.open = append(r.open, d)
	}
	return due, nil
}

// list reads the deliveries of the round. Those that a gateway of an earlier version did not insert it inserts.
func (r *delivering) list(ctx context.Context) (members []member, err error) {
	exports, err := r.a.Store.ExportsByID(ctx, r.part.Exports)
	if err != nil {
		return nil, err
	}
	deliveries, err := r.a.Store.ListDeliveriesOf(ctx, r.part.Exports)
	if err != nil {
		return nil, err
	}
	if len(exports) < len(r.part.Exports) {
		return nil, errNotHere
	}
	for _, e := range exports {
		if e.Round < r.part.Round {
			return nil, errNotHere
		}
		all := deliveries[e.ID]
		if e.Round == r.part.Round {
			if len(r.part.To) > 0 { // it may be that the store does not know yet whom its workflow was started for
				e.Integrations = r.part.To
			}
			if len(e.Missing(all)) > 0 {
				if err := r.a.Store.Write(ctx, func(tx *store.Tx) error { return tx.CompleteRound(e) }); err != nil {
					return nil, err
				}
				if all, err = r.a.Store.ListDeliveries(ctx, e.ID); err != nil {
					return nil, err
				}
			}
		}
		for _, d := range all {
			if d.Round == r.part.Round && (len(r.part.To) == 0 || slices.Contains(r.part.To, d.Integration)) {
				members = append(members, r.member(e, d, all))
			}
		}
	}
	return members, nil
}

// member returns a delivery of the round with its export and its end. Before its first attempt it takes the document mode
// of the rounds before: a redelivery has the same bytes.
func (r *delivering) member(e *model.Export, d *model.Delivery, all []*model.Delivery) member {
	if d.Till = r.part.Till; r.many {
		d.Till = firstEnd(e)
	}
	if d.Round > 0 && d.Documents == "" {
		d.Documents = triedIn(all, d.Integration)
	}
	return member{e, d}
}

// released reports whether what held a delivery is over.
func (r *delivering) released(e *model.Export, d *model.Delivery, statuses store.IntegrationStatuses) bool {
	c := r.a.InForce.Current()
	return c != nil && heldReason(c, e, d, statuses) == ""
}

// due is when a delivery has its next step by what the store says; the zero time: now.
func (r *delivering) due(e *model.Export, d *model.Delivery, statuses store.IntegrationStatuses) time.Time {
	first := r.began.Add(r.look)
	switch {
	case !d.AskedAt.IsZero(): // another time than it was due before, so that the agenda sees it
		return d.AskedAt
	case d.Outcome == model.Pending && r.many && first.Before(r.documentsTill(e, d)): // or as soon as they are here
		return first
	case d.Outcome == model.Retrying:
		return r.a.planned(d).due
	case d.Outcome == model.Held && r.many && !r.released(e, d, statuses):
		if first := d.HeldSince.Add(holdFirst); r.a.Now().Before(first) {
			return first
		}
		return holdEnd(e, d, d.Till)
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

func (r *delivering) known(of place) member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[of]
}

// current returns a copy of a delivery as the agenda has just read it, or reads it. One that another node writes
// meanwhile is found stale when it is stored, as after any read.
func (r *delivering) current(ctx context.Context, of place) (member, error) {
	r.mu.Lock()
	m, read, stepped := r.members[of], r.read, r.stepped[of]
	r.mu.Unlock()
	e, d := *m.export, *m.delivery
	if read.After(stepped) && r.a.Now().Sub(read) < membersFresh {
		return member{&e, &d}, nil
	}
	now, err := r.a.Store.Export(ctx, of.export)
	if err != nil {
		return member{}, err
	}
	stored, err := r.a.Store.Delivery(ctx, of.export, of.integration, of.round)
	if err != nil {
		return member{}, err
	}
	stored.Till, stored.Documents = d.Till, cmp.Or(stored.Documents, d.Documents)
	return member{now, stored}, nil
}

// lane is the integration of a delivery. Those that somebody asked for have their own: they pass an open breaker.
func (r *delivering) lane(of place) (string, int) {
	m := r.known(of)
	name := m.export.Tenant + " " + of.integration
	if !m.delivery.AskedAt.IsZero() {
		name += " asked"
	}
	return name, groupLane
}

func (r *delivering) step(ctx context.Context, of place) nextStep {
	next, err := r.deliver(ctx, of)
	if err != nil {
		next = r.a.waitFor(storeUnavailable, gateDelay)
	}
	if r.many && slices.Contains(calledFrom, next.class) { // then the run ends, and is called in its turn
		next.due = later(next.due, r.a.Now().Add(2*agendaLingers))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stepped[of], r.waits[of] = r.a.Now(), next
	return nextStep{until: next.due, closed: err == nil && slices.Contains(closedGates, next.class)}
}

func (r *delivering) deliver(ctx context.Context, of place) (nextState, error) {
	m := r.known(of)
	if left := r.documentsTill(m.export, m.delivery).Sub(r.a.Now()); left > 0 {
		if settled, err := r.a.Archive.Settled(ctx, m.export); err != nil || !settled {
			return r.a.waitFor("documents_missing", min(left, r.look)), nil
		}
	}
	if i, ok := r.integration(of); ok && r.many {
		// The agenda then begins nothing any more, and those to other integrations stand still until this one is through.
		leave, ok := r.a.gates.queue(ctx, i, agendaRuns-r.a.Now().Sub(r.began))
		if !ok {
			return r.a.waitFor("at_capacity", gateDelay), nil
		}
		defer leave()
	}
	if next := r.a.unstoredState(); !next.due.IsZero() {
		return next, nil
	}
	m, err := r.current(ctx, of)
	if err != nil {
		return nextState{}, err
	}
	if next := r.a.planned(m.delivery); !next.due.IsZero() {
		return next, nil
	}
	return r.a.deliver(ctx, m, r.patience)
}

func (r *delivering) integration(of place) (*model.Integration, bool) {
	c := r.a.InForce.Current()
	if c == nil {
		return nil, false
	}
	return c.Integration(r.known(of).export.Tenant, of.integration)
}

// documentsTill is until when the first attempt waits for documents, as the workflow of a single export has it wait;
// the zero time: it does not.
func (r *delivering) documentsTill(e *model.Export, d *model.Delivery) time.Time {
	c := r.a.InForce.Current()
	if d.Attempts > 0 || d.Round != e.Round || e.Attachments == 0 || c == nil {
		return time.Time{}
	}
	tenant, ok := c.Tenant(e.Tenant)
	if !ok {
		return time.Time{}
	}
	if wait := documentsWait(e, tenant, d.Integration, d.Documents, r.part.Began); wait > 0 {
		return r.part.Began.Add(wait)
	}
	return time.Time{}
}

// wait notes at the gates that turned deliveries away which of them wait for their turn.
func (r *delivering) wait(ctx context.Context) {
	info := activity.GetInfo(ctx)
	waiting := map[*model.Integration][]int64{} // exports
	closed := map[*model.Integration]bool{}
	for _, d := range r.open { // by export
		next := r.waits[placeOf(d)]
		i, ok := r.integration(placeOf(d))
		if !ok || d.Outcome == model.Held || d.Outcome == model.Retrying && d.Due().After(r.a.Now()) {
			continue
		}
		waiting[i] = append(waiting[i], d.ExportID)
		closed[i] = closed[i] || slices.Contains(calledFrom, next.class)
	}
	for i := range closed {
		if closed[i] {
			r.a.gates.turnedAway(i, &waiter{workflow: info.WorkflowExecution.ID, exports: waiting[i],
				wake: func(ctx context.Context) (bool, error) {
					return workflows.Wake(ctx, r.a.Client, info.Namespace, info.WorkflowExecution.ID, DeliverName)
				}})
		}
	}
}

// why says in fixed words what the run waits for: of a single export what each delivery does, of a group how many wait
// for what.
func (r *delivering) why(ctx context.Context) (class, text string, err error) {
	var failed []int64
	for _, d := range r.open {
		if _, known := r.waits[placeOf(d)]; !known && d.Outcome == model.Retrying {
			failed = append(failed, d.ID)
		}
	}
	statuses, err := r.a.Store.LastStatuses(ctx, failed)
	if err != nil {
		return "", "", err
	}
	counts := map[string]int{}
	var each []string // what each delivery of a single export waits for
	for _, d := range r.open {
		next, known := r.waits[placeOf(d)]
		switch {
		case !known && d.Outcome == model.Retrying && d.Fault != "":
			next = nextState{class: string(d.Fault), status: statuses[d.ID]}
		case !known && r.a.Now().Before(r.documentsTill(r.known(placeOf(d)).export, d)):
			next = nextState{class: "documents_missing"}
		case !known:
			next = nextState{class: string(d.Class())}
		}
		class, text = next.class, workflows.Reason(next.class, next.status)
		counts[text]++
		each = append(each, d.Integration+": "+text)
	}
	all := len(r.open) + len(r.results)
	switch {
	case all == 1:
		return class, text, nil
	case !r.many:
		return "several", strings.Join(each, ", "), nil
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[why], why))
	}
	return "several", fmt.Sprintf("%d of %d deliveries wait: %s", len(r.open), all, strings.Join(parts, ", ")), nil
}
