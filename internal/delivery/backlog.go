package delivery

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	// callEvery is how often what waits at the gates is called.
	callEvery = 50 * time.Millisecond
	// callAgain is when a workflow is called again whose activity was just ending.
	callAgain = 250 * time.Millisecond
	// callsInVain is how many deliveries of a tenant are called per second beside one for each attempt: what is called
	// may be turned away once more, or be gone.
	callsInVain = 5
	callsAtOnce = 16 // integrations
)

// inLine is the word for a delivery that would overtake others that wait at the same gate.
const inLine = "in_line"

// Waiter is a workflow that waits in Temporal because a gate turned deliveries of it away.
type Waiter struct {
	Workflow string
	Exports  []int64   // of these deliveries, in order
	from     time.Time // it is not called before
	// Wake has it delivered now. It reports false where that is about to happen, or happens.
	Wake func(context.Context) (bool, error)
}

func (w *Waiter) last() int64 { return w.Exports[len(w.Exports)-1] }

// older orders workflows by their first export that waits.
func older(w, other *Waiter) int {
	return cmp.Or(cmp.Compare(w.Exports[0], other.Exports[0]), cmp.Compare(w.Workflow, other.Workflow))
}

// backlog lists what waits at a gate, as far as this process knows. It is called in order once the integration takes
// deliveries, as many as are attempted.
type backlog struct {
	waiting []*Waiter // the oldest first
	called  int64     // the last export that was called: it and those before it overtake nobody
	calling bool

	budget   float64   // how many deliveries may be called now
	refilled time.Time // when it was last
	at       time.Time // when the last one was called
}

// attempted notes an attempt: another delivery may be called for it.
func (b *backlog) attempted(most float64) { b.budget = min(most, b.budget+1) }

// turnedAway notes that a workflow waits at the gate of an integration.
func (g *gates) turnedAway(i *model.Integration, w *Waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.insert(g.of(i), w)
}

// insert adds a workflow to those that wait at a gate, in the place of what is there of it. The lock is held.
func (g *gates) insert(closed *gate, w *Waiter) {
	if before := g.waiting[w.Workflow][closed]; before != nil {
		g.remove(closed, before)
	}
	at, _ := slices.BinarySearchFunc(closed.backlog.waiting, w, older)
	closed.backlog.waiting = slices.Insert(closed.backlog.waiting, at, w)
	if g.waiting == nil {
		g.waiting, g.backlogs = map[string]map[*gate]*Waiter{}, map[*gate]bool{}
	}
	g.backlogs[closed] = true
	if g.waiting[w.Workflow] == nil {
		g.waiting[w.Workflow] = map[*gate]*Waiter{}
	}
	g.waiting[w.Workflow][closed] = w
}

// remove is the reverse of insert. The lock is held.
func (g *gates) remove(gate *gate, w *Waiter) {
	if at, there := slices.BinarySearchFunc(gate.backlog.waiting, w, older); there {
		gate.backlog.waiting = slices.Delete(gate.backlog.waiting, at, at+1)
	}
	if len(gate.backlog.waiting) == 0 {
		delete(g.backlogs, gate)
	}
	delete(g.waiting[w.Workflow], gate)
	if len(g.waiting[w.Workflow]) == 0 {
		delete(g.waiting, w.Workflow)
	}
}

// arrived notes that a workflow waits at no gate any more: its activity runs.
func (g *gates) arrived(workflow string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for gate, w := range g.waiting[workflow] {
		g.remove(gate, w)
	}
}

// overtakes reports whether a delivery came before one that waits and is older. The lock is held.
func (b *backlog) overtakes(export int64) bool {
	return len(b.waiting) > 0 && export > b.called && b.waiting[0].Exports[0] < export
}

// Crowded reports whether deliveries of a tenant wait at a gate.
func (a *Attempter) Crowded(tenant string) bool {
	a.gates.mu.Lock()
	defer a.gates.mu.Unlock()
	for _, gate := range a.gates.all[tenant] {
		if len(gate.backlog.waiting) > 0 {
			return true
		}
	}
	return false
}

// Loop has Temporal run what waits at the gates.
func (a *Attempter) Loop() loop.Loop {
	var calls errgroup.Group
	calls.SetLimit(callsAtOnce)
	return loop.Loop{Name: "waiting", Every: callEvery, Round: func(ctx context.Context) error {
		for _, gate := range a.gates.toCall() {
			if !calls.TryGo(func() error { a.gates.call(ctx, gate); return nil }) {
				a.gates.ready(gate)
			}
		}
		return nil
	}, End: func() { _ = calls.Wait() }}
}

// toCall returns the gates at which somebody waits and nobody calls. The caller is to call or to give each back.
func (g *gates) toCall() (all []*gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for gate := range g.backlogs {
		if !gate.backlog.calling {
			gate.backlog.calling = true
			all = append(all, gate)
		}
	}
	return all
}

// ready gives a gate back to those that call.
func (g *gates) ready(gate *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate.backlog.calling = false
}

// call calls what waits at a gate, for as long as it may.
func (g *gates) call(ctx context.Context, gate *gate) {
	defer g.ready(gate)
	for {
		w := g.next(gate, time.Now())
		if w == nil {
			return
		}
		woken, err := w.Wake(ctx)
		switch {
		case err != nil:
			g.putBack(gate, w)
			return
		case !woken:
			g.putBack(gate, w)
		}
	}
}

// putBack lets a workflow wait on that was called in vain, unless its activity began and ended meanwhile.
func (g *gates) putBack(gate *gate, w *Waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting[w.Workflow][gate] == nil {
		again := *w
		again.from = time.Now().Add(callAgain)
		g.insert(gate, &again)
	}
}

// next takes the workflow out of the backlog that is to be called now; nil: none is. While it is not known whether the
// integration is up, one is called that tries.
func (g *gates) next(gate *gate, now time.Time) *Waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := &gate.backlog
	b.budget = min(gate.callsAhead(), b.budget+now.Sub(b.refilled).Seconds()*callsInVain/float64(g.crowded(gate.tenant, now)))
	b.refilled = now
	if gate.reopened.Swap(false) {
		b.budget = gate.callsAhead()
	}
	if len(b.waiting) == 0 || b.waiting[0].from.After(now) || gate.down() {
		return nil
	}
	tries := gate.breaker.Load().State() != gobreaker.StateClosed
	if tries && now.Sub(b.at) < GateDelay || !tries && b.budget < 1 {
		return nil
	}
	w := b.waiting[0]
	g.remove(gate, w)
	b.called, b.at, b.budget = max(b.called, w.last()), now, b.budget-float64(len(w.Exports))
	return w
}
