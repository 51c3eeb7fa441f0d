package export

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/failpoint"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// documentsLook is how often a delivery of a group looks for its documents, unless it is woken.
	documentsLook = 2 * time.Second
	// groupLane is how many deliveries of a group to one integration are prepared at a time.
	groupLane = 32
	// membersFresh is for how long a delivery is stepped as the agenda read it. Later it is read again.
	membersFresh = time.Second
)

// Deliver takes the deliveries of exports as far as they go now, and asks to be run again when the next step is due,
// until each is final, or parked because it was held for too long.
func (a *Activities) Deliver(ctx context.Context, part Part) ([]DeliverResult, error) {
	r := a.delivering(part)
	defer workflows.BeatWith(ctx, r.pending)()
	if err := checkInput(part.Version, part.Exports); err != nil {
		return nil, err
	}
	if next := a.Deferred(); !next.Due.IsZero() {
		return nil, workflows.RetryAfter(next.Class, 0, next.Due.Sub(a.Now()))
	}
	leave, free := a.runs.enter(part)
	if !free { // Temporal took the run before this one for dead: its attempts may be under way
		return nil, workflows.RetryAfter("under_way", 0, wait.Jittered(runsDelay))
	}
	defer leave()
	a.Arrived(activity.GetInfo(ctx).WorkflowExecution.ID)
	if err := workflows.RestoreRetryInterval(ctx, a.Client, retry.InitialInterval); workflows.Unanswered(err) {
		return nil, workflows.RetryAfter("temporal_unavailable", 0, wait.Jittered(delivery.GateDelay))
	} else if err != nil {
		a.Log.Warn("the retry interval of a delivery stays short: should this gateway lose Temporal, an export may be sent twice",
			zap.Error(err))
	}
	r.began = a.Now()
	r.look = min(max(r.began.Sub(part.Began), time.Second), time.Minute) // after as long as it waited before
	wake, forget := a.documentNews.listen(part.Exports)
	defer forget()
	steps := r.agenda()
	steps.wake, steps.woken = wake, func(of delivery.ID, export int64) bool { return of.Export == export }
	if r.many { // it takes one place of the worker for all
		a.groups.Add(1)
		defer a.groups.Add(-1)
		steps.lingers, r.patience, r.look = agendaLingers, delivery.GroupPatience, documentsLook
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
		pending := r.pending()
		some := fitting(pending)
		if len(some) < len(pending) {
			activity.RecordHeartbeat(ctx, pending...)
		}
		return nil, workflows.RetryAfterText(class, text, next.Sub(a.Now()), some...)
	}
	if r.many {
		failpoint.Reach(failpoint.GroupDelivered)
	}
	return summarize(r.ended), nil
}

// errNotHere says that the exports, or the round, of a workflow are in another database.
var errNotHere = fmt.Errorf("exports of a workflow: %w", store.ErrNotFound)

// delivering is one run of Deliver, or of First.
type delivering struct {
	a        *Activities
	part     Part
	many     bool
	first    bool      // a run of First
	began    time.Time // when this run did
	patience delivery.Patience
	look     time.Duration // how often a delivery looks for its documents

	mu      sync.Mutex
	members map[delivery.ID]delivery.Member // those that were open, as they were read last
	read    time.Time                       // when that reading began; zero: it may lack what was done
	stepped map[delivery.ID]time.Time
	waits   map[delivery.ID]delivery.State // as the last step of this run said
	open    []*model.Delivery
	status  map[int64]int // of the last answer, by the ID of the delivery, as it was looked up last
	ended   []delivery.Member
}

func (a *Activities) delivering(part Part) *delivering {
	return &delivering{a: a, part: part, many: len(part.Exports) > 1, began: a.Now(), patience: delivery.SinglePatience,
		members: map[delivery.ID]delivery.Member{}, stepped: map[delivery.ID]time.Time{}, waits: map[delivery.ID]delivery.State{}}
}

// agenda has the steps of the deliveries.
func (r *delivering) agenda() agenda[delivery.ID] {
	return agenda[delivery.ID]{now: r.a.Now, read: r.refresh, compare: delivery.ID.Earlier, lane: r.lane, step: r.step}
}

// refresh reads the deliveries that are open, and the others.
func (r *delivering) refresh(ctx context.Context) (map[delivery.ID]time.Time, error) {
	began := r.a.Now()
	if !r.a.AllStored() {
		began = time.Time{}
	}
	members, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	var statuses store.IntegrationStatuses
	if slices.ContainsFunc(members, func(m delivery.Member) bool { return m.Delivery.Outcome == model.Held }) {
		if statuses, err = r.a.Store.ListIntegrationStatuses(ctx); err != nil {
			return nil, err
		}
	}
	due := map[delivery.ID]time.Time{}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open, r.ended, r.read = nil, nil, began
	for _, m := range members {
		d := m.Delivery
		if d.Outcome.Final() || d.Parked {
			r.ended = append(r.ended, m)
			continue
		}
		id := delivery.IDOf(d)
		r.members[id], due[id] = m, r.due(m.Export, d, statuses)
		r.open = append(r.open, d)
	}
	return due, nil
}

// list reads the deliveries of the round. Those that a gateway of an earlier version did not insert it inserts.
func (r *delivering) list(ctx context.Context) (members []delivery.Member, err error) {
	reading := context.WithoutCancel(ctx)
	exports, err := r.a.Store.ExportsByID(reading, r.part.Exports)
	if err != nil {
		return nil, err
	}
	deliveries, err := r.a.Store.ListDeliveriesOf(reading, r.part.Exports)
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
func (r *delivering) member(e *model.Export, d *model.Delivery, all []*model.Delivery) delivery.Member {
	if d.Till = r.part.Till; r.many {
		d.Till = firstEnd(e)
	}
	if d.Round > 0 && d.Documents == "" {
		d.Documents = delivery.TriedIn(all, d.Integration)
	}
	return delivery.Member{Export: e, Delivery: d, Patience: r.patience}
}

// released reports whether what held a delivery is over.
func (r *delivering) released(e *model.Export, d *model.Delivery, statuses store.IntegrationStatuses) bool {
	c := r.a.InForce.Current()
	return c != nil && delivery.HeldReason(c, e, d, statuses) == ""
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
		return r.a.Planned(d).Due
	case d.Outcome == model.Held && r.many && !r.released(e, d, statuses):
		if first := d.HeldSince.Add(delivery.HoldFirst); r.a.Now().Before(first) {
			return first
		}
		return delivery.HoldEnd(e, d, d.Till)
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

func (r *delivering) known(of delivery.ID) delivery.Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[of]
}

// current returns a copy of a delivery as the agenda has just read it, or reads it. One that another node writes
// meanwhile is found stale when it is stored, as after any read.
func (r *delivering) current(ctx context.Context, of delivery.ID) (delivery.Member, error) {
	r.mu.Lock()
	m, read, stepped := r.members[of], r.read, r.stepped[of]
	r.mu.Unlock()
	e, d := *m.Export, *m.Delivery
	if read.After(stepped) && r.a.Now().Sub(read) < membersFresh {
		return delivery.Member{Export: &e, Delivery: &d, Patience: m.Patience}, nil
	}
	now, err := r.a.Store.Export(ctx, of.Export)
	if err != nil {
		return delivery.Member{}, err
	}
	stored, err := r.a.Store.Delivery(ctx, of.Export, of.Integration, of.Round)
	if err != nil {
		return delivery.Member{}, err
	}
	stored.Till, stored.Documents = d.Till, cmp.Or(stored.Documents, d.Documents)
	return delivery.Member{Export: now, Delivery: stored, Patience: m.Patience}, nil
}

// lane is the integration of a delivery. Those that somebody asked for have their own: they pass an open breaker.
func (r *delivering) lane(of delivery.ID) (string, int) {
	m := r.known(of)
	name := m.Export.Tenant + " " + of.Integration
	if !m.Delivery.AskedAt.IsZero() {
		name += " asked"
	}
	return name, groupLane
}

func (r *delivering) step(ctx context.Context, of delivery.ID) nextStep {
	next, err := r.deliver(ctx, of)
	if err != nil {
		next = r.a.WaitFor(delivery.StoreUnavailable, delivery.GateDelay)
	}
	if r.many && next.Calls() { // then the run ends, and is called in its turn
		next.Due = wait.Later(next.Due, r.a.Now().Add(2*agendaLingers))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stepped[of], r.waits[of] = r.a.Now(), next
	return nextStep{until: next.Due, closed: err == nil && next.Closed()}
}

func (r *delivering) deliver(ctx context.Context, of delivery.ID) (delivery.State, error) {
	m := r.known(of)
	if left := r.documentsTill(m.Export, m.Delivery).Sub(r.a.Now()); left > 0 {
		if settled, err := r.a.Archive.Settled(ctx, m.Export); err != nil || !settled {
			return r.a.WaitFor("documents_missing", min(left, r.look)), nil
		}
	}
	i, ok := r.integration(of)
	if alone := r.began.Add(firstAlone); r.first && (!ok || !r.a.Prompt(i)) && r.a.Now().Before(alone) {
		return delivery.State{Class: "not_prompt", Due: alone}, nil
	}
	if ok && m.Patience.LinesUp() {
		// The agenda then begins nothing any more, and those to other integrations stand still until this one is through.
		leave, ok := r.a.Queue(ctx, i, agendaRuns-r.a.Now().Sub(r.began))
		if !ok {
			return r.a.WaitFor("at_capacity", delivery.GateDelay), nil
		}
		defer leave()
	}
	if next := r.a.Deferred(); !next.Due.IsZero() {
		return next, nil
	}
	m, err := r.current(ctx, of)
	if err != nil {
		return delivery.State{}, err
	}
	if next := r.a.Planned(m.Delivery); !next.Due.IsZero() {
		return next, nil
	}
	return r.a.Step(ctx, m)
}

func (r *delivering) integration(of delivery.ID) (*model.Integration, bool) {
	c := r.a.InForce.Current()
	if c == nil {
		return nil, false
	}
	return c.Integration(r.known(of).Export.Tenant, of.Integration)
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
