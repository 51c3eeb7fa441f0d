package schedules

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
)

// step is one thing that happens. What it happens to is chosen by its numbers, so that it stays the same when others are
// left out.
type step struct {
	do   string
	a, b int
}

func (s step) String() string { return fmt.Sprintf("%s %d %d", s.do, s.a, s.b) }

// actions are what may happen, and how often beside the others. While Temporal is away, what then leaves its traces in the
// store happens more often.
var actions = []struct {
	name        string
	often, away int
	do          func(*world, *node, step) error
}{
	{"wait", 22, 22, (*world).wait},
	{"accept", 14, 14, (*world).acceptOne},
	{"burst", 12, 32, (*world).burst},
	{"repeat", 2, 2, (*world).repeat},
	{"enter", 4, 4, (*world).enter},
	{"apply", 8, 8, (*world).apply},
	{"service", 5, 5, (*world).changeService},
	{"resubmit", 2, 2, (*world).resubmit},
	{"erase-submitted", 1, 1, (*world).eraseSubmitted},
	{"partner", 11, 11, (*world).partner},
	{"disable", 4, 4, (*world).disable},
	{"enable", 5, 5, (*world).enable},
	{"secret", 2, 2, (*world).newSecret},
	{"remove", 1, 1, (*world).remove},
	{"rate", 2, 2, (*world).setRate},
	{"leave", 1, 1, (*world).leave},
	{"return", 2, 2, (*world).comeBack},
	{"redeliver", 4, 10, (*world).redeliver},
	{"range", 2, 2, (*world).redeliverRange},
	{"pause", 1, 1, (*world).pauseRange},
	{"retry", 2, 2, (*world).retry},
	{"erase", 4, 20, (*world).erase},
	{"quarantine", 2, 2, (*world).quarantine},
	{"release", 2, 2, (*world).release},
	{"away", 6, 6, (*world).temporalAway},
	{"back", 3, 3, (*world).temporalBack},
	{"empty", 2, 2, (*world).temporalEmpty},
	{"kill", 4, 12, (*world).killNode},
	{"cut-off", 2, 2, (*world).cutOff},
}

// newSteps returns the steps of a seed.
func newSteps(seed uint64) (steps []step) {
	rng := rand.New(rand.NewPCG(seed, 0))
	away := false
	for range 6 + rng.IntN(20) {
		var weights []int
		all := 0
		for _, a := range actions {
			weight := a.often
			if away {
				weight = a.away
			}
			weights, all = append(weights, weight), all+weight
		}
		n := 0
		for at := rng.IntN(all); at >= weights[n]; n++ {
			at -= weights[n]
		}
		do := actions[n].name
		away = do == "away" || away && do != "back"
		steps = append(steps, step{do, rng.IntN(1 << 20), rng.IntN(1 << 20)})
	}
	return steps
}

// take makes a step. An error is one of the test itself.
func (w *world) take(s step) error {
	for _, a := range actions {
		if a.name == s.do {
			w.note("%s", s)
			if n := w.anyNode(); n != nil {
				return a.do(w, n, s)
			}
			return nil
		}
	}
	return fmt.Errorf("no such step: %s", s.do)
}

func (w *world) wait(_ *node, s step) error {
	d := []time.Duration{50 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second, 12 * time.Second, 45 * time.Second}[s.a%5]
	time.Sleep(d + time.Duration(s.b%1000)*d/1000)
	return nil
}

func (w *world) places() (all []model.Place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for at := range w.receivers {
		all = append(all, at)
	}
	slices.SortFunc(all, func(a, b model.Place) int { return strings.Compare(a.Tenant+a.Integration, b.Tenant+b.Integration) })
	return all
}

// receiverOf returns an integration that was not removed; nil: that one was.
func (w *world) receiverOf(s step) (model.Place, *receiver) {
	all := w.places()
	at := all[s.a%len(all)]
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.receivers[at]; r.removed.IsZero() && !w.gone[at.Tenant] {
		return at, r
	}
	return at, nil
}

// accept has a node accept an export, as its receiver does.
func (w *world) accept(n *node, tenant string, quarantined bool) error {
	if _, ok := n.inForce.Current().Tenant(tenant); !ok {
		return nil // its URL is unknown
	}
	w.mu.Lock()
	uuid, attached := fmt.Sprintf("u-%04d", len(w.order)), w.flip && len(w.order)%2 == 0
	w.mu.Unlock()
	body := exportBody(uuid, attached)
	e := inbox.NewExport(tenant, uuid, body, time.Now())
	if e.Quarantined = quarantined; attached {
		e.Attachments = 1
	}
	if _, err := inbox.Accept(n.ctx, n.db, e); err != nil {
		return err
	}
	w.mu.Lock()
	w.add(&sent{id: e.ID, tenant: tenant, uuid: uuid, body: body, quarantined: quarantined, attached: attached})
	w.mu.Unlock()
	n.dispatcher.Offer(e)
	return nil
}

func (w *world) acceptOne(n *node, s step) error {
	return w.accept(n, fmt.Sprint("t", s.a%tenants), false)
}

func (w *world) quarantine(n *node, s step) error {
	return w.accept(n, fmt.Sprint("t", s.a%tenants), true)
}

// burst accepts exports of one tenant, or of all.
func (w *world) burst(n *node, s step) error {
	w.mu.Lock()
	w.newest = len(w.order)
	w.mu.Unlock()
	for i := range 8 + s.b%30 {
		of := s.a
		if s.a%3 == 0 {
			of += i
		}
		if err := w.accept(n, fmt.Sprint("t", of%tenants), false); err != nil {
			return err
		}
	}
	return nil
}

// some returns an export that was acknowledged; nil: none was.
func (w *world) some(s step, which func(*sent) bool) *sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*sent
	for _, e := range w.order {
		if which(e) {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[s.a%len(all)]
}

func (w *world) repeat(n *node, s step) error {
	e := w.some(s, func(e *sent) bool { return e.erased.IsZero() && !e.triggered })
	if e == nil {
		return nil
	}
	again := inbox.NewExport(e.tenant, e.uuid, e.body, time.Now())
	res, err := inbox.Accept(n.ctx, n.db, again)
	if err == nil && res.Verdict != inbox.Repeated {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.violated("%s was sent again, and is no repeat: %v", e.uuid, res.Verdict)
	}
	return err
}

func (w *world) partner(_ *node, s step) error {
	_, r := w.receiverOf(s)
	if r == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.status, r.takes = http.StatusOK, 20*time.Millisecond
	switch s.b % 8 {
	case 0, 1, 2:
		r.status = http.StatusServiceUnavailable
	case 3:
		r.status = http.StatusBadRequest
	case 4:
		r.status = http.StatusGone
	case 5:
		r.takes = 2 * time.Second
	case 6:
		r.takes = 25 * time.Second
	}
	w.noteLocked("%s/%s answers %d after %s", r.integration.Tenant, r.integration.Name, r.status, r.takes)
	return nil
}

func (w *world) temporalAway(*node, step) error { w.excuse(); w.server.leave(); return nil }
func (w *world) temporalBack(*node, step) error { w.excuse(); w.server.comeBack(); return nil }
func (w *world) temporalEmpty(*node, step) error {
	w.excuse()
	w.server.empty()
	return nil
}

// killNode kills a node; another one takes its place.
func (w *world) killNode(n *node, s step) error {
	w.excuse()
	if err := n.kill(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	time.Sleep(time.Duration(s.a%8) * time.Second)
	_, err := w.startNode()
	return err
}
