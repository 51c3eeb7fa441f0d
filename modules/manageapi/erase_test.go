package manageapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func undocumented(e *model.Export) { e.Attachments = 0 }

func about(candidate string) func(*model.Export) {
	return func(e *model.Export) { e.Attachments, e.CandidateID = 0, candidate }
}

// done is what an erasure answers of an export.
type done struct{ ID, ErasedAt, Refused string }

func TestExportIsErased(t *testing.T) {
	t.Parallel()
	onEach(t, testExportIsErased)
}

func testExportIsErased(t *testing.T, b *fixture) {
	e := b.export("acme", "u-1", undocumented)
	b.delivery(e, "hris", model.Delivered, 200)
	const path = "/v1/tenants/acme/exports/u-1"
	first := b.must(http.StatusOK, http.MethodPost, path+"/erase", "").body
	require.Contains(t, first, `{"id":"u-1","receivedAt":"2026-11-20T12:00:00Z","erasedAt":"`)
	require.Equal(t, first, b.must(http.StatusOK, http.MethodPost, path+"/erase", `{"cancel":true}`).body,
		"it stays as it is")
	shown := b.must(http.StatusOK, http.MethodGet, path, "").body
	require.Contains(t, shown, `"erasedAt":"`+parsed[done](b, reply{body: first}).ErasedAt)
	require.Contains(t, shown, `"candidate":""`)
	require.Contains(t, shown, `"answer":""`)
	require.ErrorIs(t, b.Runtime.Store().LoadBody(t.Context(), e), store.ErrNotFound)
	require.Contains(t, b.problem(http.MethodPost, path+"/redeliver", "", http.StatusConflict), "was erased")

	// The sender's repeat is known anyway, and so is another body under its UUID.
	for body, want := range map[string]inbox.Verdict{`{"candidate":{}}u-1`: inbox.Repeated, `{}`: inbox.Conflicting} {
		res, err := inbox.Accept(t.Context(), b.Runtime.Store(),
			inbox.NewExport("acme", "u-1", []byte(body), gatewaytest.Noon))
		require.NoError(t, err)
		require.Equal(t, want, res.Verdict)
	}
	told := b.Logged.FilterMessage("export erased").FilterField(zap.Int("erased", 1)).All()
	require.Len(t, told, 1)
	require.Equal(t, map[string]any{"actor": "admin endpoint", "request": "POST /v1/tenants/{tenant}/exports/{uuid}/erase",
		"tenant": "acme", "kind": "exports", "id": "u-1", "erased": int64(1)},
		told[0].ContextMap())
}

// What is not finished is refused, with a sentence that says what is still to come; cancelled with the erasure it ends.
func TestUnfinishedExportIsErasedWhenCancelled(t *testing.T) {
	t.Parallel()
	onEach(t, testUnfinishedExportIsErasedWhenCancelled)
}

func testUnfinishedExportIsErasedWhenCancelled(t *testing.T, b *fixture) {
	for what, make := range map[string]func(key string) *model.Export{
		"its delivery to hris is held": func(key string) *model.Export {
			e := b.export("acme", key, undocumented)
			b.park(b.delivery(e, "hris", model.Held))
			return e
		},
		"its delivery to crm is pending, its delivery to hris is retrying": func(key string) *model.Export {
			e := b.export("acme", key, undocumented)
			b.delivery(e, "hris", model.Retrying, 500)
			b.delivery(e, "crm", model.Pending)
			return e
		},
		"1 of its documents are still being fetched or scanned": func(key string) *model.Export {
			e := b.export("acme", key)
			b.delivery(e, "hris", model.Delivered)
			return e
		},
		"it is in quarantine": func(key string) *model.Export { return b.export("acme", key, undocumented, quarantined) },
		"it waits for Temporal": func(key string) *model.Export {
			e := b.export("acme", key, undocumented)
			b.Write(t, func(tx *store.Tx) error {
				_, err := tx.BeginRound(e.ID, []string{"hris"}, gatewaytest.Noon, e.DeliverTill)
				return err
			})
			return e
		},
	} {
		key := strings.ReplaceAll(what, " ", "-")
		e, path := make(key), "/v1/tenants/acme/exports/"+key
		require.Equal(t, "this export is not finished: "+what+"; have that cancelled with the erasure, or ask "+
			"again once it has ended",
			b.problem(http.MethodPost, path+"/erase", "{}", http.StatusConflict))
		require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e), what)
		b.must(http.StatusOK, http.MethodPost, path+"/erase", `{"cancel":true}`)
		require.ErrorIs(t, b.Runtime.Store().LoadBody(t.Context(), e), store.ErrNotFound, what)
		for _, d := range get[struct {
			Deliveries []struct{ Outcome, Reason string }
		}](b, path).Deliveries {
			require.Contains(t, []string{"failed " + store.ErasedReason, "delivered "}, d.Outcome+" "+d.Reason, what)
		}
		require.Contains(t, b.problem(http.MethodPost, path+"/release", "", http.StatusConflict), "was erased")
	}
	waiting, _, err := b.Runtime.Store().Backlog(t.Context())
	require.NoError(t, err)
	require.Zero(t, waiting)
}

// What Temporal refused goes nowhere any more: somebody has looked at it. What waits in an earlier round still does.
func TestFaultyExportIsErased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1")
	b.Write(t, func(tx *store.Tx) error { return tx.MarkFault(e.ID, "Temporal refuses its workflow", gatewaytest.Noon) })
	b.must(http.StatusOK, http.MethodPost, "/v1/tenants/acme/exports/u-1/erase", "")

	e = b.export("acme", "u-2")
	b.delivery(e, "hris", model.Held)
	b.Write(t, func(tx *store.Tx) error {
		if _, err := tx.BeginRound(e.ID, []string{"crm"}, gatewaytest.Noon, e.DeliverTill); err != nil {
			return err
		}
		return tx.MarkFault(e.ID, "Temporal refuses its workflow", gatewaytest.Noon)
	})
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/u-2/erase", "", http.StatusConflict),
		"not finished: its delivery to hris is held;")
}

func TestErasureIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "u-1", undocumented)
	for _, one := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/tenants/acme/exports/u-2/erase", "", http.StatusNotFound, "no export of that UUID"},
		{"/v1/tenants/nobody/exports/u-1/erase", "", http.StatusNotFound, "no tenant of that name"},
		{"/v1/tenants/acme/exports/u-1/erase?cancel=true", "", http.StatusBadRequest, "no query parameters"},
		{"/v1/tenants/acme/exports/u-1/erase", `{"force":true}`, http.StatusBadRequest, `"force", which is unknown`},
		{"/v1/tenants/nobody/erasures", `{"candidate":"c-1"}`, http.StatusNotFound, "no tenant of that name"},
		{"/v1/tenants/acme/erasures", `{}`, http.StatusUnprocessableEntity, "candidate is missing"},
		{"/v1/tenants/acme/erasures?candidate=c-1", `{"candidate":"c-1"}`, http.StatusBadRequest, "known are cursor, limit"},
		{"/v1/tenants/acme/erasures", `{"candidate":"` + strings.Repeat("c", 1021) + `"}`, http.StatusUnprocessableEntity,
			"erase each of them by its UUID"},
		{"/v1/tenants/acme/erasures", `{"candidate":"c\u0000"}`, http.StatusUnprocessableEntity,
			"erase each of them by its UUID"},
	} {
		require.Contains(t, b.problem(http.MethodPost, one.path, one.body, one.status), one.want, one.path)
	}
}

// Of a candidate all exports of the tenant are erased, a page at a time; what is not finished is told, and left.
func TestExportsOfACandidateAreErased(t *testing.T) {
	t.Parallel()
	onEach(t, testExportsOfACandidateAreErased)
}

func testExportsOfACandidateAreErased(t *testing.T, b *fixture) {
	for n := range 5 {
		e := b.export("acme", fmt.Sprint("u-", n), about("c-1"))
		b.delivery(e, "hris", map[bool]model.Outcome{true: model.Held, false: model.Delivered}[n == 3])
	}
	b.export("acme", "other", about("c-2"))
	b.export("globex", "u-1", about("c-1"))
	type page struct {
		Items []done
		Next  *string
	}
	const path = "/v1/tenants/acme/erasures"
	ask := func(query, body string, headers ...string) (p page, erased []string) {
		p = parsed[page](b, b.must(http.StatusOK, http.MethodPost, path+query, body, headers...))
		for _, one := range p.Items {
			require.Equal(t, one.ErasedAt == "", one.Refused != "")
			if one.ErasedAt != "" {
				erased = append(erased, one.ID)
			}
		}
		return p, erased
	}
	first, erased := ask("?limit=2", `{"candidate":"c-1"}`, "Idempotency-Key", "k-1")
	require.Equal(t, []string{"u-4"}, erased)
	require.Contains(t, first.Items[1].Refused, "its delivery to hris is held")
	_, erased = ask("?limit=2", `{"candidate":"c-1"}`, "Idempotency-Key", "k-1")
	require.Equal(t, []string{"u-2"}, erased, "a repeat erases what is left")
	last, erased := ask("?cursor="+*first.Next, `{"candidate":"c-1"}`)
	require.Equal(t, []string{"u-1", "u-0"}, erased)
	require.Nil(t, last.Next)
	_, erased = ask("", `{"candidate":"c-1","cancel":true}`)
	require.Equal(t, []string{"u-3"}, erased)
	nothing, _ := ask("", `{"candidate":"c-1"}`)
	require.Empty(t, nothing.Items)
	require.Empty(t, get[listed](b, "/v1/tenants/acme/exports?candidate=c-1").ids())
	require.Equal(t, []string{"acme/other"}, get[listed](b, "/v1/tenants/acme/exports?candidate=c-2").ids())
	require.Equal(t, []string{"globex/u-1"}, get[listed](b, "/v1/tenants/globex/exports?candidate=c-1").ids())
}

// What a tenant had that is gone can be erased as well: the right to it does not end with the tenant.
func TestExportsOfARemovedTenantAreErased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("former", "u-1", about("c-1"))
	b.export("former", "u-2", about("c-1"))
	b.must(http.StatusOK, http.MethodPost, "/v1/tenants/former/exports/u-1/erase", "")
	require.Contains(t, b.must(http.StatusOK, http.MethodPost, "/v1/tenants/former/erasures", `{"candidate":"c-1"}`).body,
		`"u-2"`)
}
