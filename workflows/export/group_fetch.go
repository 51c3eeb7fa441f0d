package export

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

const (
	// fetchLane is how many exports of one tenant in a group have their documents fetched at a time; the archive bounds
	// them over all groups.
	fetchLane = 8
	// fetchPatience is how long an export of a group waits for its place there. It takes up no worker meanwhile.
	fetchPatience = time.Minute
)

// FetchGroupDocuments fetches what is still missing of the documents of a group's members, and asks to be run again
// until each is fetched or given up.
func (a *Activities) FetchGroupDocuments(ctx context.Context, part GroupPart) (FetchResult, error) {
	defer workflows.Beat(ctx)()
	g := groupFetch{a: a, ids: part.Exports, members: map[int64]*model.Export{}}
	steps := agenda[int64]{now: a.Now, read: g.read, lane: g.lane, step: g.step}
	next, err := steps.run(ctx)
	switch {
	case err != nil:
		return FetchResult{}, a.storeAway(err)
	case !next.IsZero():
		return FetchResult{}, workflows.RetryGroupAfter(fmt.Sprintf("documents of %d of %d exports are missing", g.missing,
			len(g.ids)), next.Sub(a.Now()))
	}
	return g.result, nil
}

// groupFetch is one run of FetchGroupDocuments.
type groupFetch struct {
	a   *Activities
	ids []int64

	mu      sync.Mutex
	members map[int64]*model.Export
	missing int
	result  FetchResult
}

// read finds the exports that miss documents, and counts what became of the others.
func (g *groupFetch) read(ctx context.Context) (map[int64]time.Time, error) {
	exports, err := g.a.Store.ExportsByID(ctx, g.ids)
	if err != nil {
		return nil, err
	}
	if len(exports) < len(g.ids) {
		return nil, errNotHere
	}
	progress, err := g.a.Store.DocumentProgress(ctx, g.ids)
	if err != nil {
		return nil, err
	}
	due := map[int64]time.Time{}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.result = FetchResult{}
	for _, e := range exports {
		if e.Attachments == 0 || e.Origin != model.Received {
			continue
		}
		g.members[e.ID] = e
		p := progress[e.ID]
		g.result.Fetched += p.Fetched
		g.result.GivenUp += p.GivenUp
		if p.Fetched+p.GivenUp < e.Attachments && e.ErasedAt.IsZero() {
			due[e.ID] = p.NextAt
		}
	}
	g.missing = len(due)
	return due, nil
}

func (g *groupFetch) member(id int64) *model.Export {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members[id]
}

func (g *groupFetch) lane(id int64) (string, int) { return g.member(id).Tenant, fetchLane }

func (g *groupFetch) step(ctx context.Context, id int64) nextStep {
	progress, err := g.a.Archive.FetchInLine(ctx, g.member(id), fetchPatience)
	switch {
	case errors.Is(err, store.ErrUnreadable): // its deliveries say so
	case err != nil:
		return nextStep{until: g.a.Now().Add(gateDelay)}
	case progress.Missing > 0:
		return nextStep{until: g.a.Now().Add(progress.Wait)}
	}
	g.a.documentNews.tell(id)
	return nextStep{}
}

// documentNews tells the deliveries of groups in this process whose documents are there. Those of other processes look
// for them now and then.
type documentNews struct {
	mu        sync.Mutex
	listeners map[int64]chan<- int64 // by export
}

// listen returns the channel on which the exports come whose documents are there, until forget is called.
func (n *documentNews) listen(exports []int64) (wake <-chan int64, forget func()) {
	listener := make(chan int64, len(exports))
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[int64]chan<- int64{}
	}
	for _, id := range exports {
		n.listeners[id] = listener
	}
	return listener, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, id := range exports {
			if n.listeners[id] == listener {
				delete(n.listeners, id)
			}
		}
	}
}

func (n *documentNews) tell(export int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if listener, ok := n.listeners[export]; ok {
		select {
		case listener <- export:
		default: // it looks by itself
		}
	}
}
