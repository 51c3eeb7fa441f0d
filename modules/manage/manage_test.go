package manage_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/gateway"
	"github.com/hiregate/hiregate/modules/gateway/gatewaytest"
	"github.com/hiregate/hiregate/modules/manage"
)

// What must be in no list; neither in an export's details, but for the answer.
const (
	urlPath   = "path-credential"
	answered  = "what the partner answered"
	fileName  = "jane-doe.pdf"
	sourceURL = "https://service.example/source-credential"
	secretKey = "hris-signing-key"
)

// bench is the API of a gateway whose Temporal is away. Of its tenants, idle has no integration.
type bench struct {
	*gatewaytest.Bench
	t    *testing.T
	url  string // of the API's mount
	auth string // the header Authorization; empty: none is sent
}

func setup(t *testing.T) *bench {
	t.Helper()
	acme, globex := gatewaytest.Tenant("acme"), gatewaytest.Tenant("globex")
	acme.Integrations = []hiring.Integration{
		{Tenant: "acme", Name: "hris", URL: "https://hr.acme.example/" + urlPath + "?client=" + urlPath, Secret: secretKey, Documents: hiring.Rehost, Verify: true},
		{Tenant: "acme", Name: "crm", URL: "https://crm.acme.example:8443/" + urlPath, Secret: secretKey, Documents: hiring.Passthrough, Verify: true},
		{Tenant: "acme", Name: "own", URL: "https://own.acme.example/" + urlPath, Secret: secretKey, Documents: hiring.Passthrough},
	}
	globex.Integrations = []hiring.Integration{
		{Tenant: "globex", Name: "hris", URL: "https://hr.globex.example/" + urlPath, Secret: secretKey, Documents: hiring.Rehost, Verify: true},
	}
	b := &bench{Bench: gatewaytest.New(t, acme, globex, gatewaytest.Tenant("idle")), t: t}
	b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
	return b
}

// serve mounts the API as the admin endpoint does.
func (b *bench) serve(current func() *gateway.Gateway) string {
	return b.mount("/hiregate", manage.New(current, b.Log))
}

func (b *bench) mount(at string, api http.Handler) string {
	mux := http.NewServeMux()
	mux.Handle(at+"/", http.StripPrefix(at, api))
	server := httptest.NewServer(mux)
	b.t.Cleanup(server.Close)
	return server.URL + at
}

// keyed is the same bench, whose API wants keys. It has none.
func (b *bench) keyed() *bench {
	k := *b
	k.url = b.mount("/manage", manage.NewKeyed(func() *gateway.Gateway { return b.Gateway }, b.Log))
	return &k
}

// export puts an export into the store, dispatched, and changes it before as asked for.
func (b *bench) export(tenant, key string, change ...func(*hiring.Export)) *hiring.Export {
	b.t.Helper()
	e := inbox.Arrive(tenant, key, []byte(`{"candidate":{}}`+key), gatewaytest.Noon)
	e.CandidateID, e.Attachments = "c-"+key, 1
	for _, fn := range change {
		fn(e)
	}
	b.Write(b.t, func(tx *store.Tx) error {
		if _, err := inbox.Put(tx, e); err != nil {
			return err
		}
		return tx.MarkDispatched(e.ID, e.Round, gatewaytest.Noon.Add(time.Second))
	})
	return e
}

// delivery puts a delivery of an export into the store, with an attempt for each status.
func (b *bench) delivery(e *hiring.Export, integration string, outcome hiring.Outcome, statuses ...int) *hiring.Delivery {
	b.t.Helper()
	d := &hiring.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: integration, Outcome: outcome, Attempts: len(statuses),
		CreatedAt: gatewaytest.Noon, UpdatedAt: gatewaytest.Noon.Add(2 * time.Second)}
	switch outcome {
	case hiring.Failed:
		d.Fault, d.Reason = hiring.ClassPartnerFault, "answered 500; only 2xx means received"
	case hiring.Retrying:
		d.NextAt = gatewaytest.Noon.Add(time.Minute)
	case hiring.Held:
		d.Reason = "integration " + integration + " is disabled: it answered 410"
	}
	b.Write(b.t, func(tx *store.Tx) error {
		if err := tx.PutDelivery(d); err != nil {
			return err
		}
		for _, status := range statuses {
			a := &hiring.Attempt{DeliveryID: d.ID, StartedAt: gatewaytest.Noon, Duration: 1500 * time.Microsecond, Status: status, Answer: []byte(answered)}
			if err := tx.AddAttempt(a); err != nil {
				return err
			}
		}
		return nil
	})
	return d
}

func (b *bench) status(tenant, name string, s store.IntegrationStatus) *hiring.Integration {
	b.t.Helper()
	i, ok := b.Config.Integration(tenant, name)
	require.True(b.t, ok)
	b.Write(b.t, func(tx *store.Tx) error { return tx.PutIntegrationStatus(i, s) })
	return i
}

// reply is an answer of the API.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes a request to the API and checks what is so of every answer. Headers come in pairs.
func (b *bench) send(method, path, body string, headers ...string) reply {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	require.NoError(b.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if b.auth != "" {
		r.Header.Set("Authorization", b.auth)
	}
	for n := 0; n < len(headers); n += 2 {
		r.Header.Add(headers[n], headers[n+1])
		if headers[n] == "Content-Type" {
			r.Header["Content-Type"] = []string{headers[n+1]}
		}
	}
	mount, err := url.Parse(b.url)
	require.NoError(b.t, err)
	res, err := (&http.Client{Transport: described{b.t, mount.Path}}).Do(r)
	require.NoError(b.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	require.Equal(b.t, "no-store", res.Header.Get("Cache-Control"))
	for _, hidden := range []string{urlPath, secretKey, fileName, "source-credential"} {
		require.NotContains(b.t, string(raw), hidden)
	}
	return reply{res.StatusCode, res.Header, string(raw)}
}

// ask is send without headers.
func (b *bench) ask(method, path, body string) (status int, header http.Header, answer string) {
	b.t.Helper()
	a := b.send(method, path, body)
	return a.status, a.header, a.body
}

// must is send for what has to go well.
func (b *bench) must(status int, method, path, body string, headers ...string) reply {
	b.t.Helper()
	a := b.send(method, path, body, headers...)
	require.Equal(b.t, status, a.status, a.body)
	return a
}

// get asks for JSON that must be there.
func get[T any](b *bench, path string) (v T) {
	b.t.Helper()
	status, _, answer := b.ask(http.MethodGet, path, "")
	require.Equal(b.t, http.StatusOK, status, answer)
	require.NoError(b.t, json.Unmarshal([]byte(answer), &v))
	return v
}

// problem asks for something that is refused, and gives the sentence that says why.
func (b *bench) problem(method, path, body string, want int) string {
	b.t.Helper()
	return b.refused(want, method, path, body)
}

// refused is problem with headers.
func (b *bench) refused(want int, method, path, body string, headers ...string) string {
	b.t.Helper()
	a := b.must(want, method, path, body, headers...)
	require.Equal(b.t, "application/problem+json", a.header.Get("Content-Type"))
	var p struct {
		Status int
		Title  string
		Detail string
	}
	require.NoError(b.t, json.Unmarshal([]byte(a.body), &p))
	require.Equal(b.t, want, p.Status)
	require.Equal(b.t, http.StatusText(want), p.Title)
	require.NotEmpty(b.t, p.Detail)
	return p.Detail
}

type listed struct {
	Items []struct {
		ID         string
		Tenant     string
		State      string
		Fault      string
		Deliveries []struct{ Integration, Outcome string }
	}
	Next *string
}

func (l listed) ids() []string {
	ids := []string{}
	for _, e := range l.Items {
		ids = append(ids, e.Tenant+"/"+e.ID)
	}
	return ids
}

func TestListShowsAllOfAnItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1")
	b.delivery(e, "hris", hiring.Failed, 500, 500)
	b.delivery(e, "crm", hiring.Retrying, 503)
	status, _, answer := b.ask(http.MethodGet, "/v1/exports", "")
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, answer, answered)
	sum := sha256.Sum256([]byte(`{"candidate":{}}u-1`))
	require.JSONEq(t, fmt.Sprintf(`{"items":[{
		"id":"u-1","tenant":"acme","receivedAt":"2026-11-20T12:00:00Z","candidate":"c-u-1","attachments":1,"size":19,"sha256":"%x","round":0,
		"workflow":"export/acme/u-1","state":"dispatched","quarantined":false,"dispatchedAt":"2026-11-20T12:00:01Z","deliveries":[
			{"integration":"crm","round":0,"outcome":"retrying","class":"retrying","attempts":1,"updatedAt":"2026-11-20T12:00:02Z","nextAt":"2026-11-20T12:01:00Z"},
			{"integration":"hris","round":0,"outcome":"failed","class":"partner_fault","attempts":2,"reason":"answered 500; only 2xx means received",
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
		e := b.export("acme", key, func(e *hiring.Export) { e.CandidateID = []string{"jo & co", "c-2", "c-2"}[n] })
		b.delivery(e, "hris", []hiring.Outcome{hiring.Failed, hiring.Delivered, hiring.Held}[n])
		b.delivery(e, "crm", hiring.Delivered)
	}
	b.delivery(b.export("globex", "u-1"), "hris", hiring.Failed)
	for query, want := range map[string][]string{
		"/v1/exports":                                              {"globex/u-1", "acme/u-3", "acme/u-2", "acme/u-1"},
		"/v1/tenants/acme/exports":                                 {"acme/u-3", "acme/u-2", "acme/u-1"},
		"/v1/tenants/idle/exports":                                 {},
		"/v1/exports?outcome=failed":                               {"globex/u-1", "acme/u-1"},
		"/v1/exports?outcome=delivered":                            {"acme/u-3", "acme/u-2", "acme/u-1"},
		"/v1/tenants/acme/exports?outcome=failed":                  {"acme/u-1"},
		"/v1/tenants/acme/exports?outcome=failed&integration=crm":  {},
		"/v1/tenants/acme/exports?outcome=held&integration=hris":   {"acme/u-3"},
		"/v1/exports?integration=crm":                              {"acme/u-3", "acme/u-2", "acme/u-1"},
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
		"/v1/exports?colour=red":                       `"colour" is unknown here; known are outcome, integration, candidate, quarantined, since, until, cursor, limit`,
		"/v1/exports?Outcome=failed":                   "known are outcome",
		"/v1/exports?outcome=lost":                     "the outcomes are pending, retrying, held, delivered, failed, expired",
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
		"/v1/integrations?tenant=acme":                 `"tenant" is unknown here; known are cursor, limit`,
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
	require.Contains(t, b.problem(http.MethodGet, "/v1/exports", "", http.StatusServiceUnavailable), "no gateway is running here")

	b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
	require.NoError(t, b.Runtime.Store().Close())
	require.NotEmpty(t, b.problem(http.MethodGet, "/v1/exports", "", http.StatusServiceUnavailable))
}

// requireCleanLog tells that nothing that must stay hidden was logged.
func (b *bench) requireCleanLog() {
	b.t.Helper()
	var all bytes.Buffer
	for _, entry := range b.Logged.All() {
		fmt.Fprintln(&all, entry.Message, entry.ContextMap())
	}
	for _, hidden := range []string{urlPath, secretKey, answered, fileName, sourceURL} {
		require.NotContains(b.t, all.String(), hidden)
	}
}
