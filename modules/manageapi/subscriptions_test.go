package manageapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/notify"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	eventSecret  = "0123456789abcdef0123456789abcdef"
	subscription = acme + "/event-subscriptions/ats"
)

// ats is a system of the service's own, which is sent events.
type ats struct {
	t        *testing.T
	mu       sync.Mutex
	status   int
	received []api.Event
	sender   *notify.ChangeSender // made once: a process's first round ends the turns of one before it
}

func (a *ats) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	at, _ := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
	var e api.Event
	if json.Unmarshal(raw, &e) != nil || e.ID != r.Header.Get("Webhook-Id") || r.Header.Get("Webhook-Signature") !=
		webhook.SignStandard(eventSecret, e.ID, time.Unix(at, 0), raw) {
		a.t.Errorf("this is no signed event: %s", raw)
	}
	a.received = append(a.received, e)
	w.WriteHeader(a.status)
}

func (a *ats) answer(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = status
}

// node is a sender beside that of the gateway, which has the time of the machine.
func node(b *fixture, now func() time.Time) *notify.ChangeSender {
	return &notify.ChangeSender{Store: b.Runtime.Store(), InForce: &b.Runtime.InForce, Now: now, Log: zap.NewNop()}
}

// today sets the fixture's clock, so that events are not too old for the gateway's own sender.
func today(b *fixture) { b.Clock.Advance(time.Since(b.Clock.Now())) }

// sent sends what is due, and returns the types of what was received.
func (a *ats) sent(b *fixture) (types []string) {
	a.t.Helper()
	a.mu.Lock()
	a.received = nil
	a.mu.Unlock()
	return a.soFar(b)
}

// soFar sends what is due, and returns the types of all that was received. On PostgreSQL the gateway sends as well.
func (a *ats) soFar(b *fixture) (types []string) {
	a.t.Helper()
	if a.sender == nil {
		a.sender = node(b, b.Clock.Now)
	}
	require.NoError(a.t, a.sender.Send(a.t.Context()))
	a.sender.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.received {
		types = append(types, string(e.Type))
	}
	return types
}

// eventsAfter lists events, and returns what they say and the cursor for later.
func (b *fixture) eventsAfter(cursor string) (said [][5]string, resume string) {
	b.t.Helper()
	path := acme + "/events?limit=2"
	for next := cursor; ; {
		at := path
		if next != "" {
			at += "&cursor=" + next
		}
		page := get[api.EventList](b, at)
		for _, e := range page.Items {
			sequence := ""
			if e.Data.Sequence > 0 {
				sequence = strconv.FormatInt(e.Data.Sequence, 10)
			}
			said = append(said, [5]string{string(e.Type), e.Data.Application + e.Data.Candidate + e.Data.Job, sequence, e.Data.From, e.Data.To})
		}
		if page.Next == nil {
			return said, page.Resume
		}
		next = *page.Next
	}
}

// What changes is told from the first subscription on: in order, with a number for each job application, by ids alone.
func TestEventsSayWhatChanges(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-0", `{}`)
		today(b)
		receiver := &ats{t: t, status: http.StatusNoContent, sender: node(b, time.Now)}
		receiver.soFar(b)
		made := b.must(http.StatusCreated, http.MethodPut, subscription, `{"url":"`+b.partner(receiver.ServeHTTP)+`/events?key=1","secret":"`+
			eventSecret+`"}`)
		require.NotContains(t, made.body, eventSecret)
		require.NotContains(t, made.body, "key=1")
		said, resume := b.eventsAfter("")
		require.Empty(t, said)

		b.people()
		b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"applied"}`)
		b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"hired"}`)
		b.must(http.StatusCreated, http.MethodPost, application+"/documents?id=d-1", "%PDF-1.7", "Content-Type", "application/pdf")
		b.must(http.StatusOK, http.MethodPut, application, `{"candidate":"c-1","jobBoardCode":"NURSE-1","languageCode":"de"}`)
		b.must(http.StatusOK, http.MethodPut, application, `{"candidate":"c-1","status":{"name":"Elsewhere"}}`)
		b.must(http.StatusOK, http.MethodPost, application+"/end", `{"as":"hired"}`)
		b.must(http.StatusOK, http.MethodPost, application+"/reopen", "")
		b.Write(t, func(tx *store.Tx) error {
			return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: "a-1b", Candidate: "c-1",
				VersionOf: "a-1"}, b.Clock.Now())
		})
		b.must(http.StatusCreated, http.MethodPost, acme+"/job-applications/a-1b/documents?id=d-1", "%PDF-1.7", "Content-Type", "application/pdf")
		b.must(http.StatusNoContent, http.MethodDelete, application, "")
		b.must(http.StatusNoContent, http.MethodDelete, acme+"/candidates/c-1", "")
		b.must(http.StatusNoContent, http.MethodDelete, acme+"/jobs/NURSE-1", "")
		want := [][5]string{
			{"candidate.changed", "c-1"}, {"job.changed", "NURSE-1"}, {"application.received", "a-1", "1"},
			{"application.moved", "a-1", "2", "", "applied"}, {"application.moved", "a-1", "3", "applied", "hired"},
			{"application.changed", "a-1", "4"}, {"application.changed", "a-1", "5"},
			{"application.moved", "a-1", "6", "hired", ""}, {"application.ended", "a-1", "7"}, {"application.changed", "a-1", "8"},
			{"application.changed", "a-1", "9"}, {"application.changed", "a-1", "10"}, {"application.erased", "a-1", "11"},
			{"candidate.erased", "c-1"}, {"job.changed", "NURSE-1"},
		}
		said, later := b.eventsAfter(resume)
		require.Equal(t, want, said)
		none, _ := b.eventsAfter(later)
		require.Empty(t, none)
		require.Empty(t, get[api.EventList](b, "/v1/tenants/globex/events").Items)

		var types []string
		for _, one := range want {
			types = append(types, one[0])
		}
		require.Eventually(t, func() bool { return len(receiver.soFar(b)) >= len(types) }, time.Minute, 10*time.Millisecond)
		require.Equal(t, types, receiver.soFar(b), "in order, once")

		b.Clock.Advance(31 * 24 * time.Hour)
		b.Write(t, func(tx *store.Tx) error {
			_, err := tx.DeleteEvents(b.Clock.Now().Add(-30 * 24 * time.Hour))
			return err
		})
		require.Contains(t, b.must(http.StatusGone, http.MethodGet, acme+"/events?cursor="+resume, "").body, "cursor-expired")
		none, _ = b.eventsAfter(later)
		require.Empty(t, none)
	})
}

// An event that is not received is sent again, and those after it wait, for 72 hours. A receiver that answers 410 is sent
// nothing more until somebody enables it; it is a need, and what changed can be listed.
func TestAReceiverThatIsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	today(b)
	b.Clock.Advance(24 * time.Hour) // what is due then the gateway's own sender leaves alone
	receiver := &ats{t: t, status: http.StatusServiceUnavailable}
	b.must(http.StatusUnprocessableEntity, http.MethodPut, subscription, `{"url":"http://10.0.0.1/events","secret":"`+eventSecret+`"}`)
	b.must(http.StatusUnprocessableEntity, http.MethodPut, subscription, `{"secret":"`+eventSecret+`"}`)
	b.must(http.StatusCreated, http.MethodPut, subscription, `{"url":"`+b.partner(receiver.ServeHTTP)+`/events","secret":"`+eventSecret+`",
		"events":["application.received","candidate.changed"]}`)
	b.people()
	require.Equal(t, []string{"candidate.changed"}, receiver.sent(b))
	require.Empty(t, receiver.sent(b), "not at once")
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, subscription, "").body, "failingSince")
	receiver.answer(http.StatusOK)
	b.Clock.Advance(time.Hour)
	require.Equal(t, []string{"candidate.changed", "application.received"}, receiver.sent(b), "the others are not wanted")
	require.NotContains(t, b.must(http.StatusOK, http.MethodGet, subscription, "").body, "failingSince")

	receiver.answer(http.StatusGone)
	b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-2", `{}`)
	require.Equal(t, []string{"candidate.changed"}, receiver.sent(b))
	b.Clock.Advance(2 * time.Hour)
	require.Empty(t, receiver.sent(b))
	needs, err := b.Runtime.Needs(t.Context(), b.Clock.Now())
	require.NoError(t, err)
	require.Len(t, needs, 1)
	require.Equal(t, model.NeedSubscription, needs[0].Kind)
	require.Contains(t, needs[0].Sentence, "acme: the subscription ats to events is disabled since")
	require.Contains(t, needs[0].Sentence, "410")
	b.Clock.Advance(73 * time.Hour)
	b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-3", `{}`)
	receiver.answer(http.StatusOK)
	_, _, err = b.cli("subscription", "enable", "acme/ats")
	require.NoError(t, err)
	require.Equal(t, []string{"candidate.changed"}, receiver.sent(b))
	require.Equal(t, "c-3", receiver.received[0].Data.Candidate, "the other one is too old")
	said, _ := b.eventsAfter("")
	require.Len(t, said, 5)
	out, _, err := b.cli("event", "list", "acme")
	require.NoError(t, err)
	require.Regexp(t, `candidate.changed +c-3`, out)
}

// A receiver that hangs delays the events of no other.
func TestAReceiverThatHangs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	today(b)
	over := make(chan struct{})
	came := make(chan struct{}, 1)
	hangs := b.partner(func(http.ResponseWriter, *http.Request) {
		select {
		case came <- struct{}{}:
		default:
		}
		<-over
	})
	receiver := &ats{t: t, status: http.StatusOK}
	sender := node(b, time.Now)
	require.NoError(t, sender.Send(t.Context()))
	for at, url := range map[string]string{"/hangs": hangs, "/ats": b.partner(receiver.ServeHTTP)} {
		b.must(http.StatusCreated, http.MethodPut, acme+"/event-subscriptions"+at, `{"url":"`+url+`/events","secret":"`+eventSecret+`"}`)
	}
	defer sender.Wait()
	defer close(over)
	for n := range 3 {
		b.must(http.StatusCreated, http.MethodPut, fmt.Sprintf("%s/candidates/h-%d", acme, n), `{}`)
		require.Eventually(t, func() bool {
			require.NoError(t, sender.Send(t.Context()))
			receiver.mu.Lock()
			defer receiver.mu.Unlock()
			return len(receiver.received) == n+1
		}, time.Minute, 10*time.Millisecond)
		if n == 0 {
			<-came // and is not answered until the end
		}
	}
}

// Two nodes that send at the same time lose no event and send none backwards, or twice.
func TestEventsOfTwoNodesAreInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Gateway = onPostgres(t, b)
	b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
	var mu sync.Mutex
	var ids []string
	url := b.partner(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, r.Header.Get("Webhook-Id"))
	})
	b.must(http.StatusCreated, http.MethodPut, subscription, `{"url":"`+url+`/events","secret":"`+eventSecret+`"}`)
	const events = 60
	written := make(chan struct{})
	go func() {
		defer close(written)
		for n := range events {
			b.Write(t, func(tx *store.Tx) error {
				return tx.UpsertCandidate(&model.Candidate{Row: model.Row{Tenant: "acme"}, ID: fmt.Sprint("o-", n)}, time.Now())
			})
		}
	}()
	var nodes sync.WaitGroup
	for range 2 {
		nodes.Go(func() {
			sender := node(b, time.Now)
			for all := false; ; {
				select {
				case <-written:
					all = true
				default:
				}
				if err := sender.Send(t.Context()); err != nil {
					t.Error(err)
					return
				}
				sender.Wait()
				p, err := b.Runtime.Store().SubscriptionProgress(t.Context(), "acme", "ats")
				left, failed := b.Runtime.Store().ListEvents(t.Context(), "acme", p.Sent, 1)
				if err != nil || failed != nil {
					t.Error(err, failed)
					return
				}
				if all && len(left) == 0 {
					return
				}
			}
		})
	}
	nodes.Wait()
	var want []string
	all, err := b.Runtime.Store().ListEvents(t.Context(), "acme", 0, 500)
	require.NoError(t, err)
	for _, e := range all {
		want = append(want, api.EventOf(e).ID)
	}
	require.Len(t, want, events)
	require.Equal(t, want, ids, "each once, in its place")
}

// What is imported is told to nobody.
func TestAnImportSendsNoEvent(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.keeps()
	_, archive := a.takenOut()
	b := setup(t)
	b.Clock.Advance(5 * time.Hour)
	b.must(http.StatusCreated, http.MethodPut, subscription, `{"url":"`+b.partner(nil)+`/events","secret":"`+eventSecret+`"}`)
	require.Equal(t, 3, b.imported(archive).Applications)
	said, _ := b.eventsAfter("")
	require.Empty(t, said)
}
