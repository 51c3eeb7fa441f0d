package manageapi_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func TestListShowsAllOfAnItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1")
	b.delivery(e, "hris", model.Failed, 500, 500)
	b.status("acme", "crm", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	b.delivery(e, "crm", model.Retrying, 503)
	status, _, answer := b.ask(http.MethodGet, "/v1/exports", "")
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, answer, answered)
	sum := sha256.Sum256([]byte(`{"candidate":{}}u-1`))
	require.JSONEq(t, fmt.Sprintf(`{"items":[{
		"id":"u-1","tenant":"acme","receivedAt":"2026-11-20T12:00:00Z","origin":"received","candidate":"c-u-1",
		"attachments":1,"fetched":0,"size":19,"sha256":"%x","round":0,
		"workflow":"export/acme/u-1","state":"dispatched","quarantined":false,"dispatchedAt":"2026-11-20T12:00:01Z","deliveries":[
			{"integration":"crm","round":0,"current":true,"outcome":"retrying","class":"retrying","attempts":1,"updatedAt":"2026-11-20T12:00:02Z","nextAt":"2026-11-20T12:01:00Z"},
			{"integration":"hris","round":0,"current":true,"outcome":"failed","class":"partner_fault","attempts":2,"reason":"answered 500; only 2xx means received",
				"why":{"code":"answered","params":{"status":"500"}},
				"updatedAt":"2026-11-20T12:00:02Z"}]}],"next":null}`, sum), answer)
}

func TestEmptyListIsAList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, answer := b.ask(http.MethodGet, "/v1/exports", "")
	require.JSONEq(t, `{"items":[],"next":null}`, answer)
	b.export("acme", "u-1")
	require.Equal(t, []string{"acme/u-1"}, get[listed](b, "/v1/exports").ids())
	_, _, answer = b.ask(http.MethodGet, "/v1/exports", "")
	require.Contains(t, answer, `"deliveries":[]`)
}

func TestListIsFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n, key := range []string{"u-1", "u-2", "u-3"} {
		e := b.export("acme", key, func(e *model.Export) { e.CandidateID = []string{"jo & co", "c-2", "c-2"}[n] })
		b.delivery(e, "hris", []model.Outcome{model.Failed, model.Delivered, model.Held}[n])
		b.delivery(e, "crm", model.Delivered)
	}
	b.delivery(b.export("globex", "u-1"), "hris", model.Failed)
	for query, want := range map[string][]string{
		"/v1/exports":                                              {"globex/u-1", "acme/u-3", "acme/u-2", "acme/u-1"},
		"/v1/tenants/acme/exports":                                 {"acme/u-3", "acme/u-2", "acme/u-1"},
		"/v1/tenants/idle/exports":                                 {},
		"/v1/exports?outcome=failed":                               {"globex/u-1", "acme/u-1"},
		"/v1/exports?outcome=delivered":                            {"acme/u-3", "acme/u-2", "acme/u-1"},
		"/v1/tenants/acme/exports?outcome=failed":                  {"acme/u-1"},
		"/v1/tenants/acme/exports?outcome=failed&integration=crm":  {},
		"/v1/exports?class=partner_fault":                          {"globex/u-1", "acme/u-1"},
		"/v1/tenants/acme/exports?class=data_fault":                {},
		"/v1/exports?class=partner_fault&outcome=expired":          {},
		"/v1/tenants/acme/exports?outcome=held&integration=hris":   {"acme/u-3"},
		"/v1/tenants/acme/exports?integration=crm":                 {"acme/u-3", "acme/u-2", "acme/u-1"},
		"/v1/tenants/acme/exports?candidate=c-2":                   {"acme/u-3", "acme/u-2"},
		"/v1/tenants/acme/exports?candidate=jo+%26%20co":           {"acme/u-1"},
		"/v1/tenants/acme/exports?candidate=c-2&outcome=held":      {"acme/u-3"},
		"/v1/tenants/acme/exports?candidate=&outcome=&limit=1":     {"acme/u-3"},
		"/v1/tenants/globex/exports?candidate=c-2&outcome=expired": {},
	} {
		require.Equal(t, want, get[listed](b, query).ids(), query)
	}
}

func TestListIsPaged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 5 {
		b.export("acme", fmt.Sprintf("u-%d", n))
	}
	first := get[listed](b, "/v1/tenants/acme/exports?limit=2")
	require.Equal(t, []string{"acme/u-4", "acme/u-3"}, first.ids())
	b.export("acme", "u-5") // shifts nothing
	second := get[listed](b, "/v1/tenants/acme/exports?limit=2&cursor="+*first.Next)
	require.Equal(t, []string{"acme/u-2", "acme/u-1"}, second.ids())
	last := get[listed](b, "/v1/tenants/acme/exports?limit=2&cursor="+*second.Next)
	require.Equal(t, []string{"acme/u-0"}, last.ids())
	require.Nil(t, last.Next)
}

func TestQueryIsChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for query, want := range map[string]string{
		"/v1/exports?colour=red": `"colour" is unknown here; known are outcome, class, integration, candidate, ` +
			`quarantined, undelivered, lostDocuments, lateDocuments, redelivery, status, attempts, waitingLonger, since, until, uuid, order, label, cursor, limit`,
		"/v1/exports?Outcome=failed":                   "known are outcome",
		"/v1/exports?candidate=c-1":                    "names within a tenant",
		"/v1/exports?integration=hris&outcome=failed":  "names within a tenant",
		"/v1/exports?outcome=lost":                     "found by pending, retrying, held, delivered, failed, expired",
		"/v1/audit?action=fly":                         `action "fly" is unknown: use one of add, set, remove, `,
		"/v1/exports?undelivered=no":                   "undelivered can only be true",
		"/v1/exports?quarantined=false":                "quarantined can only be true",
		"/v1/exports?limit=0":                          "limit must be a number from 1 to 500",
		"/v1/exports?limit=501":                        "limit must be a number from 1 to 500",
		"/v1/exports?limit=":                           "limit must be a number from 1 to 500",
		"/v1/exports?limit=1&limit=2":                  "limit is there more than once",
		"/v1/exports?cursor=":                          "this is no cursor",
		"/v1/exports?cursor=42":                        "this is no cursor",
		"/v1/exports?cursor=ZXhwb3J0Oi0x":              "this is no cursor", // export:-1
		"/v1/exports?cursor=ZXhwb3J0Ong":               "this is no cursor", // export:x
		"/v1/exports?cursor=***":                       "this is no cursor",
		"/v1/exports?candidate=%ff":                    "candidate is not text",
		"/v1/exports?candidate=a%00":                   "candidate is not text",
		"/v1/exports?candidate=%zz":                    "the query can't be read",
		"/v1/tenants/acme/exports?tenant=globex":       `"tenant" is unknown here`,
		"/v1/tenants/acme/exports/u-1?deliveries=none": "takes no query parameters",
		"/v1/integrations?tenant=acme":                 `"tenant" is unknown here; known are label, cursor, limit`,
		"/v1/exports?since=yesterday":                  "since must be a time such as",
		"/v1/exports?until=2026-11-20T12:00:00+00:00":  "percent-encode a +",
	} {
		require.Contains(t, b.problem(http.MethodGet, query, "", http.StatusBadRequest), want, query)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "u-1")
	for path, want := range map[string]string{
		"/v1/tenants/nobody/exports":      "no tenant of that name",
		"/v1/tenants/nobody/exports/u-1":  "no tenant of that name",
		"/v1/tenants/acme/exports/u-2":    "no export of that UUID",
		"/v1/tenants/globex/exports/u-1":  "no export of that UUID",
		"/v1/tenants/acme/exports/u%00-1": "it is not text",
		"/v1/tenants/acme/jobs/%ff":       "it is not text",
		"/v1/tenants/acme/exports/u-1/x":  "nothing at this address",
		"/v1":                             "nothing at this address",
		"/":                               "nothing at this address",
	} {
		require.Contains(t, b.problem(http.MethodGet, path, "", http.StatusNotFound), want, path)
	}
	for path, want := range map[string]string{
		"/v1/tenants/nobody/exports/u-1/redeliver":      "no tenant of that name",
		"/v1/tenants/acme/exports/u-2/redeliver":        "no export of that UUID",
		"/v1/tenants/nobody/integrations/hris/enable":   "no tenant of that name",
		"/v1/tenants/acme/integrations/mainfram/enable": "no integration of that name",
	} {
		require.Contains(t, b.problem(http.MethodPost, path, "", http.StatusNotFound), want, path)
	}
}

func TestMethodsAreNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, allow := range map[string]string{
		"/v1/exports":                                "GET, HEAD",
		"/v1/tenants/acme/exports":                   "GET, HEAD",
		"/v1/tenants/acme/exports/u-1":               "GET, HEAD",
		"/v1/integrations":                           "GET, HEAD",
		"/v1/tenants/acme/exports/u-1/redeliver":     "POST",
		"/v1/tenants/acme/exports/u-1/release":       "POST",
		"/v1/tenants/acme/integrations/hris/enable":  "POST",
		"/v1/tenants/nobody/integrations/any/enable": "POST",
	} {
		require.Contains(t, b.problem(http.MethodDelete, path, "", http.StatusMethodNotAllowed), allow)
		_, header, _ := b.ask(http.MethodPut, path, "")
		require.Equal(t, allow, header.Get("Allow"))
	}
	status, _, answer := b.ask(http.MethodHead, "/v1/exports", "")
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, answer)
}

func TestGatewayThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.url = b.serve(func() *gateway.Gateway { return nil })
	require.Contains(t, b.problem(http.MethodGet, "/v1/exports", "", http.StatusServiceUnavailable),
		"no gateway is running here")

	b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
	require.NoError(t, b.Runtime.Store().Close())
	require.NotEmpty(t, b.problem(http.MethodGet, "/v1/exports", "", http.StatusServiceUnavailable))
}
