package export_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows/export"
)

// take puts an export through the door that is changed before.
func (b *fixture) take(key, body string, change func(*model.Export)) *model.Export {
	b.t.Helper()
	return b.takeFor("acme", key, body, change)
}

func (b *fixture) takeFor(tenant, key, body string, change func(*model.Export)) *model.Export {
	b.t.Helper()
	e := inbox.NewExport(tenant, key, []byte(body), b.Clock())
	change(e)
	_, err := inbox.Accept(b.t.Context(), b.Store, e)
	require.NoError(b.t, err)
	return e
}

// record has the partner keep what comes to it.
func (b *fixture) record() (bodies *[]string, headers *[]http.Header) {
	bodies, headers = new([]string), new([]http.Header)
	b.partner.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies, *headers = append(*bodies, string(body)), append(*headers, r.Header.Clone())
		w.WriteHeader(int(b.status.Load()))
	})
	return bodies, headers
}

// Whatever state its integration is in, an export in quarantine goes to nobody; it is parked after an hour like all that is held.
func TestQuarantineIsAGate(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.take("u-1", `{}`, func(e *model.Export) { e.Quarantined = true })
	for !func() bool {
		_, wait, class := b.deliver(e)
		b.advance(wait)
		return class == ""
	}() {
		d := b.delivery(e)
		require.Equal(t, model.Held, d.Outcome)
		require.Contains(t, d.Reason, "hiregate export release acme/u-1")
		require.Zero(t, d.Attempts)
	}
	require.True(t, b.delivery(e).Parked)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, b.Clock()) }))

	redeliverer := b.redeliverer()
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	require.True(t, b.delivery(e).Parked, "its integration is configured, and that was enough")
	require.Zero(t, b.asked.Load())
	_, err := redeliverer.EndQuarantine(t.Context(), "acme", "u-1", alone)
	require.NoError(t, err)
	next, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, next.Round)
	res, _, _ := b.deliver(next)
	require.Equal(t, model.ClassDelivered, res.Class)
	require.Equal(t, int64(1), b.asked.Load())
}

func TestRemovedIntegrationEndsItsDeliveries(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("u-1")
	b.set(model.Disabled)
	_, _, class := b.deliver(e)
	require.Equal(t, string(model.ClassHeld), class)
	b.set(model.Removed)
	b.config.Tenants["acme"] = &model.Tenant{Name: "acme"}
	res, wait, _ := b.deliver(e)
	require.Zero(t, wait)
	require.Equal(t, model.ClassPartnerFault, res.Class)
	d := b.delivery(e)
	require.Equal(t, model.Failed, d.Outcome)
	require.Equal(t, "integration hris was removed", d.Reason)
	require.Zero(t, d.HeldSince, "it is counted among what is held")
}

// A 410 that comes late says nothing of the setting that is in force by then, and does not bring back what was removed.
func TestLateGoneDisablesNothing(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var meanwhile func()
	b.partner.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		meanwhile()
		w.WriteHeader(int(b.status.Load()))
	})
	change := func(tenant *model.Tenant, i *model.Integration, state model.IntegrationState) {
		if err := b.Store.Write(context.Background(), func(tx *store.Tx) error {
			return tx.UpsertIntegrationStatus(i, store.IntegrationStatus{State: state, UpdatedAt: b.Clock()})
		}); err != nil {
			t.Errorf("changing an integration: %v", err)
		}
		b.config.Tenants["acme"] = tenant
	}
	b.status.Store(http.StatusGone)
	next := *b.integration()
	next.URL = b.partner.URL + "/next"
	meanwhile = func() {
		change(&model.Tenant{Name: "acme", Integrations: []model.Integration{next}}, &next, model.Configured)
	}
	changed := b.accept("u-1")
	_, _, class := b.deliver(changed)
	require.Equal(t, string(model.ClassHeld), class)
	status, err := b.Store.IntegrationStatus(t.Context(), &next)
	require.NoError(t, err)
	require.Equal(t, model.Configured, status.State)

	meanwhile = func() { change(&model.Tenant{Name: "acme"}, &next, model.Removed) }
	removed := b.accept("u-2")
	_, _, _ = b.deliver(removed)
	for _, e := range []*model.Export{changed, removed} {
		_, wait, _ := b.deliver(e)
		require.Zero(t, wait, "it is held, and nobody can enable what was removed")
		d := b.delivery(e)
		require.Equal(t, model.Failed, d.Outcome)
		require.Equal(t, "integration hris was removed", d.Reason)
	}
}

// Held, too, a triggered export ends when its documents do: it is never parked.
func TestTriggeredExportExpiresThoughHeld(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.set(model.Disabled)
	e := b.take("u-1", `{}`, triggered)
	for {
		res, wait, class := b.deliver(e)
		if class == "" {
			require.Equal(t, model.ClassExpired, res.Class)
			break
		}
		require.False(t, b.delivery(e).Parked)
		b.advance(wait)
	}
	require.WithinDuration(t, e.DocumentsTill, b.Clock(), 3*time.Minute)
	require.Contains(t, b.delivery(e).Reason, "disabled")
}

// A delivery with its documents in the body waits for them until their URLs end, makes no attempt meanwhile, and then sends the
// same bytes in every attempt.
func TestInlineWaitsForTheDocuments(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.integration().Documents = model.Inline
	bodies, _ := b.record()
	answer := http.StatusServiceUnavailable
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer)
		fmt.Fprint(w, `{"content":"aGVsbG8=","mimeType":"text/plain","fileName":"a.txt"}`)
	}))
	t.Cleanup(service.Close)
	body := fmt.Sprintf(`{"candidate":{"profiles":[{"attachments":[{"id":{},"url":%q}]}]}}`, service.URL+"/a")
	attached := func(e *model.Export) { e.Attachments = 1 }

	e := b.take("u-1", body, attached)
	_, err := b.Archive.Fetch(t.Context(), e)
	require.NoError(t, err)
	_, wait, class := b.deliver(e)
	require.Equal(t, "documents_missing", class)
	require.InDelta(t, 10*time.Second, wait, float64(2*time.Second))
	require.Equal(t, model.Pending, b.delivery(e).Outcome, "a wait was taken for an attempt")
	answer = http.StatusOK
	b.advance(time.Minute)
	_, err = b.Archive.Fetch(t.Context(), e)
	require.NoError(t, err)
	b.status.Store(500)
	_, _, class = b.deliver(e)
	require.Equal(t, string(model.ClassPartnerFault), class)
	b.status.Store(200)
	res, _, _ := b.deliver(e)
	require.Equal(t, model.ClassDelivered, res.Class)
	require.Len(t, *bodies, 2)
	require.Equal(t, (*bodies)[0], (*bodies)[1])
	require.Contains(t, (*bodies)[0], `","document":{"content":"`+base64.StdEncoding.EncodeToString([]byte("hello"))+`","mimeType":"text/plain","fileName":"a.txt"}}]}]}}`)
	require.NotContains(t, (*bodies)[0], service.URL)

	late := b.take("u-2", body, attached)
	b.advance(model.DocumentWindow)
	res, _, _ = b.deliver(late)
	require.Equal(t, model.ClassDelivered, res.Class)
	require.NotContains(t, (*bodies)[2], `"document"`)
	require.Contains(t, (*bodies)[2], "http://gate.example/documents/")
}

// A change of the mode is for exports that were not tried yet: what was goes on with the same bytes, also when it is redelivered.
func TestChangeOfModeLeavesTheBytes(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	bodies, _ := b.record()
	const body = `{"candidate":{"profiles":[{"attachments":[{"id":{},"url":"http://127.0.0.1:1/a"}]}]}}`
	attached := func(e *model.Export) { e.Attachments = 1 }
	b.status.Store(500)
	e := b.take("u-1", body, attached)
	_, err := b.Archive.Fetch(t.Context(), e)
	require.NoError(t, err)
	_, _, _ = b.deliver(e)
	b.integration().Documents = model.Passthrough
	b.status.Store(200)
	res, _, _ := b.deliver(e)
	require.Equal(t, model.ClassDelivered, res.Class)
	var next *model.Export
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) (err error) {
		if err = tx.MarkDispatched(e.ID, 0, b.Clock(), "hris"); err == nil {
			next, err = tx.BeginRound(e.ID, []string{"hris"}, b.Clock(), e.DeliverTill)
		}
		return err
	}))
	_, _, _ = b.deliver(next)
	_, _, _ = b.deliver(b.take("u-2", body, attached))
	require.Len(t, *bodies, 4)
	require.Contains(t, (*bodies)[0], "http://gate.example/documents/")
	require.Equal(t, (*bodies)[0], (*bodies)[1])
	require.Equal(t, (*bodies)[0], (*bodies)[2])
	require.Equal(t, body, (*bodies)[3])
}

// The second signature set is there when it is switched on: its id stays the same over the attempts, also where the sender gave
// none, and its time is that of the attempt.
func TestStandardWebhooksWhenSwitchedOn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	bodies, headers := b.record()
	b.status.Store(500)
	for n, key := range []string{"u-1", ""} {
		b.integration().StandardWebhooks = true
		e := b.take(key, fmt.Sprintf(`{"n":%d}`, n), func(*model.Export) {})
		*bodies, *headers = nil, nil
		for range 2 {
			_, _, class := b.deliver(e)
			require.Equal(t, string(model.ClassPartnerFault), class)
		}
		for m, h := range *headers {
			id := h.Get("Webhook-Id")
			require.Equal(t, (*headers)[0].Get("Webhook-Id"), id)
			require.NotEmpty(t, id)
			if key != "" {
				require.Equal(t, key, id)
			}
			at, err := strconv.ParseInt(h.Get("Webhook-Timestamp"), 10, 64)
			require.NoError(t, err)
			require.InDelta(t, time.Now().Unix(), at, 60)
			require.Equal(t, webhook.SignStandard("s", id, time.Unix(at, 0), []byte((*bodies)[m])), h.Get("Webhook-Signature"))
		}
		b.integration().StandardWebhooks = false
		_, _, _ = b.deliver(e)
		for name := range (*headers)[2] {
			require.False(t, strings.HasPrefix(name, "Webhook-"), "%s was sent though it is switched off", name)
		}
	}
}

// The activity that fetches comes again until nothing is missing, and tells then how many it has.
func TestFetchingGoesOnUntilNothingIsMissing(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.take("u-1", `{"candidate":{"profiles":[{"attachments":[{"url":"`+b.partner.URL+`/one"},{"url":"`+b.partner.URL+`/two"}]}]}}`, func(e *model.Export) { e.Attachments = 2 })
	b.env.RegisterActivityWithOptions(b.FetchDocuments, activity.RegisterOptions{Name: export.FetchDocumentsName})
	b.status.Store(http.StatusServiceUnavailable)
	_, err := b.env.ExecuteActivity(export.FetchDocumentsName, part(e))
	var again *temporal.ApplicationError
	require.ErrorAs(t, err, &again)
	require.Equal(t, "documents_missing", again.Type())
	require.InDelta(t, 2, again.NextRetryDelay().Seconds(), 0.5)
	b.advance(3 * time.Second)
	b.status.Store(http.StatusOK)
	value, err := b.env.ExecuteActivity(export.FetchDocumentsName, part(e))
	require.NoError(t, err)
	var res export.FetchResult
	require.NoError(t, value.Get(&res))
	require.Equal(t, export.FetchResult{Fetched: 2}, res)
}

// What is triggered here goes out once its documents were found clean, whatever the mode: nobody is given an address that answers 503.
func TestTriggeredExportWaitsForTheScan(t *testing.T) {
	t.Parallel()
	for _, mode := range []model.DocumentMode{model.Rehost, model.Passthrough, model.Inline} {
		b := newFixture(t)
		b.integration().Documents = mode
		e := b.take("u-1", `{"candidate":{}}`, func(e *model.Export) { triggered(e); e.Attachments = 1 })
		document := &model.ApplicationDocument{Key: 1, Tenant: "acme", Application: "a-1", ID: "d", Blob: "f", SHA256: []byte{1}, CreatedAt: noon, Scan: model.ScanPending}
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.InsertApplicationDocument(document); err != nil {
				return err
			}
			return tx.InsertOfferedDocument(document, e, 0, [32]byte{1})
		}))
		_, wait, class := b.deliver(e)
		require.Equal(t, "documents_scanning", class, mode)
		require.InDelta(t, 2, wait.Seconds(), 0.5, mode)
		require.Zero(t, b.asked.Load(), mode)
		require.Equal(t, model.Pending, b.delivery(e).Outcome, "a wait was taken for an attempt")
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.FinishScan(document, "", b.Clock())
			return err
		}))
		res, _, _ := b.deliver(e)
		require.Equal(t, model.ClassDelivered, res.Class, mode)
	}
}

// An export is passed on with the headers it came with; those it came without are not invented.
func TestHeadersArePassedOn(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	_, headers := b.record()
	b.deliver(b.take("u-1", `{}`, func(e *model.Export) {
		e.Link, e.ExportContext = []byte("https://recruiting.example/c/1"), []byte("NURSE-1")
	}))
	b.deliver(b.take("", `{}`, func(*model.Export) {}))
	require.Len(t, *headers, 2)
	with, without := (*headers)[0], (*headers)[1]
	require.Equal(t, []string{"https://recruiting.example/c/1", "NURSE-1", "u-1"},
		[]string{with.Get("Link"), with.Get("X-Service-Export-Context"), with.Get("X-Service-UUID")})
	for _, name := range []string{"Link", "X-Service-Export-Context"} {
		require.NotContains(t, without, http.CanonicalHeaderKey(name))
	}
}

// During a rotation the contract's header has the secret that the integration is known to know: the former one until
// VERIFY is answered with the new one, then that. Standard Webhooks has a signature of each.
func TestBothSecretsOfARotationSign(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	bodies, headers := b.record()
	b.integration().StandardWebhooks = true
	b.set(model.Configured)
	b.integration().Secret, b.integration().FormerSecret = "new", "s"
	for n, order := range [][]string{{"s", "new"}, {"new", "s"}} {
		if n == 1 {
			b.set(model.Configured)
		}
		res, _, _ := b.deliver(b.accept(fmt.Sprintf("u-%d", n)))
		require.Equal(t, model.ClassDelivered, res.Class)
		h, body := (*headers)[n], []byte((*bodies)[n])
		require.Equal(t, webhook.Sign(order[0], body), h.Get("X-Service-Signature"))
		at, err := strconv.ParseInt(h.Get("Webhook-Timestamp"), 10, 64)
		require.NoError(t, err)
		var want []string
		for _, secret := range order {
			want = append(want, webhook.SignStandard(secret, h.Get("Webhook-Id"), time.Unix(at, 0), body))
		}
		require.Equal(t, strings.Join(want, " "), h.Get("Webhook-Signature"))
	}
	b.integration().Secret, b.integration().FormerSecret = "third", ""
	_, _, class := b.deliver(b.accept("u-3"))
	require.Equal(t, string(model.ClassHeld), class, "no former secret keeps the gate open")
}

// Where no spans are exported, an integration that wants traces gets the one that came with the export.
func TestTraceOfTheSenderIsPassedOnWhereItIsWanted(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	_, headers := b.record()
	const came = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	traced := func(e *model.Export) { e.Traceparent = came }
	b.deliver(b.take("u-1", `{}`, traced))
	b.config.Tenants["acme"].Integrations[0].Traceparent = true
	b.deliver(b.take("u-2", `{}`, traced))
	b.deliver(b.take("u-3", `{}`, func(*model.Export) {}))
	require.Len(t, *headers, 3)
	require.NotContains(t, (*headers)[0], "Traceparent")
	require.Equal(t, came, (*headers)[1].Get("traceparent"))
	require.NotContains(t, (*headers)[2], "Traceparent", "it has none")
}
