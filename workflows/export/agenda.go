package export

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/wait"
)

const (
	// agendaLingers is for how long the agenda of a group waits for its next step by itself. For a longer time it ends,
	// and Temporal waits.
	agendaLingers = 2 * time.Second
	// agendaReads is how often an agenda that goes on asks the store what changed: somebody may hurry a delivery, or
	// erase an export.
	agendaReads = 2 * time.Second
	// agendaRuns is for how long an agenda begins steps, so that Temporal's time for an activity cuts none off.
	agendaRuns = 5 * time.Minute
)

// agenda does steps side by side, each when it is due: those that take long, or come again, keep no others waiting.
type agenda[K comparable] struct {
	now     func() time.Time
	runs    time.Duration // for how long it begins steps; 0: agendaRuns
	lingers time.Duration // for how long it waits for its next step by itself
	// read returns what is open by what the store says, and when each is due; a zero time means now.
	read func(context.Context) (map[K]time.Time, error)
	// compare orders what is due at the same time.
	compare func(K, K) int
	// lane names what a step shares with others, and how many of these may be under way.
	lane func(K) (name string, limit int)
	step func(context.Context, K) nextStep
	// woken is called for what is sent to wake: it reports whether a step is due now. Both may be nil.
	wake  <-chan int64
	woken func(K, int64) bool

	stored map[K]time.Time // what read returned last
	order  []K             // of that
	due    map[K]time.Time // of what is not under way
	flying map[K]bool
	lanes  map[string]*lane
	landed chan landing[K]
}

// nextStep says when the next step is due. The zero value: there is none.
type nextStep struct {
	until  time.Time // when it is due
	closed bool      // nothing in its lane gets through before
}

type lane struct {
	flying int
	until  time.Time // closed until then
	narrow bool      // it was closed, and nothing got through yet: one step at a time
}

type landing[K comparable] struct {
	key  K
	in   *lane
	next nextStep
}

// run does what is due until all is done, or until nothing is due for a while; it returns when the next step is due,
// or the zero time. The error is that of read, or of ctx.
func (g *agenda[K]) run(ctx context.Context) (next time.Time, err error) {
	g.stored, g.due = map[K]time.Time{}, map[K]time.Time{}
	g.flying, g.lanes, g.landed = map[K]bool{}, map[string]*lane{}, make(chan landing[K])
	defer func() {
		for len(g.flying) > 0 { // nobody is left behind
			g.land(<-g.landed)
		}
	}()
	var read time.Time
	fresh := false
	for last := g.now().Add(cmp.Or(g.runs, agendaRuns)); ; {
		now := g.now()
		if now.Sub(read) >= agendaReads {
			if err := g.refresh(ctx); err != nil {
				return time.Time{}, err
			}
			read, fresh = now, true
		}
		open := now.Before(last)
		next := g.launch(ctx, now, open)
		if len(g.flying) == 0 && (next.IsZero() || next.Sub(now) > g.lingers || !open) {
			if fresh {
				return next, ctx.Err()
			}
			read = time.Time{} // once more: somebody may have hurried one
			continue
		}
		fresh = false
		wait := agendaReads
		if !next.IsZero() && open {
			wait = min(wait, max(next.Sub(now), time.Millisecond))
		}
		timer := time.NewTimer(wait)
		select {
		case l := <-g.landed:
			g.land(l)
		case id := <-g.wake:
			for key := range g.due {
				if g.woken(key, id) {
					g.due[key] = time.Time{}
				}
			}
		case <-timer.C:
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
		timer.Stop()
	}
}

// refresh takes over what changed in the store. What did not keeps the time that its last step said.
func (g *agenda[K]) refresh(ctx context.Context) error {
	stored, err := g.read(ctx)
	if err != nil {
		return err
	}
	for key, at := range stored {
		if before, known := g.stored[key]; !g.flying[key] && (!known || !before.Equal(at)) {
			g.due[key] = at
		}
	}
	maps.DeleteFunc(g.due, func(key K, _ time.Time) bool { _, open := stored[key]; return !open })
	g.stored, g.order = stored, slices.SortedFunc(maps.Keys(stored), g.compare)
	return nil
}

// launch begins what is due, if it may, and returns when the next of the others is.
func (g *agenda[K]) launch(ctx context.Context, now time.Time, may bool) (next time.Time) {
	for _, key := range g.order {
		at, waits := g.due[key]
		if !waits {
			continue
		}
		in, limit := g.laneOf(key)
		if in.narrow {
			limit = 1
		}
		at = wait.Later(at, in.until)
		switch {
		case at.After(now), !may:
			if at = wait.Later(at, now); next.IsZero() || at.Before(next) {
				next = at
			}
		case in.flying < limit:
			delete(g.due, key)
			g.flying[key] = true
			in.flying++
			go func() { g.landed <- landing[K]{key, in, g.step(ctx, key)} }()
		}
	}
	return next
}

func (g *agenda[K]) laneOf(key K) (*lane, int) {
	name, limit := g.lane(key)
	if g.lanes[name] == nil {
		g.lanes[name] = &lane{}
	}
	return g.lanes[name], limit
}

func (g *agenda[K]) land(l landing[K]) {
	delete(g.flying, l.key)
	l.in.flying--
	l.in.narrow = l.next.closed
	if l.next.closed {
		l.in.until = l.next.until
	}
	if !l.next.until.IsZero() {
		g.due[l.key] = l.next.until
	}
}
