package export_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows/export"
)

// groups is a Temporal that notes the groups it is asked to start.
type groups struct {
	starter
	mu      sync.Mutex
	started map[string]export.Input
}

func (g *groups) ExecuteWorkflow(
	_ context.Context, o client.StartWorkflowOptions, _ any, args ...any,
) (client.WorkflowRun, error) {
	if in := args[0].(export.Input); len(in.Exports) > 1 {
		g.mu.Lock()
		g.started[o.ID] = in
		g.mu.Unlock()
	}
	return nil, g.start(o)
}

func (b *fixture) acceptMany(n int) (all []*model.Export, ids []int64) {
	for at := range n {
		e := b.accept(fmt.Sprint("u-", at))
		all, ids = append(all, e), append(ids, e.ID)
	}
	return all, ids
}

// grouped accepts exports and makes them a group that Temporal has.
func (b *fixture) grouped(n int) (all []*model.Export, ids []int64) {
	b.t.Helper()
	all, ids = b.acceptMany(n)
	for _, e := range all {
		e.Integrations = []string{"hris"}
	}
	require.NoError(b.t, b.Store.Write(b.t.Context(), func(tx *store.Tx) (err error) {
		if all, err = tx.Group(all, b.Clock()); err != nil {
			return err
		}
		return tx.MarkGroupDispatched(ids[0], b.Clock())
	}))
	return all, ids
}

// deliverGroup is deliverAll for a group.
func (b *fixture) deliverGroup(ids []int64) (res []export.DeliverResult, wait time.Duration, why string) {
	b.t.Helper()
	res, wait, retry := b.deliverAll(export.Part{Exports: ids, Began: b.Clock()})
	if retry != nil {
		why = retry.Message()
	}
	return res, wait, why
}

func TestManyThatWaitAreStartedAsAGroup(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	all, ids := b.acceptMany(20)
	b.advance(time.Minute)
	g := &groups{started: map[string]export.Input{},
		starter: starter{start: func(client.StartWorkflowOptions) error { return nil }}}
	b.run(g, false)
	id := model.GroupWorkflowID(all)
	for _, e := range all {
		now := b.becomes(e, started)
		require.Equal(t, []any{id, ids[0], []string{"hris"}}, []any{now.WorkflowID, now.Group, now.Integrations})
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Equal(t, map[string]export.Input{id: {Version: export.InputVersion, Exports: ids, DocumentsTill: noon.Add(model.DocumentWindow),
		DeliverTill: noon.Add(model.DeliveryWindow), Local: true}}, g.started)
}

// A crash, or Temporal, comes between the making of a group and its start: it is started with the members that it was
// made with.
func TestInterruptedGroupIsStartedAsItWasMade(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	all, ids := b.acceptMany(12)
	b.advance(time.Minute)
	var away atomic.Bool
	away.Store(true)
	asked := make(chan struct{}, 1000)
	g := &groups{started: map[string]export.Input{}, starter: starter{start: func(client.StartWorkflowOptions) error {
		asked <- struct{}{}
		if away.Load() {
			return serviceerror.NewUnavailable("connection refused")
		}
		return nil
	}}}
	b.run(g, false)
	<-asked
	late := b.accept("u-late")
	b.advance(time.Minute)
	<-asked
	away.Store(false)
	for _, e := range append(all, late) {
		b.becomes(e, started)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Len(t, g.started, 1)
	require.Equal(t, ids, g.started[model.GroupWorkflowID(all)].Exports)
	require.Equal(t, model.WorkflowID("acme", "u-late", 0), b.becomes(late, started).WorkflowID)
}

// A workflow of the same ID may be that of a database that was there before. It does not deliver these exports.
func TestGroupOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	all, ids := b.acceptMany(9)
	first, err := converter.GetDefaultDataConverter().ToPayloads(export.Input{Exports: ids[:5]})
	require.NoError(t, err)
	b.advance(time.Minute)
	b.run(starter{first: first, start: func(o client.StartWorkflowOptions) error {
		if o.ID == model.GroupWorkflowID(all) {
			return serviceerror.NewWorkflowExecutionAlreadyStarted("it is there", "", "")
		}
		return nil
	}}, false)
	require.Eventually(t, func() bool {
		e, err := b.Store.Export(t.Context(), ids[8])
		return err == nil && e.Round == 1
	}, time.Minute, time.Millisecond)
	b.advance(time.Minute)
	for _, e := range all {
		now := b.becomes(e, started)
		require.Equal(t, []any{model.WorkflowID("acme", e.Key, 1), int64(0)}, []any{now.WorkflowID, now.Group})
	}
}

func TestGroupIsDelivered(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	all, ids := b.grouped(50)
	res, _, why := b.deliverGroup(ids)
	require.Empty(t, why)
	require.Equal(t, []export.DeliverResult{{Of: "acme", Integration: "hris", Class: model.ClassDelivered, Attempts: 50, Count: 50}}, res)
	require.EqualValues(t, 50, b.asked.Load())
	for _, e := range all {
		require.Equal(t, model.Delivered, b.delivery(e).Outcome)
	}
	_, _, why = b.deliverGroup(ids)
	require.Empty(t, why)
	require.EqualValues(t, 50, b.asked.Load(), "a run that Temporal never heard of is not repeated")
}

// One that fails is tried again by its schedule, and the others are not; the group says how many wait, by class and
// status.
func TestGroupWaitsForItsNextMember(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	all, ids := b.grouped(8)
	b.integration().Retry = []time.Duration{time.Minute}
	var refused atomic.Bool
	b.answer = func(r *http.Request) int {
		if r.Header.Get("X-Service-UUID") == "u-3" && refused.CompareAndSwap(false, true) {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
	_, wait, why := b.deliverGroup(ids)
	require.Equal(t, "1 of 8 deliveries wait: 1 partner_fault: status 503", why)
	require.InDelta(t, time.Minute, wait, float64(13*time.Second))
	_, again, _ := b.deliverGroup(ids)
	require.Equal(t, wait, again, "nothing was due: a run that was lost makes no attempt")
	require.EqualValues(t, 8, b.asked.Load())
	b.advance(wait)
	res, _, why := b.deliverGroup(ids)
	require.Empty(t, why)
	require.Equal(t, []export.DeliverResult{{Of: "acme", Integration: "hris", Class: model.ClassDelivered, Attempts: 9, Count: 8}}, res)
	require.EqualValues(t, 9, b.asked.Load())
	require.Equal(t, 2, b.delivery(all[3]).Attempts)
}

// Temporal's UI shows of the first fifty deliveries that wait what each waits for: those that its failure has no room for are in
// the last heartbeat.
func TestGroupTellsTemporalWhatWaits(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	all, ids := b.grouped(60)
	beats := make(chan []export.Pending, 1)
	b.env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		told := make([]export.Pending, 50)
		into := make([]any, len(told))
		for n := range told {
			into[n] = &told[n]
		}
		if details.Get(into...) == nil {
			beats <- told
		}
	})
	b.status.Store(http.StatusUnprocessableEntity)
	_, _, why := b.deliverAll(export.Part{Exports: ids, Began: b.Clock()})
	var first export.Pending
	require.NoError(t, why.Details(&first))
	told := <-beats
	require.Equal(t, first, told[0])
	for n, p := range told {
		require.Equal(t, []any{"acme/" + all[n].Key, "hris", 1, http.StatusUnprocessableEntity, "data_fault"},
			[]any{p.Of, p.Integration, p.Attempts, p.Status, p.Why})
	}
	// A delivery that is kept at a gate was answered nothing by it.
	b.set(model.Disabled)
	b.advance(time.Minute)
	_, _, why = b.deliverAll(export.Part{Exports: ids, Began: b.Clock()})
	require.NoError(t, why.Details(&first))
	require.Equal(t, []any{1, http.StatusUnprocessableEntity, "held"}, []any{first.Attempts, first.Status, first.Why})
}

// Members are held and parked each by itself, erased ones end, and one that was moved into another round is not the
// group's any more.
func TestGroupMembersGoTheirWays(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	all, ids := b.grouped(8)
	b.set(model.Disabled)
	_, wait, why := b.deliverGroup(ids)
	require.Equal(t, "8 of 8 deliveries wait: 8 held", why)
	require.LessOrEqual(t, wait, time.Hour)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		e, left, err := tx.LockRemainder(all[0].ID)
		if err != nil {
			return err
		}
		return tx.EraseNow(e, left, b.Clock())
	}))
	b.advance(2 * time.Hour)
	res, _, why := b.deliverGroup(ids)
	require.Empty(t, why)
	require.Len(t, res, 8)
	require.Equal(t, 7, len(slices.DeleteFunc(slices.Clone(res),
		func(d export.DeliverResult) bool { return d.Class != model.ClassHeld })))
	require.Equal(t, model.Failed, b.delivery(all[0]).Outcome)
	require.True(t, b.delivery(all[1]).Parked)
	require.Zero(t, b.asked.Load())
}

// A group that goes on, because a partner takes long, learns within seconds that the gate of another one opened.
func TestRunningGroupReleasesWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	moving, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // the clock goes on
		for wait.For(moving, 10*time.Millisecond) {
			b.advance(10 * time.Millisecond)
		}
	}()
	partner := newSlow(t)
	b.declare("acme", "crm", partner.URL, 0)
	all, ids := b.acceptMany(8)
	for _, e := range all {
		e.Integrations = []string{"crm", "hris"}
	}
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.Group(all, b.Clock()); err != nil {
			return err
		}
		return tx.MarkGroupDispatched(ids[0], b.Clock())
	}))
	b.set(model.NotConfigured)
	ended := make(chan string, 1)
	go func() {
		_, _, why := b.deliverGroup(ids)
		ended <- why
	}()
	require.Eventually(t, func() bool {
		held, err := b.Store.CountUndelivered(t.Context(), b.Clock())
		require.NoError(t, err)
		return held[model.Place{Tenant: "acme", Integration: "hris"}].Held == 8
	}, time.Minute, time.Millisecond)
	b.advance(20 * time.Second)
	later := b.Clock().Add(5 * time.Second) // nothing is left but the look in an hour
	require.Eventually(t, func() bool { return b.Clock().After(later) }, time.Minute, time.Millisecond)
	b.set(model.Configured)
	require.Eventually(t, func() bool { return b.asked.Load() == 8 }, time.Minute, time.Millisecond,
		"they wait until the group runs again")
	close(partner.release)
	require.Empty(t, <-ended)
}

// A member that begins to be held shortly before its end is parked before Temporal gives the activity up.
func TestGroupParksBeforeItsEnd(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	all, ids := b.grouped(8)
	b.set(model.Disabled)
	b.advance(model.DeliveryWindow - 10*time.Minute)
	_, _, why := b.deliverGroup(ids)
	require.Equal(t, "8 of 8 deliveries wait: 8 held", why)
	b.advance(time.Minute)
	_, wait, _ := b.deliverGroup(ids)
	require.LessOrEqual(t, wait, 9*time.Minute)
	b.advance(wait)
	_, _, why = b.deliverGroup(ids)
	require.Empty(t, why)
	require.True(t, b.delivery(all[0]).Parked)
}

// Two gateways may share a namespace of Temporal by mistake. The one that does not have the members leaves them to the
// other.
func TestGroupOfMembersThatAreElsewhere(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	_, ids := b.grouped(8)
	for _, strangers := range [][]int64{{1, 2, 3}, append(slices.Clone(ids), 4)} {
		_, wait, why := b.deliverGroup(strangers)
		require.Equal(t, "unknown_here", why)
		require.InDelta(t, time.Minute, wait, float64(13*time.Second))
	}
	require.Zero(t, b.asked.Load())
}

// Each member waits for its own documents. Those whose documents are here go out while others are still fetched.
func TestGroupWaitsForDocuments(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	bodies := b.recordSideBySide()
	moving, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // the clock goes on
		for wait.For(moving, 10*time.Millisecond) {
			b.advance(10 * time.Millisecond)
		}
	}()
	slow := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-slow
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"content":"JVBERi0xLjQK","mimeType":"application/pdf"}`))
	}))
	t.Cleanup(service.Close)
	release := sync.OnceFunc(func() { close(slow) })
	t.Cleanup(release)
	var all []*model.Export
	var ids []int64
	for n := range 8 {
		path := []string{"/quick", "/slow"}[n/7]
		e := b.take(fmt.Sprint("u-", n), withDocument(service.URL+path), func(e *model.Export) {
			e.Attachments, e.Integrations = 1, []string{"hris"}
		})
		all, ids = append(all, e), append(ids, e.ID)
	}
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.Group(all, b.Clock()); err != nil {
			return err
		}
		return tx.MarkGroupDispatched(ids[0], b.Clock())
	}))
	fetching := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	fetching.RegisterActivityWithOptions(b.FetchDocuments, activity.RegisterOptions{Name: export.FetchDocumentsName})
	fetched := make(chan error, 1)
	go func() {
		_, err := fetching.ExecuteActivity(export.FetchDocumentsName, export.Part{Exports: ids})
		fetched <- err
	}()
	delivered := make(chan string, 1)
	go func() {
		_, _, why := b.deliverGroup(ids)
		delivered <- why
	}()
	require.Eventually(t, func() bool { return len(bodies()) == 7 }, time.Minute, time.Millisecond)
	release()
	require.NoError(t, <-fetched)
	require.Empty(t, <-delivered)
	require.Len(t, bodies(), 8)
	for _, body := range bodies() {
		require.Contains(t, body, "http://gate.example/documents/", "the address of the service went out")
	}
}

func withDocument(url string) string {
	return fmt.Sprintf(`{"candidate":{"person":{"id":{"value":"c","schemeId":"Service Candidate","schemeAgencyId":"Service"}},`+
		`"profiles":[{"attachments":[{"id":{"value":"doc-1","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},"url":%q}]}]}}`, url)
}

// recordSideBySide is record for a partner that is asked side by side.
func (b *fixture) recordSideBySide() (bodies func() []string) {
	var mu sync.Mutex
	var all []string
	b.partner.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, string(body))
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}
