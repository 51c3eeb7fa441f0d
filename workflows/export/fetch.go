package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/documents"
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

// FetchDocuments fetches what is still missing of the documents of exports, and asks to be run again until each is
// fetched or given up.
func (a *Activities) FetchDocuments(ctx context.Context, part Part) (FetchResult, error) {
	defer workflows.Beat(ctx)()
	if err := checkInput(part.Version, part.Exports); err != nil {
		return FetchResult{}, err
	}
	f := fetching{a: a, ids: part.Exports, members: map[int64]*model.Export{}, fetch: a.Archive.Fetch}
	steps := agenda[int64]{now: a.Now, read: f.read, compare: cmp.Compare[int64], lane: f.lane, step: f.step}
	if len(part.Exports) > 1 { // it takes one place of the worker for all
		steps.lingers, f.fetch = agendaLingers, func(ctx context.Context, e *model.Export) (documents.Progress, error) {
			return a.Archive.FetchInLine(ctx, e, fetchPatience)
		}
	}
	next, err := steps.run(ctx)
	switch {
	case err != nil:
		return FetchResult{}, a.storeAway(err)
	case !next.IsZero():
		return FetchResult{}, workflows.RetryAfterText("documents_missing", fmt.Sprintf("documents of %d of %d exports are missing",
			f.missing, len(f.ids)), next.Sub(a.Now()))
	}
	return f.result, nil
}

// fetching is one run of FetchDocuments.
type fetching struct {
	a     *Activities
	ids   []int64
	fetch func(context.Context, *model.Export) (documents.Progress, error)

	mu      sync.Mutex
	members map[int64]*model.Export
	missing int
	result  FetchResult
}

// read finds the exports that miss documents, and counts what became of the others.
func (f *fetching) read(ctx context.Context) (map[int64]time.Time, error) {
	exports, err := f.a.Store.ExportsByID(ctx, f.ids)
	if err != nil {
		return nil, err
	}
	if len(exports) < len(f.ids) {
		return nil, errNotHere
	}
	progress, err := f.a.Store.DocumentProgress(ctx, f.ids)
	if err != nil {
		return nil, err
	}
	due := map[int64]time.Time{}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.result = FetchResult{}
	for _, e := range exports {
		if e.Attachments == 0 || e.Origin != model.Received {
			continue
		}
		f.members[e.ID] = e
		p := progress[e.ID]
		f.result.Fetched += p.Fetched
		f.result.GivenUp += p.GivenUp
		if p.Fetched+p.GivenUp < e.Attachments && e.ErasedAt.IsZero() {
			due[e.ID] = p.NextAt
		}
	}
	f.missing = len(due)
	return due, nil
}

func (f *fetching) member(id int64) *model.Export {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[id]
}

func (f *fetching) lane(id int64) (string, int) { return f.member(id).Tenant, fetchLane }

func (f *fetching) step(ctx context.Context, id int64) nextStep {
	progress, err := f.fetch(ctx, f.member(id))
	switch {
	case errors.Is(err, store.ErrUnreadable): // its deliveries say so
	case err != nil:
		return nextStep{until: f.a.Now().Add(delivery.GateDelay)}
	case progress.Missing > 0:
		return nextStep{until: f.a.Now().Add(progress.Wait)}
	}
	f.a.documentNews.tell(id)
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
