package export_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/export"
)

// A single export looks for its documents after as long as it waited before, at most until its integration waits no
// more, and goes out as soon as they are here.
func TestSingleExportGoesOutOnceItsDocumentsAreFetched(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.integration().Documents = model.Rehost
	b.status.Store(http.StatusServiceUnavailable)
	e := b.take("u-1", withDocument(b.partner.URL+"/one"), func(e *model.Export) { e.Attachments = 1 })
	in := part(e)
	in.Began = b.Clock()
	for _, want := range []time.Duration{time.Second, time.Second, 2 * time.Second, 4 * time.Second} {
		_, wait, why := b.deliverAll(in)
		require.Equal(t, "documents_missing", why.Message())
		require.Equal(t, want, wait)
		b.advance(wait)
	}
	b.advance(42 * time.Second)
	_, wait, _ := b.deliverAll(in)
	require.Equal(t, 10*time.Second, wait, "the documents are waited for a minute")
	require.Zero(t, b.asked.Load())
	b.status.Store(http.StatusOK)
	_, err := b.FetchDocuments(t.Context(), in)
	require.NoError(t, err)
	bodies, _ := b.record()
	res, _, why := b.deliverAll(in)
	require.Nil(t, why)
	require.Equal(t, model.ClassDelivered, res[0].Class)
	require.Contains(t, (*bodies)[0], "http://gate.example/documents/")
}

// The deliveries of a single export go side by side, and its last failure names each that waits.
func TestIntegrationsOfASingleExportGoTheirWays(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	acme := b.config.Tenants["acme"]
	for _, name := range []string{"crm", "old"} {
		acme.Integrations = append(acme.Integrations,
			model.Integration{Tenant: "acme", Name: name, URL: b.partner.URL + "/" + name, Secret: "s"})
	}
	crm := make(chan struct{})
	b.answer = func(r *http.Request) int {
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
	in := part(b.accept("u-1"))
	in.To = []string{"hris", "crm", "old"}
	_, wait, why := b.deliverAll(in)
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
	b.advance(wait)
	b.answer = func(*http.Request) int { return http.StatusOK }
	for {
		res, wait, why := b.deliverAll(in)
		b.advance(wait)
		if why == nil {
			require.Len(t, res, 3)
			break
		}
	}
	require.EqualValues(t, 5, b.asked.Load(), "hris was asked once")
}
