package export_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// longer has a packed body say that it has a gigabyte.
const longer = `UPDATE export_bodies SET body = X'028080808004' || substr(body, 4) WHERE export_id = $1`

// One export that can't be read fails, once, and says so. The others of its group are delivered.
func TestUnreadableExportFailsAlone(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"a length of a gigabyte": longer,
		"cut off":                `UPDATE export_bodies SET body = substr(body, 1, 20) WHERE export_id = $1`,
		"of no form":             `UPDATE export_bodies SET body = X'FF00' WHERE export_id = $1`,
		"gone":                   `DELETE FROM export_bodies WHERE export_id = $1`,
		"another byte at its end": `UPDATE export_bodies SET
			body = CAST(substr(body, 1, length(body) - 1) || X'7E' AS BLOB) WHERE export_id = $1`,
		"another Link":           `UPDATE export_bodies SET link = X'78' WHERE export_id = $1`,
		"another Export-Context": `UPDATE export_bodies SET export_context = X'78' WHERE export_id = $1`,
		"another hash":           `UPDATE exports SET sha256 = zeroblob(32) WHERE id = $1`,
		"no UUID":                `UPDATE exports SET keyed = FALSE WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := exporttest.NewFixture(t)
			logged := b.Observe()
			all, ids := b.Grouped(8)
			b.Damage(all[3], statement)
			res, _, why := b.DeliverGroup(ids)
			require.Empty(t, why)
			require.Contains(t, res, export.DeliverResult{Of: "acme/" + all[3].Key, Integration: "hris", Class: model.ClassOurFault})
			for n, e := range all {
				d := b.Delivery(e)
				if n != 3 {
					require.Equal(t, model.Delivered, d.Outcome)
					continue
				}
				require.Equal(t, []any{model.Failed, model.ClassOurFault, store.UnreadableReason, 0},
					[]any{d.Outcome, d.Fault, d.Reason, d.Attempts})
			}
			b.DeliverGroup(ids)
			told := logged.FilterMessage("what is stored of an export can't be read").All()
			require.Len(t, told, 1)
			require.Equal(t, []any{"acme", "hris", "u-3"},
				[]any{told[0].ContextMap()["tenant"], told[0].ContextMap()["integration"], told[0].ContextMap()["uuid"]})
			counts, err := b.Store.CountUnreadable(t.Context(), exporttest.Noon)
			require.NoError(t, err)
			require.Equal(t, map[string]store.Counted{"acme": {Count: 1, Since: exporttest.Noon}}, counts)
			require.EqualValues(t, 7, b.Asked.Load())
		})
	}
}

// An export whose UUID or tenant was damaged goes to nobody under another one.
func TestExportWithADamagedAddressGoesToNobody(t *testing.T) {
	t.Parallel()
	for column, to := range map[string]string{"key": "u-9", "tenant": "globex"} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			b := exporttest.NewFixture(t)
			globex := *b.Integration()
			globex.Tenant = "globex"
			b.Config.Tenants["globex"] = &model.Tenant{Name: "globex", Integrations: []model.Integration{globex}}
			require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
				return tx.UpsertIntegrationStatus(&globex, store.IntegrationStatus{State: model.Configured, UpdatedAt: exporttest.Noon})
			}))
			e := b.Accept("u-1")
			b.Damage(e, `UPDATE exports SET `+column+` = '`+to+`' WHERE id = $1`)
			res, _, class := b.DeliverOnce(e)
			require.Empty(t, class)
			require.Equal(t, model.ClassOurFault, res.Class)
			require.Zero(t, b.Asked.Load())
		})
	}
	t.Run("of its delivery", func(t *testing.T) {
		t.Parallel()
		b := exporttest.NewFixture(t)
		b.Status.Store(http.StatusInternalServerError)
		e := b.Accept("u-1")
		b.DeliverOnce(e)
		b.Damage(e, `UPDATE deliveries SET tenant = 'globex' WHERE export_id = $1`)
		res, _, class := b.DeliverOnce(e)
		require.Empty(t, class)
		require.Equal(t, model.ClassOurFault, res.Class)
		require.EqualValues(t, 1, b.Asked.Load())
	})
}

// A body that was damaged after it was made is not sent again, in whichever mode.
func TestDamagedBodyIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for mode, statement := range map[model.DocumentMode]string{
		model.Rehost: `UPDATE outgoing_bodies SET body = CAST(substr(body, 1, length(body) - 1) || X'7E' AS BLOB)
			WHERE export_id = $1`,
		model.Inline: `UPDATE outgoing_bodies SET body = CAST(X'01' || substr(body, 3) AS BLOB) WHERE export_id = $1`,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := exporttest.NewFixture(t)
			b.Integration().Documents = mode
			b.Partner.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b.Asked.Add(1)
				if r.Method == http.MethodPost {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				_, _ = w.Write([]byte("hello"))
			})
			e := b.Take("u-1", `{"candidate":{"profiles":[{"attachments":[{"url":"`+b.Partner.URL+`/one"}]}]}}`,
				func(e *model.Export) { e.Attachments = 1 })
			_, err := b.FetchDocuments(t.Context(), exporttest.Part(e))
			require.NoError(t, err)
			_, _, class := b.DeliverOnce(e)
			require.Equal(t, string(model.ClassPartnerFault), class)
			before := b.Asked.Load()
			b.Damage(e, statement)
			res, _, class := b.DeliverOnce(e)
			require.Empty(t, class)
			require.Equal(t, model.ClassOurFault, res.Class)
			require.Equal(t, before, b.Asked.Load())
		})
	}
}

// The documents of an export that can't be read are not asked for again and again, whatever the mode.
func TestUnreadableExportHasNoDocuments(t *testing.T) {
	t.Parallel()
	for _, mode := range []model.DocumentMode{model.Rehost, model.Inline, model.Passthrough} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := exporttest.NewFixture(t)
			b.Integration().Documents = mode
			e := b.Take("u-1", `{"candidate":{"profiles":[{"attachments":[{"url":"`+b.Partner.URL+`/one"}]}]}}`,
				func(e *model.Export) { e.Attachments = 1 })
			b.Damage(e, longer)
			res, err := b.FetchDocuments(t.Context(), exporttest.Part(e))
			require.NoError(t, err)
			require.Zero(t, res)
			done, _, class := b.DeliverOnce(e)
			require.Empty(t, class)
			require.Equal(t, model.ClassOurFault, done.Class)
			require.Zero(t, b.Asked.Load())
		})
	}
}
