package export_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// A single export looks for its documents after as long as it waited before, at most until its integration waits no
// more, and goes out as soon as they are here.
func TestSingleExportGoesOutOnceItsDocumentsAreFetched(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	b.Integration().Documents = model.Rehost
	b.Status.Store(http.StatusServiceUnavailable)
	e := b.Take("u-1", withDocument(b.Partner.URL+"/one"), func(e *model.Export) { e.Attachments = 1 })
	in := exporttest.Part(e)
	in.Began = b.Clock()
	for _, want := range []time.Duration{time.Second, time.Second, 2 * time.Second, 4 * time.Second} {
		_, wait, why := b.DeliverAll(in)
		require.Equal(t, "documents_missing", why.Message())
		require.Equal(t, want, wait)
		b.Advance(wait)
	}
	b.Advance(42 * time.Second)
	_, wait, _ := b.DeliverAll(in)
	require.Equal(t, 10*time.Second, wait, "the documents are waited for a minute")
	require.Zero(t, b.Asked.Load())
	b.Status.Store(http.StatusOK)
	_, err := b.FetchDocuments(t.Context(), in)
	require.NoError(t, err)
	bodies, _ := b.Record()
	res, _, why := b.DeliverAll(in)
	require.Nil(t, why)
	require.Equal(t, model.ClassDelivered, res[0].Class)
	require.Contains(t, (*bodies)[0], "http://gate.example/documents/")
}

// The deliveries of a single export go side by side, and its last failure names each that waits.
func TestIntegrationsOfASingleExportGoTheirWays(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	acme := b.Config.Tenants["acme"]
	for _, name := range []string{"crm", "old"} {
		acme.Integrations = append(acme.Integrations,
			model.Integration{Tenant: "acme", Name: name, URL: b.Partner.URL + "/" + name, Secret: "s"})
	}
	crm := make(chan struct{})
	b.Answer = func(r *http.Request) int {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/inbound": // answers once crm was asked
			<-crm
			return http.StatusOK
		case "/crm":
			close(crm)
			return http.StatusServiceUnavailable
		}
		return http.StatusUnprocessableEntity
	}
	in := exporttest.Part(b.Accept("u-1"))
	in.To = []string{"hris", "crm", "old"}
	_, wait, why := b.DeliverAll(in)
	require.Equal(t, "several", why.Type())
	require.Equal(t, "crm: partner_fault: status 503, old: data_fault: status 422", why.Message())
	var crmWaits, oldWaits export.Pending
	require.NoError(t, why.Details(&crmWaits, &oldWaits))
	require.WithinRange(t, crmWaits.Next, b.Clock(), b.Clock().Add(time.Minute))
	crmWaits.Next, oldWaits.Next = time.Time{}, time.Time{}
	require.Equal(t, []export.Pending{
		{Of: "acme/u-1", Integration: "crm", Attempts: 1, Status: http.StatusServiceUnavailable, Why: "partner_fault"},
		{Of: "acme/u-1", Integration: "old", Attempts: 1, Status: http.StatusUnprocessableEntity, Why: "data_fault"},
	}, []export.Pending{crmWaits, oldWaits})
	b.Advance(wait)
	b.Answer = func(*http.Request) int { return http.StatusOK }
	for {
		res, wait, why := b.DeliverAll(in)
		b.Advance(wait)
		if why == nil {
			require.Len(t, res, 3)
			break
		}
	}
	require.EqualValues(t, 5, b.Asked.Load(), "hris was asked once")
}
