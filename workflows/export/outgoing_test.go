package export_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// Whatever state its integration is in, an export in quarantine goes to nobody; it is parked after an hour like all that is held.
func TestQuarantineIsAGate(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Take("u-1", `{}`, func(e *model.Export) { e.Quarantined = true })
	for !func() bool {
		_, wait, class := b.DeliverOnce(e)
		b.Advance(wait)
		return class == ""
	}() {
		d := b.Delivery(e)
		require.Equal(t, model.Held, d.Outcome)
		require.Contains(t, d.Reason, "hiregate export release acme/u-1")
		require.Zero(t, d.Attempts)
	}
	require.True(t, b.Delivery(e).Parked)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, b.Clock()) }))

	redeliverer := b.Redeliverer()
	require.NoError(t, redeliverer.TendHeld(t.Context()))
	require.True(t, b.Delivery(e).Parked, "its integration is configured, and that was enough")
	require.Zero(t, b.Asked.Load())
	_, err := redeliverer.EndQuarantine(t.Context(), "acme", "u-1", exporttest.Alone)
	require.NoError(t, err)
	next, err := b.Store.Export(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, next.Round)
	res, _, _ := b.DeliverOnce(next)
	require.Equal(t, model.ClassDelivered, res.Class)
	require.Equal(t, int64(1), b.Asked.Load())
}

func TestRemovedIntegrationEndsItsDeliveries(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Accept("u-1")
	b.Set(model.Disabled)
	_, _, class := b.DeliverOnce(e)
	require.Equal(t, string(model.ClassHeld), class)
	b.Set(model.Removed)
	b.Config.Tenants["acme"] = &model.Tenant{Name: "acme"}
	res, wait, _ := b.DeliverOnce(e)
	require.Zero(t, wait)
	require.Equal(t, model.ClassPartnerFault, res.Class)
	d := b.Delivery(e)
	require.Equal(t, model.Failed, d.Outcome)
	require.Equal(t, "integration hris was removed", d.Reason)
	require.Zero(t, d.HeldSince, "it is counted among what is held")
}

// A 410 that comes late says nothing of the setting that is in force by then, and does not bring back what was removed.
func TestLateGoneDisablesNothing(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	var meanwhile func()
	b.Partner.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		meanwhile()
		w.WriteHeader(int(b.Status.Load()))
	})
	change := func(tenant *model.Tenant, i *model.Integration, state model.IntegrationState) {
		if err := b.Store.Write(context.Background(), func(tx *store.Tx) error {
			return tx.UpsertIntegrationStatus(i, store.IntegrationStatus{State: state, UpdatedAt: b.Clock()})
		}); err != nil {
			t.Errorf("changing an integration: %v", err)
		}
		b.Config.Tenants["acme"] = tenant
	}
	b.Status.Store(http.StatusGone)
	next := *b.Integration()
	next.URL = b.Partner.URL + "/next"
	meanwhile = func() {
		change(&model.Tenant{Name: "acme", Integrations: []model.Integration{next}}, &next, model.Configured)
	}
	changed := b.Accept("u-1")
	_, _, class := b.DeliverOnce(changed)
	require.Equal(t, string(model.ClassHeld), class)
	status, err := b.Store.IntegrationStatus(t.Context(), &next)
	require.NoError(t, err)
	require.Equal(t, model.Configured, status.State)

	meanwhile = func() { change(&model.Tenant{Name: "acme"}, &next, model.Removed) }
	removed := b.Accept("u-2")
	_, _, _ = b.DeliverOnce(removed)
	for _, e := range []*model.Export{changed, removed} {
		_, wait, _ := b.DeliverOnce(e)
		require.Zero(t, wait, "it is held, and nobody can enable what was removed")
		d := b.Delivery(e)
		require.Equal(t, model.Failed, d.Outcome)
		require.Equal(t, "integration hris was removed", d.Reason)
	}
}

// Held, too, a triggered export ends when its documents do: it is never parked.
func TestTriggeredExportExpiresThoughHeld(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Set(model.Disabled)
	e := b.Take("u-1", `{}`, exporttest.Triggered)
	for {
		res, wait, class := b.DeliverOnce(e)
		if class == "" {
			require.Equal(t, model.ClassExpired, res.Class)
			break
		}
		require.False(t, b.Delivery(e).Parked)
		b.Advance(wait)
	}
	require.WithinDuration(t, e.DocumentsTill, b.Clock(), 3*time.Minute)
	require.Contains(t, b.Delivery(e).Reason, "disabled")
}

// A delivery with its documents in the body waits for them until their URLs end, makes no attempt meanwhile, and then sends the
// same bytes in every attempt.
func TestInlineWaitsForTheDocuments(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Integration().Documents = model.Inline
	bodies, _ := b.Record()
	answer := http.StatusServiceUnavailable
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer)
		fmt.Fprint(w, `{"content":"aGVsbG8=","mimeType":"text/plain","fileName":"a.txt"}`)
	}))
	t.Cleanup(service.Close)
	body := fmt.Sprintf(`{"candidate":{"profiles":[{"attachments":[{"id":{},"url":%q}]}]}}`, service.URL+"/a")
	attached := func(e *model.Export) { e.Attachments = 1 }

	e := b.Take("u-1", body, attached)
	_, err := b.Archive.Fetch(t.Context(), e)
	require.NoError(t, err)
	_, wait, class := b.DeliverOnce(e)
	require.Equal(t, "documents_missing", class)
	require.InDelta(t, 10*time.Second, wait, float64(2*time.Second))
	require.Equal(t, model.Pending, b.Delivery(e).Outcome, "a wait was taken for an attempt")
	answer = http.StatusOK
	b.Advance(time.Minute)
	_, err = b.Archive.Fetch(t.Context(), e)
	require.NoError(t, err)
	b.Status.Store(500)
	_, _, class = b.DeliverOnce(e)
	require.Equal(t, string(model.ClassPartnerFault), class)
	b.Status.Store(200)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDelivered, res.Class)
	require.Len(t, *bodies, 2)
	require.Equal(t, (*bodies)[0], (*bodies)[1])
	require.Contains(t, (*bodies)[0], `","document":{"content":"`+base64.StdEncoding.EncodeToString([]byte("hello"))+`","mimeType":"text/plain","fileName":"a.txt"}}]}]}}`)
	require.NotContains(t, (*bodies)[0], service.URL)

	late := b.Take("u-2", body, attached)
	b.Advance(model.DocumentWindow)
	res, _, _ = b.DeliverOnce(late)
	require.Equal(t, model.ClassDelivered, res.Class)
	require.NotContains(t, (*bodies)[2], `"document"`)
	require.Contains(t, (*bodies)[2], "http://gate.example/documents/")
}

// A change of the mode is for exports that were not tried yet: what was goes on with the same bytes, also when it is redelivered.
func TestChangeOfModeLeavesTheBytes(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	bodies, _ := b.Record()
	const body = `{"candidate":{"profiles":[{"attachments":[{"id":{},"url":"http://127.0.0.1:1/a"}]}]}}`
	attached := func(e *model.Export) { e.Attachments = 1 }
	b.Status.Store(500)
	e := b.Take("u-1", body, attached)
	_, err := b.Archive.Fetch(t.Context(), e)
	require.NoError(t, err)
	_, _, _ = b.DeliverOnce(e)
	b.Integration().Documents = model.Passthrough
	b.Status.Store(200)
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, model.ClassDelivered, res.Class)
	var next *model.Export
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) (err error) {
		if err = tx.MarkDispatched(e.ID, 0, b.Clock(), "hris"); err == nil {
			next, err = tx.BeginRound(e.ID, []string{"hris"}, b.Clock(), e.DeliverTill)
		}
		return err
	}))
	_, _, _ = b.DeliverOnce(next)
	_, _, _ = b.DeliverOnce(b.Take("u-2", body, attached))
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
	b := exporttest.NewFixture(t)
	bodies, headers := b.Record()
	b.Status.Store(500)
	for n, key := range []string{"u-1", ""} {
		b.Integration().StandardWebhooks = true
		e := b.Take(key, fmt.Sprintf(`{"n":%d}`, n), func(*model.Export) {})
		*bodies, *headers = nil, nil
		for range 2 {
			_, _, class := b.DeliverOnce(e)
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
		b.Integration().StandardWebhooks = false
		_, _, _ = b.DeliverOnce(e)
		for name := range (*headers)[2] {
			require.False(t, strings.HasPrefix(name, "Webhook-"), "%s was sent though it is switched off", name)
		}
	}
}

// The activity that fetches comes again until nothing is missing, and tells then how many it has.
func TestFetchingGoesOnUntilNothingIsMissing(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	e := b.Take("u-1", `{"candidate":{"profiles":[{"attachments":[{"url":"`+b.Partner.URL+`/one"},{"url":"`+b.Partner.URL+`/two"}]}]}}`, func(e *model.Export) { e.Attachments = 2 })
	b.Env.RegisterActivityWithOptions(b.FetchDocuments, activity.RegisterOptions{Name: export.FetchDocumentsName})
	b.Status.Store(http.StatusServiceUnavailable)
	_, err := b.Env.ExecuteActivity(export.FetchDocumentsName, exporttest.Part(e))
	var again *temporal.ApplicationError
	require.ErrorAs(t, err, &again)
	require.Equal(t, "documents_missing", again.Type())
	require.InDelta(t, 2, again.NextRetryDelay().Seconds(), 0.5)
	b.Advance(3 * time.Second)
	b.Status.Store(http.StatusOK)
	value, err := b.Env.ExecuteActivity(export.FetchDocumentsName, exporttest.Part(e))
	require.NoError(t, err)
	var res export.FetchResult
	require.NoError(t, value.Get(&res))
	require.Equal(t, export.FetchResult{Fetched: 2}, res)
}

// What is triggered here goes out once its documents were found clean, whatever the mode: nobody is given an address that answers 503.
func TestTriggeredExportWaitsForTheScan(t *testing.T) {
	t.Parallel()
	for _, mode := range []model.DocumentMode{model.Rehost, model.Passthrough, model.Inline} {
		b := exporttest.NewFixture(t)
		b.Integration().Documents = mode
		e := b.Take("u-1", `{"candidate":{}}`, func(e *model.Export) { exporttest.Triggered(e); e.Attachments = 1 })
		document := &model.ApplicationDocument{Key: 1, Tenant: "acme", Application: "a-1", ID: "d", Blob: "f", SHA256: []byte{1}, CreatedAt: exporttest.Noon, Scan: model.ScanPending}
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.InsertApplicationDocument(document); err != nil {
				return err
			}
			return tx.InsertOfferedDocument(document, e, 0, [32]byte{1})
		}))
		_, wait, class := b.DeliverOnce(e)
		require.Equal(t, "documents_scanning", class, mode)
		require.InDelta(t, 2, wait.Seconds(), 0.5, mode)
		require.Zero(t, b.Asked.Load(), mode)
		require.Equal(t, model.Pending, b.Delivery(e).Outcome, "a wait was taken for an attempt")
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.FinishScan(document, "", b.Clock())
			return err
		}))
		res, _, _ := b.DeliverOnce(e)
		require.Equal(t, model.ClassDelivered, res.Class, mode)
	}
}

// An export is passed on with the headers it came with; those it came without are not invented.
func TestHeadersArePassedOn(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	_, headers := b.Record()
	b.DeliverOnce(b.Take("u-1", `{}`, func(e *model.Export) {
		e.Link, e.ExportContext = []byte("https://recruiting.example/c/1"), []byte("NURSE-1")
	}))
	b.DeliverOnce(b.Take("", `{}`, func(*model.Export) {}))
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
	b := exporttest.NewFixture(t)
	bodies, headers := b.Record()
	b.Integration().StandardWebhooks = true
	b.Set(model.Configured)
	b.Integration().Secret, b.Integration().FormerSecret = "new", "s"
	for n, order := range [][]string{{"s", "new"}, {"new", "s"}} {
		if n == 1 {
			b.Set(model.Configured)
		}
		res, _, _ := b.DeliverOnce(b.Accept(fmt.Sprintf("u-%d", n)))
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
	b.Integration().Secret, b.Integration().FormerSecret = "third", ""
	_, _, class := b.DeliverOnce(b.Accept("u-3"))
	require.Equal(t, string(model.ClassHeld), class, "no former secret keeps the gate open")
}

// Where no spans are exported, an integration that wants traces gets the one that came with the export.
func TestTraceOfTheSenderIsPassedOnWhereItIsWanted(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	_, headers := b.Record()
	const came = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	traced := func(e *model.Export) { e.Traceparent = came }
	b.DeliverOnce(b.Take("u-1", `{}`, traced))
	b.Config.Tenants["acme"].Integrations[0].Traceparent = true
	b.DeliverOnce(b.Take("u-2", `{}`, traced))
	b.DeliverOnce(b.Take("u-3", `{}`, func(*model.Export) {}))
	require.Len(t, *headers, 3)
	require.NotContains(t, (*headers)[0], "Traceparent")
	require.Equal(t, came, (*headers)[1].Get("traceparent"))
	require.NotContains(t, (*headers)[2], "Traceparent", "it has none")
}
