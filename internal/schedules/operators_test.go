package schedules

import (
	"errors"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/rounds"
)

func (w *world) disable(n *node, s step) error {
	at, r := w.receiverOf(s)
	if r == nil {
		return nil
	}
	if err := w.setStatus(n, at, model.Disabled, true); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.disabled = time.Now()
	return nil
}

func (w *world) enable(n *node, s step) error {
	at, r := w.receiverOf(s)
	if r == nil {
		return nil
	}
	return w.verified(n, at)
}

// verified has an integration stand as after a VERIFY that was answered with 200.
func (w *world) verified(n *node, at model.Place) error {
	w.mu.Lock()
	w.receivers[at].disabled = time.Time{}
	w.mu.Unlock()
	if err := w.setStatus(n, at, model.Configured, false); err != nil {
		return err
	}
	i, ok := n.inForce.Current().Integration(at.Tenant, at.Integration)
	if !ok {
		return nil
	}
	return later(n.releaser.Release(n.ctx, i))
}

// later leaves out the errors of what the gateway does later by itself, since Temporal is away.
func later(err error) error {
	if errors.As(err, new(*rounds.RefusedError)) || workflows.Unanswered(err) {
		return nil
	}
	return err
}

// newSecret changes the secret of an integration, which is then to be verified again.
func (w *world) newSecret(_ *node, s step) error {
	_, r := w.receiverOf(s)
	if r == nil {
		return nil
	}
	w.mu.Lock()
	next := fmt.Sprint("secret-", len(r.secrets))
	r.secrets = append(r.secrets, next)
	r.integration.Secret = model.Secret(next)
	w.mu.Unlock()
	w.reload()
	return nil
}

// remove removes the integration crm of a tenant that has it.
func (w *world) remove(n *node, s step) error {
	at := model.Place{Tenant: both, Integration: "crm"}
	i, ok := n.inForce.Current().Integration(at.Tenant, at.Integration)
	if !ok {
		return nil
	}
	if err := w.setStatus(n, at, model.Removed, false); err != nil {
		return err
	}
	w.mu.Lock()
	w.receivers[at].removed = time.Now()
	w.mu.Unlock()
	w.reload()
	return n.releaser.End(n.ctx, i.Tenant, i.Name)
}

func (w *world) setRate(_ *node, s step) error {
	_, r := w.receiverOf(s)
	if r == nil {
		return nil
	}
	w.mu.Lock()
	if r.integration.Rate = nil; s.b%2 == 0 {
		r.integration.Rate = &model.Rate{PerSecond: 4, Burst: 1}
	}
	w.mu.Unlock()
	w.reload()
	return nil
}

// leave takes a tenant out of the configuration.
func (w *world) leave(_ *node, s step) error {
	w.mu.Lock()
	w.gone[fmt.Sprint("t", s.a%tenants)] = true
	w.mu.Unlock()
	w.reload()
	return nil
}

func (w *world) comeBack(*node, step) error {
	w.mu.Lock()
	clear(w.gone)
	w.mu.Unlock()
	w.reload()
	return nil
}

// ask notes that an export is to go out again.
func (w *world) ask(e *sent, integrations ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.again == nil {
		e.again = map[string]int{}
	}
	for _, name := range integrations {
		e.again[name]++
	}
}

func (w *world) redeliver(n *node, s step) error {
	e := w.some(s, func(e *sent) bool { return e.erased.IsZero() && !e.quarantined })
	if e == nil {
		return nil
	}
	w.ask(e, "hris", "crm")
	before, err := n.db.ExportByKey(n.ctx, e.tenant, e.uuid)
	if err != nil {
		return later(err)
	}
	begun, err := n.redeliverer.Redeliver(n.ctx, e.tenant, e.uuid, nil, func(*store.Tx, rounds.Redelivery) error { return nil })
	w.mu.Lock()
	e.round = max(e.round, begun.Round)
	if len(begun.Started) > 0 && !before.DispatchedAt.IsZero() && begun.Round <= before.Round {
		w.violated("%s was on its way in round %d, and a redelivery began round %d", e.uuid, before.Round, begun.Round)
	}
	w.mu.Unlock()
	return later(err)
}

// redeliverRange redelivers all of a tenant to an integration.
func (w *world) redeliverRange(n *node, s step) error {
	at, r := w.receiverOf(s)
	if r == nil {
		return nil
	}
	w.mu.Lock()
	var all []*sent
	for _, e := range w.order {
		if e.tenant == at.Tenant {
			all = append(all, e)
		}
	}
	w.mu.Unlock()
	for _, e := range all {
		w.ask(e, at.Integration)
	}
	modes := []model.RedeliveryMode{model.RedeliverFailed, model.RedeliverAll, model.RedeliverMissing}
	now := time.Now()
	j := &model.Redelivery{ID: fmt.Sprint("r-", now.UnixNano()), Rate: 5, State: model.RedeliveryRunning, CreatedAt: now, UpdatedAt: now,
		Selection: model.Selection{Tenant: at.Tenant, Integration: at.Integration, Since: w.began, Until: now, Mode: modes[s.b%3]}}
	return n.db.Write(n.ctx, func(tx *store.Tx) error { return tx.InsertRedelivery(j) })
}

// pauseRange ends the ranges that run.
func (w *world) pauseRange(n *node, s step) error {
	ids, err := n.db.ListRunningRedeliveries(n.ctx)
	if err != nil {
		return err
	}
	return n.db.Write(n.ctx, func(tx *store.Tx) error {
		for _, id := range ids {
			if _, err := tx.UpdateRedeliveryState(id, model.RedeliveryCancelled, "the schedule cancels it", time.Now(),
				model.RedeliveryRunning); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) retry(n *node, s step) error {
	at, r := w.receiverOf(s)
	if r == nil {
		return nil
	}
	i, _ := n.inForce.Current().Integration(at.Tenant, at.Integration)
	return later(n.releaser.Retry(n.ctx, i, func(*store.Tx) error { return nil }))
}

// erase erases an export, or the first one of the last burst, which may have given its group the name.
func (w *world) erase(n *node, s step) error {
	whole := func(e *sent) bool { return e.erased.IsZero() && !e.quarantined }
	e := w.some(s, whole)
	w.mu.Lock()
	if s.b%2 == 0 && w.newest < len(w.order) && whole(w.order[w.newest]) {
		e = w.order[w.newest]
	}
	w.mu.Unlock()
	if e == nil {
		return nil
	}
	if _, err := n.retention.EraseExport(n.ctx, e.id, true, func(*store.Tx) error { return nil }); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e.erased = time.Now()
	return nil
}

func (w *world) release(n *node, s step) error {
	e := w.some(s, func(e *sent) bool { return e.quarantined })
	if e == nil {
		return nil
	}
	w.mu.Lock()
	e.quarantined = false
	w.mu.Unlock()
	_, err := n.redeliverer.EndQuarantine(n.ctx, e.tenant, e.uuid, func(*store.Tx) error { return nil })
	return later(err)
}
