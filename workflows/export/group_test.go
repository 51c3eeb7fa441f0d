package export_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

func TestGroupIsDelivered(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all, ids := b.Grouped(50)
	res, _, why := b.DeliverGroup(ids)
	require.Empty(t, why)
	require.Equal(t, []export.DeliverResult{{Of: "acme", Integration: "hris", Class: model.ClassDelivered, Attempts: 50, Count: 50}}, res)
	require.EqualValues(t, 50, b.Asked.Load())
	for _, e := range all {
		require.Equal(t, model.Delivered, b.Delivery(e).Outcome)
	}
	_, _, why = b.DeliverGroup(ids)
	require.Empty(t, why)
	require.EqualValues(t, 50, b.Asked.Load(), "a run that Temporal never heard of is not repeated")
}

// One that fails is tried again by its schedule, and the others are not; the group says how many wait, by class and
// status.
func TestGroupWaitsForItsNextMember(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all, ids := b.Grouped(8)
	b.Integration().Retry = []time.Duration{time.Minute}
	var refused atomic.Bool
	b.Answer = func(r *http.Request) int {
		if r.Header.Get("X-Service-UUID") == "u-3" && refused.CompareAndSwap(false, true) {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
	_, wait, why := b.DeliverGroup(ids)
	require.Equal(t, "1 of 8 deliveries wait: 1 partner_fault: status 503", why)
	require.InDelta(t, time.Minute, wait, float64(13*time.Second))
	_, again, _ := b.DeliverGroup(ids)
	require.Equal(t, wait, again, "nothing was due: a run that was lost makes no attempt")
	require.EqualValues(t, 8, b.Asked.Load())
	b.Advance(wait)
	res, _, why := b.DeliverGroup(ids)
	require.Empty(t, why)
	require.Equal(t, []export.DeliverResult{{Of: "acme", Integration: "hris", Class: model.ClassDelivered, Attempts: 9, Count: 8}}, res)
	require.EqualValues(t, 9, b.Asked.Load())
	require.Equal(t, 2, b.Delivery(all[3]).Attempts)
}

// Temporal's UI shows of the first fifty deliveries that wait what each waits for: those that its failure has no room for are in
// the last heartbeat.
func TestGroupTellsTemporalWhatWaits(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all, ids := b.Grouped(60)
	beats := make(chan []export.Pending, 1)
	b.Env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		told := make([]export.Pending, 50)
		into := make([]any, len(told))
		for n := range told {
			into[n] = &told[n]
		}
		if details.Get(into...) == nil {
			beats <- told
		}
	})
	b.Status.Store(http.StatusUnprocessableEntity)
	_, _, why := b.DeliverAll(export.Part{Exports: ids, Began: b.Clock()})
	var first export.Pending
	require.NoError(t, why.Details(&first))
	told := <-beats
	require.Equal(t, first, told[0])
	for n, p := range told {
		require.Equal(t, []any{"acme/" + all[n].Key, "hris", 1, http.StatusUnprocessableEntity, "data_fault"},
			[]any{p.Of, p.Integration, p.Attempts, p.Status, p.Why})
	}
	// A delivery that is kept at a gate was answered nothing by it.
	b.Set(model.Disabled)
	b.Advance(time.Minute)
	_, _, why = b.DeliverAll(export.Part{Exports: ids, Began: b.Clock()})
	require.NoError(t, why.Details(&first))
	require.Equal(t, []any{1, http.StatusUnprocessableEntity, "held"}, []any{first.Attempts, first.Status, first.Why})
}

// Members are held and parked each by itself, erased ones end, and one that was moved into another round is not the
// group's any more.
func TestGroupMembersGoTheirWays(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all, ids := b.Grouped(8)
	b.Set(model.Disabled)
	_, wait, why := b.DeliverGroup(ids)
	require.Equal(t, "8 of 8 deliveries wait: 8 held", why)
	require.LessOrEqual(t, wait, time.Hour)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		e, left, err := tx.LockRemainder(all[0].ID)
		if err != nil {
			return err
		}
		return tx.EraseNow(e, left, b.Clock())
	}))
	b.Advance(2 * time.Hour)
	res, _, why := b.DeliverGroup(ids)
	require.Empty(t, why)
	require.Len(t, res, 8)
	require.Equal(t, 7, len(slices.DeleteFunc(slices.Clone(res),
		func(d export.DeliverResult) bool { return d.Class != model.ClassHeld })))
	require.Equal(t, model.Failed, b.Delivery(all[0]).Outcome)
	require.True(t, b.Delivery(all[1]).Parked)
	require.Zero(t, b.Asked.Load())
}

// A group that goes on, because a partner takes long, learns within seconds that the gate of another one opened.
func TestRunningGroupReleasesWhatIsHeld(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	moving, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // the clock goes on
		for wait.For(moving, 10*time.Millisecond) {
			b.Advance(10 * time.Millisecond)
		}
	}()
	partner := newSlow(t)
	b.Declare("acme", "crm", partner.URL, 0)
	all, ids := b.AcceptMany(8)
	for _, e := range all {
		e.Integrations = []string{"crm", "hris"}
	}
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.Group(all, b.Clock()); err != nil {
			return err
		}
		return tx.MarkGroupDispatched(ids[0], b.Clock())
	}))
	b.Set(model.NotConfigured)
	ended := make(chan string, 1)
	go func() {
		_, _, why := b.DeliverGroup(ids)
		ended <- why
	}()
	require.Eventually(t, func() bool {
		held, err := b.Store.CountUndelivered(t.Context(), b.Clock())
		require.NoError(t, err)
		return held[model.Place{Tenant: "acme", Integration: "hris"}].Held == 8
	}, time.Minute, time.Millisecond)
	b.Advance(20 * time.Second)
	later := b.Clock().Add(5 * time.Second) // nothing is left but the look in an hour
	require.Eventually(t, func() bool { return b.Clock().After(later) }, time.Minute, time.Millisecond)
	b.Set(model.Configured)
	require.Eventually(t, func() bool { return b.Asked.Load() == 8 }, time.Minute, time.Millisecond,
		"they wait until the group runs again")
	close(partner.release)
	require.Empty(t, <-ended)
}

// A member that begins to be held shortly before its end is parked before Temporal gives the activity up.
func TestGroupParksBeforeItsEnd(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all, ids := b.Grouped(8)
	b.Set(model.Disabled)
	b.Advance(model.DeliveryWindow - 10*time.Minute)
	_, _, why := b.DeliverGroup(ids)
	require.Equal(t, "8 of 8 deliveries wait: 8 held", why)
	b.Advance(time.Minute)
	_, wait, _ := b.DeliverGroup(ids)
	require.LessOrEqual(t, wait, 9*time.Minute)
	b.Advance(wait)
	_, _, why = b.DeliverGroup(ids)
	require.Empty(t, why)
	require.True(t, b.Delivery(all[0]).Parked)
}

// Two gateways may share a namespace of Temporal by mistake. The one that does not have the members leaves them to the
// other.
func TestGroupOfMembersThatAreElsewhere(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	_, ids := b.Grouped(8)
	for _, strangers := range [][]int64{{1, 2, 3}, append(slices.Clone(ids), 4)} {
		_, wait, why := b.DeliverGroup(strangers)
		require.Equal(t, "unknown_here", why)
		require.InDelta(t, time.Minute, wait, float64(13*time.Second))
	}
	require.Zero(t, b.Asked.Load())
}

// Each member waits for its own documents. Those whose documents are here go out while others are still fetched.
func TestGroupWaitsForDocuments(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	bodies := b.RecordSideBySide()
	moving, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // the clock goes on
		for wait.For(moving, 10*time.Millisecond) {
			b.Advance(10 * time.Millisecond)
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
		e := b.Take(fmt.Sprint("u-", n), withDocument(service.URL+path), func(e *model.Export) {
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
		_, _, why := b.DeliverGroup(ids)
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
