package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

// RefusedError says why an export can't be redelivered now: a sentence for the person who asked.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Again brings deliveries on their way once more: redelivery of what is final, and release of what was held.
type Again struct {
	Store      *store.DB
	Client     client.Client
	Namespace  string
	Dispatcher *Dispatcher
	Now        func() time.Time
	Log        *zap.Logger

	looked time.Time // what was due then, FindLost has found; zero: it did not look yet
}

// Redelivery is what Redeliver did for each integration.
type Redelivery struct {
	Round   int      `json:"round"`
	Started []string `json:"started,omitempty"` // delivered anew, in this round
	Hurried []string `json:"hurried,omitempty"` // under way already: the next attempt is made now
}

// Redeliver delivers an export anew to integrations, all of the tenant's when none is named. One that is still under way is
// tried at once instead. Its documents can then be downloaded for a while longer. begun runs in the transaction that begins a round, and
// may run more than once. The error is a *RefusedError, or store.ErrNotFound, when it can't be.
func (a *Again) Redeliver(ctx context.Context, tenant, key string, integrations []string, begun func(*store.Tx, Redelivery) error) (Redelivery, error) {
	e, err := a.Store.ExportByKey(ctx, tenant, key)
	if err != nil {
		return Redelivery{}, err
	}
	switch {
	case !e.ErasedAt.IsZero():
		return Redelivery{}, errErased
	case e.Quarantined:
		return Redelivery{}, &RefusedError{fmt.Sprintf("this export is in quarantine, because its body breaks the schema: release it with hiregate export release %s/%s", tenant, key)}
	case e.Origin == hiring.Triggered && !a.Now().Before(e.DocumentsTill):
		return Redelivery{}, &RefusedError{"the addresses of this export's documents have ended: export the candidate again"}
	case e.DispatchedAt.IsZero() && e.Fault == "":
		return Redelivery{}, &RefusedError{"this export was not delivered yet: it waits for Temporal and goes out as soon as that answers"}
	}
	integrations, err = a.named(tenant, integrations)
	if err != nil {
		return Redelivery{}, err
	}
	deliveries, err := a.Store.Deliveries(ctx, e.ID)
	if err != nil {
		return Redelivery{}, err
	}
	deliveries = append(deliveries, e.Pending(deliveries)...)
	var res Redelivery
	var gone []*hiring.Delivery
	for _, name := range integrations {
		switch last := latest(deliveries, name); {
		case last == nil, last.Outcome.Final():
			res.Started = append(res.Started, name)
		default:
			switch err := a.hurry(ctx, e, last); {
			case errors.Is(err, workflows.ErrNotRunning) && !last.Parked, errors.Is(err, workflows.ErrNoActivity) && last.Outcome == hiring.Retrying:
				res.Started, gone = append(res.Started, name), append(gone, last)
			case last.Outcome == hiring.Held:
				return Redelivery{}, &RefusedError{fmt.Sprintf("%s: the export goes out by itself once the integration answers VERIFY with 200; hiregate integration enable %s/%s asks it anew", last.Reason, tenant, name)}
			case errors.Is(err, workflows.ErrNoActivity):
				return Redelivery{}, &RefusedError{fmt.Sprintf("the first attempt at integration %s is still to come: it waits for the documents of this export and is made by itself", name)}
			case err != nil:
				return Redelivery{}, err
			default:
				res.Hurried = append(res.Hurried, name)
			}
		}
	}
	res.Round = e.Round
	if len(res.Started) == 0 {
		return res, nil
	}
	_, err = a.begin(ctx, e, res.Started, gone, true, func(tx *store.Tx, next *hiring.Export) error {
		res.Round = next.Round
		return begun(tx, res)
	})
	switch {
	case errors.Is(err, store.ErrErased):
		return Redelivery{}, errErased
	case errors.Is(err, errMoved):
		return Redelivery{}, errJustMoved
	case err != nil:
		return Redelivery{}, err
	}
	return res, nil
}

var errErased = &RefusedError{"what this export held was erased, as retention says or somebody asked: have its service export the candidate again"}

var errJustMoved = &RefusedError{"this export has just been tried, or begun anew: look at it, and ask again if need be"}

// begin begins the next round of an export for integrations, with another 72 hours when there is to be more time. Deliveries that
// are moved go on in it with the attempts they had; the error is errMoved when one of them is not what it was. What also does, it does
// in the same transaction; it may be nil.
func (a *Again) begin(ctx context.Context, e *hiring.Export, integrations []string, moved []*hiring.Delivery, more bool, also func(*store.Tx, *hiring.Export) error) (next *hiring.Export, err error) {
	now := a.Now()
	err = a.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if more {
			next, err = nextRound(tx, e, integrations, now)
		} else {
			next, err = tx.NextRound(e.ID, integrations, now, e.DeliverTill)
		}
		if err != nil {
			return err
		}
		for _, d := range moved {
			if err := tx.BeginDelivery(d); err != nil { // it may not have been written yet
				return err
			}
			if ok, err := tx.MoveDelivery(d, next.Round, now); err != nil || !ok {
				return cmp.Or(err, errMoved)
			}
		}
		for _, name := range integrations { // those that were not moved: of an old export FindLost finds nothing else
			d := &hiring.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: name, Round: next.Round, Outcome: hiring.Pending, CreatedAt: now, UpdatedAt: now}
			if err := tx.BeginDelivery(d); err != nil {
				return err
			}
		}
		if also == nil {
			return nil
		}
		return also(tx, next)
	})
	if err != nil {
		return nil, fmt.Errorf("beginning the next round: %w", err)
	}
	a.Dispatcher.Offer(next)
	return next, nil
}

// errMoved says that a delivery is not what it was a moment ago: somebody else began its next round, or ended it.
var errMoved = errors.New("the delivery was moved or written meanwhile")

// nextRound begins the next round of an export for integrations, with another 72 hours, and lets its documents be downloaded for
// another 96. An export that was triggered here keeps its end, and that of its documents.
func nextRound(tx *store.Tx, e *hiring.Export, integrations []string, now time.Time) (*hiring.Export, error) {
	if e.Origin == hiring.Triggered {
		return tx.NextRound(e.ID, integrations, now, e.DocumentsTill)
	}
	next, err := tx.NextRound(e.ID, integrations, now, now.Add(hiring.DeliveryWindow))
	if err != nil {
		return nil, err
	}
	return next, tx.ExtendLinks(e.ID, now.Add(hiring.LinkWindow))
}

// named checks the integrations that were asked for, or gives all of the tenant's.
func (a *Again) named(tenant string, integrations []string) ([]string, error) {
	c := a.Dispatcher.InForce.Current()
	if c == nil {
		return nil, &RefusedError{"the gateway is stopping: ask again in a moment"}
	}
	t, ok := c.Tenant(tenant)
	if !ok || len(t.Integrations) == 0 {
		return nil, &RefusedError{fmt.Sprintf("tenant %s has no integration: add one to the Caddyfile first", tenant)}
	}
	if len(integrations) == 0 {
		for _, i := range t.Integrations {
			integrations = append(integrations, i.Name)
		}
	}
	for _, name := range integrations {
		if _, ok := t.Integration(name); !ok {
			return nil, &RefusedError{fmt.Sprintf("tenant %s has no integration %q", tenant, name)}
		}
	}
	return integrations, nil
}

func latest(all []*hiring.Delivery, integration string) (last *hiring.Delivery) {
	for _, d := range all {
		if d.Integration == integration {
			last = d // they come by round
		}
	}
	return last
}

// Release brings an integration's held deliveries on their way, now that it is configured: those whose workflow still waits
// are hurried, those whose workflow ended, or is gone, begin the next round.
func (a *Again) Release(ctx context.Context, i *hiring.Integration) error {
	const page = 200
	for after := int64(0); ; {
		held, err := a.Store.HeldDeliveries(ctx, i.Tenant, i.Name, after, page)
		if err != nil {
			return fmt.Errorf("reading held deliveries: %w", err)
		}
		for _, d := range held {
			after = d.ExportID
			if err := a.release(ctx, d); err != nil {
				return err
			}
		}
		if len(held) < page {
			return nil
		}
	}
}

func (a *Again) release(ctx context.Context, d *hiring.Delivery) error {
	e, err := a.Store.Export(ctx, d.ExportID)
	if err != nil {
		return err
	}
	if d.Round == e.Round && e.DispatchedAt.IsZero() { // its round is about to start
		return nil
	}
	// Read again, since a page takes its time: it may be released by now, and wait for its next attempt.
	d, err = a.Store.Delivery(ctx, d.ExportID, d.Integration, d.Round)
	switch {
	case errors.Is(err, store.ErrNotFound): // it was moved into another round
		return nil
	case err != nil || d.Outcome != hiring.Held:
		return err
	}
	if !d.Parked {
		err := a.hurry(ctx, e, d)
		if workflows.Unanswered(err) {
			return err // the others would find no more
		}
		if !errors.Is(err, workflows.ErrNotRunning) || e.DispatchedAt.IsZero() {
			if err != nil && ctx.Err() == nil {
				a.Log.Debug("a held delivery could not be hurried; it is tried again in a moment", zap.Error(err))
			}
			return ctx.Err()
		}
	}
	if _, err := a.begin(ctx, e, []string{d.Integration}, []*hiring.Delivery{d}, true, nil); err != nil && !errors.Is(err, errMoved) && !errors.Is(err, store.ErrErased) {
		return fmt.Errorf("releasing a held delivery: %w", err)
	}
	return nil
}

// hurry lets the activity of a delivery that is under way run at once. The error is workflows.ErrNotRunning when Temporal runs no workflow
// for it any more: it lost it, or was given a new database, or the gateway was down when the delivery's time ended. It is
// workflows.ErrNoActivity when that has no activity for it.
func (a *Again) hurry(ctx context.Context, e *hiring.Export, d *hiring.Delivery) error {
	return workflows.RunNow(ctx, a.Client, a.Namespace, hiring.WorkflowID(e.Tenant, e.Key, d.Round), DeliverName+"/"+d.Integration)
}

// TendHeld releases what is held for integrations that are configured by now, and ends what is held for those that were removed: it
// finds what an earlier release, or the removal, did not get to, or what no release was for, as when the configuration changed.
func (a *Again) TendHeld(ctx context.Context) error {
	held, err := a.Store.HeldAt(ctx)
	if err != nil {
		return err
	}
	metrics.Held(held)
	c := a.Dispatcher.InForce.Current()
	if c == nil {
		return nil
	}
	for at := range held {
		if i, ok := c.Integration(at.Tenant, at.Integration); ok {
			err = a.releaseOpen(ctx, i)
		} else {
			err = a.endRemoved(ctx, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Again) releaseOpen(ctx context.Context, i *hiring.Integration) error {
	status, err := a.Store.IntegrationStatus(ctx, i)
	if err != nil || !status.Open(i) {
		return err
	}
	return a.Release(ctx, i)
}
