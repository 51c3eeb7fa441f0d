package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// The status says what waits, what is lost when, and what was lost and by whose fault. Documents can be fetched now until
// their URLs end; the audit says who asked for it.
func TestClocks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1", func(e *model.Export) { e.Attachments = 2 })
	b.delivery(e, "hris", model.Retrying, 503)
	document := func(position int, change func(*model.Document)) {
		b.Write(t, func(tx *store.Tx) error {
			return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: e.Tenant, Position: position, CreatedAt: b.Clock.Now()})
		})
		docs, err := b.Runtime.Store().ListDocuments(t.Context(), e.ID)
		require.NoError(t, err)
		change(docs[position])
		b.Write(t, func(tx *store.Tx) error { _, err := tx.UpdateDocument(docs[position]); return err })
	}
	later := b.Clock.Now().Add(time.Hour)
	document(0, func(d *model.Document) { d.Tries, d.Reason, d.NextAt = 4, "files.example answered 503", later })
	document(1, func(d *model.Document) {
		d.State, d.Reason, d.LostAt, d.OurFault = model.GivenUp, "egress refuses its address", b.Clock.Now(), true
	})

	status := get[api.GatewayStatus](b, "/v1/status")
	require.Equal(t, api.DocumentClock{ToFetch: 1, Late: 1, LostAt: e.DocumentsTill, Lost: api.LostCount{Ours: 1}}, status.Clocks.Documents)
	require.EqualValues(t, 1, status.Clocks.Delivery.Waiting)
	require.Equal(t, e.DeliverTill, status.Clocks.Delivery.LostAt)
	require.Zero(t, get[api.GatewayStatus](b, "/v1/status?tenant=globex").Clocks)
	out, _, err := b.cli("status")
	require.NoError(t, err)
	require.Contains(t, out, "Documents: to be fetched 1, of these late 1; the first is lost at "+
		e.DocumentsTill.UTC().Format("2006-01-02 15:04 UTC")+"; lost in 24 h 1: the service's fault 0, ours 1\n")
	late := func() []string { return get[statusAnswer](b, "/v1/status").needs(model.NeedLate) }
	require.Empty(t, late(), "it may come by itself")
	b.Clock.Advance(20 * time.Minute)
	require.Len(t, late(), 1)

	shown := get[api.ExportDetail](b, "/v1/tenants/acme/exports/u-1")
	require.Equal(t, []string{"service", "ours"}, []string{shown.Documents[0].Fault, shown.Documents[1].Fault})
	a := b.must(http.StatusAccepted, http.MethodPost, "/v1/tenants/acme/exports/u-1/fetch", "")
	require.JSONEq(t, `{"documents":1}`, a.body)
	shown = get[api.ExportDetail](b, "/v1/tenants/acme/exports/u-1")
	require.Zero(t, shown.Documents[0].NextAt, "it is due")
	require.Equal(t, "fetch", shown.Audit[0].Action)
	out, _, err = b.cli("export", "fetch", "acme/u-1", "--wait", "1ms")
	require.ErrorContains(t, err, "documents of acme/u-1 that are not here: 2 of 2")
	require.Contains(t, out, "acme/u-1: documents that are tried now: 1\n")

	b.export("acme", "u-2")
	a = b.must(http.StatusConflict, http.MethodPost, "/v1/tenants/acme/exports/u-2/fetch", "")
	require.Contains(t, a.body, "no document of this export is still to be fetched")
	b.must(http.StatusNotFound, http.MethodPost, "/v1/tenants/acme/exports/u-3/fetch", "")
	b.Clock.Advance(model.DocumentWindow)
	a = b.must(http.StatusConflict, http.MethodPost, "/v1/tenants/acme/exports/u-1/fetch", "")
	require.Contains(t, a.body, "the URLs of its documents ended at")
}
