package export

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

const (
	// UnknownAge is how long a delivery is overdue before Temporal is asked for its workflow. Its answer that it knows none is
	// certain.
	UnknownAge = 30 * time.Second
	// EndedAge is how long a delivery is overdue before a workflow that has ended counts as its end: another node may be about
	// to store what it did.
	EndedAge = 10 * time.Minute
)

// Wait is why a delivery is not final yet.
type Wait struct {
	Reason string    // a sentence for people
	NextAt time.Time // of the next attempt, or of the next look; zero: somebody has to do something first
}

// Waits says why deliveries wait. A delivery that waits at a gate leaves no trace in the store, since it comes there
// again and again: what it waits for is found out when somebody asks, from what is known of its integration.
type Waits struct {
	config    *config.Config
	now       time.Time
	statuses  store.IntegrationStatuses
	health    map[model.Place]model.Health
	documents map[int64]store.DocumentProgress
	gate      func(*model.Integration) delivery.Gate
	isLost    func(*model.Export, int) bool
	// as of Activities
	undispatched func(*model.Export, *config.Config) string
}

const (
	// A page asks for so many deliveries, and waits no longer for all answers.
	lateAsked  = 20
	lateWithin = 2 * time.Second
)

// Waits prepares to say why deliveries of some exports wait, at most store.MaxPage: three questions for all of them.
func (a *Activities) Waits(ctx context.Context, c *config.Config, now time.Time,
	exports []*model.Export) (*Waits, error) {
	w := &Waits{config: c, now: now, gate: a.Gate, isLost: a.lostSoFar(ctx), undispatched: a.Undispatched}
	var err error
	if w.statuses, err = a.Store.ListIntegrationStatuses(ctx); err != nil {
		return nil, err
	}
	if w.health, err = a.Store.ListHealth(ctx); err != nil {
		return nil, err
	}
	var ids []int64
	for _, e := range exports {
		if e.Attachments > 0 {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) > 0 {
		w.documents, err = a.Store.DocumentProgress(ctx, ids)
	}
	return w, err
}

// lostSoFar is IsLost for a page: it reports false when Temporal does not answer in time, or was asked often enough.
func (a *Activities) lostSoFar(ctx context.Context) func(*model.Export, int) bool {
	left, until := lateAsked, time.Time{}
	return func(e *model.Export, round int) bool {
		if a.IsLost == nil || left == 0 {
			return false
		}
		if until.IsZero() {
			until = time.Now().Add(lateWithin)
		}
		left--
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		lost, err := a.IsLost(ctx, e, round)
		if err != nil {
			left = 0
		}
		return lost && err == nil
	}
}

// For says why a delivery is not final: its workflow is to be started, or else in the order in which step would meet it.
func (w *Waits) For(e *model.Export, d *model.Delivery) Wait {
	if e.Fault != "" && d.Round == e.Round {
		return Wait{Reason: e.Fault}
	}
	if e.DispatchedAt.IsZero() && d.Round == e.Round && w.undispatched != nil {
		return Wait{Reason: w.undispatched(e, w.config)}
	}
	if reason := delivery.HeldReason(w.config, e, d, w.statuses); reason != "" {
		return Wait{Reason: reason}
	}
	i, _ := w.config.Integration(d.Tenant, d.Integration)
	if wait, ok := w.forDocuments(e, d, i); ok {
		return wait
	}
	if wait, ok := w.forWorkflow(e, d); ok {
		return wait
	}
	return w.atGate(d, i)
}

// forWorkflow reports whether a delivery waits for another workflow, since Temporal has lost its own.
func (w *Waits) forWorkflow(e *model.Export, d *model.Delivery) (Wait, bool) {
	due := d.NextAt
	for _, at := range []time.Time{d.HeldSince, wait.Later(d.CreatedAt, e.DispatchedAt)} {
		if due.IsZero() {
			due = at
		}
	}
	if d.Parked || due.IsZero() || w.now.Sub(due) < UnknownAge || !w.isLost(e, d.Round) {
		return Wait{}, false
	}
	return Wait{NextAt: w.now, Reason: "Temporal has lost its workflow, as after it was emptied or an older backup of it was " +
		"restored: it goes on in another one in a moment"}, true
}

// forDocuments reports whether a delivery waits for its documents.
func (w *Waits) forDocuments(e *model.Export, d *model.Delivery, i *model.Integration) (Wait, bool) {
	progress := w.documents[e.ID]
	here := progress.Fetched + progress.GivenUp
	if here >= e.Attachments || !w.now.Before(e.DocumentsTill) {
		return Wait{}, false
	}
	mode := cmp.Or(d.Documents, i.Documents)
	until := e.DocumentsTill
	switch {
	case mode == model.Inline, e.Origin == model.Triggered:
	case mode == model.Rehost && d.Attempts == 0 && w.now.Before(e.DispatchedAt.Add(rehostWait)):
		until = e.DispatchedAt.Add(rehostWait)
	default:
		return Wait{}, false
	}
	return Wait{NextAt: until, Reason: fmt.Sprintf("it waits for its documents, until %s at the latest: %d of %d are here",
		clock(until, w.now), here, e.Attachments)}, true
}

// atGate is why a delivery waits whose integration may have it.
func (w *Waits) atGate(d *model.Delivery, i *model.Integration) Wait {
	next := d.Due()
	if next.Before(w.now) {
		next = w.now // its turn comes at any moment
	}
	gate, health := w.gate(i), w.health[model.Place{Tenant: d.Tenant, Integration: d.Integration}]
	switch {
	case gate.BreakerOpen:
		next = wait.Later(next, gate.Probe)
		return Wait{NextAt: next, Reason: fmt.Sprintf("integration %s has failed since %s; next probe %s: %s", i.Name,
			clock(health.FailingSince, w.now), clock(next, w.now), health.Reason)}
	case d.Outcome == model.Retrying && next.After(w.now):
		return Wait{NextAt: next, Reason: d.Reason}
	case health.Failing():
		return Wait{NextAt: next, Reason: fmt.Sprintf("integration %s has failed since %s; the next attempt is made in "+
			"its turn: %s", i.Name, clock(health.FailingSince, w.now), health.Reason)}
	case gate.OverRate:
		return Wait{NextAt: next, Reason: fmt.Sprintf("integration %s gets %s at most: it waits for its turn", i.Name, i.Rate)}
	case gate.Full:
		return Wait{NextAt: next, Reason: fmt.Sprintf("integration %s has as many attempts under way as it takes, %d: it "+
			"waits for its turn", i.Name, i.AtOnce())}
	case gate.Backlog:
		return Wait{NextAt: next, Reason: fmt.Sprintf("integration %s gets what waited for it, the oldest first: it waits "+
			"for its turn", i.Name)}
	case d.Outcome == model.Held:
		return Wait{NextAt: next, Reason: fmt.Sprintf("integration %s is configured again: it goes out in a moment",
			i.Name)}
	case d.Outcome == model.Retrying:
		return Wait{NextAt: next, Reason: d.Reason}
	}
	return Wait{NextAt: next, Reason: "its first attempt is made in a moment, or under way"}
}

// clock is a time as people say it: with its day where that is another.
func clock(at, now time.Time) string {
	at = at.UTC()
	if at.Truncate(24*time.Hour) == now.UTC().Truncate(24*time.Hour) {
		return at.Format("15:04:05 MST")
	}
	return at.Format("2006-01-02 15:04 MST")
}
