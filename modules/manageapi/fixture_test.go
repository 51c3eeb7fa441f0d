package manageapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// What must be in no list; neither in an export's details, but for the answer.
const (
	urlPath   = "path-credential"
	answered  = gatewaytest.Answered
	fileName  = "jane-doe.pdf"
	sourceURL = "https://service.example/source-credential"
	secretKey = "hris-signing-key"
)

// fixture is the API of a gateway whose Temporal is away. Of its tenants, idle has no integration.
type fixture struct {
	*gatewaytest.Fixture
	t    *testing.T
	url  string // of the API's mount
	auth string // the header Authorization; empty: none is sent
}

func setup(t *testing.T) *fixture {
	t.Helper()
	acme, globex := gatewaytest.Tenant("acme"), gatewaytest.Tenant("globex")
	acme.Integrations = []model.Integration{
		{Tenant: "acme", Name: "hris", URL: "https://hr.acme.example/" + urlPath + "?client=" + urlPath, Secret: secretKey,
			Options: model.Options{Documents: model.Rehost}, Verify: true},
		{Tenant: "acme", Name: "crm", URL: "https://crm.acme.example:8443/" + urlPath, Secret: secretKey,
			Options: model.Options{Documents: model.Passthrough}, Verify: true},
		{Tenant: "acme", Name: "own", URL: "https://own.acme.example/" + urlPath, Secret: secretKey,
			Options: model.Options{Documents: model.Passthrough}},
	}
	globex.Integrations = []model.Integration{
		{Tenant: "globex", Name: "hris", URL: "https://hr.globex.example/" + urlPath, Secret: secretKey,
			Options: model.Options{Documents: model.Rehost}, Verify: true},
	}
	b := &fixture{Fixture: gatewaytest.New(t, acme, globex, gatewaytest.Tenant("idle")), t: t}
	b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
	return b
}

// serve mounts the API as the admin endpoint does.
func (b *fixture) serve(current func() *gateway.Gateway) string {
	return b.mount("/hiregate", manageapi.New(current, b.Log))
}

func (b *fixture) mount(at string, api http.Handler) string {
	mux := http.NewServeMux()
	mux.Handle(at+"/", http.StripPrefix(at, api))
	server := httptest.NewServer(mux)
	b.t.Cleanup(server.Close)
	return server.URL + at
}

// keyed is the same fixture, whose API wants keys. It has none.
func (b *fixture) keyed() *fixture {
	k := *b
	k.url = b.mount("/manage", manageapi.NewKeyed(func() *gateway.Gateway { return b.Gateway }, b.Log))
	return &k
}

func (b *fixture) export(tenant, key string, change ...func(*model.Export)) *model.Export {
	b.t.Helper()
	return b.Export(b.t, tenant, key, change...)
}

func (b *fixture) delivery(
	e *model.Export, integration string, outcome model.Outcome, statuses ...int,
) *model.Delivery {
	b.t.Helper()
	return b.Delivery(b.t, e, integration, outcome, statuses...)
}

func (b *fixture) status(tenant, name string, s store.IntegrationStatus) *model.Integration {
	b.t.Helper()
	return b.Status(b.t, tenant, name, s)
}

// reply is an answer of the API.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes a request to the API and checks what is so of every answer. Headers come in pairs.
func (b *fixture) send(method, path, body string, headers ...string) reply {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	require.NoError(b.t, err)
	if kind := "application/json"; body != "" {
		if method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/documents") {
			kind = "application/octet-stream"
		}
		r.Header.Set("Content-Type", kind)
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
	kept := "no-store"
	if strings.HasSuffix(r.URL.Path, "/content") && res.StatusCode < http.StatusBadRequest { // served as exports serve theirs
		kept = "private, no-store"
	}
	require.Equal(b.t, kept, res.Header.Get("Cache-Control"))
	for _, hidden := range []string{urlPath, secretKey, fileName, "source-credential"} {
		require.NotContains(b.t, string(raw), hidden)
	}
	return reply{res.StatusCode, res.Header, string(raw)}
}

// ask is send without headers.
func (b *fixture) ask(method, path, body string) (status int, header http.Header, answer string) {
	b.t.Helper()
	a := b.send(method, path, body)
	return a.status, a.header, a.body
}

// must is send for what has to go well.
func (b *fixture) must(status int, method, path, body string, headers ...string) reply {
	b.t.Helper()
	a := b.send(method, path, body, headers...)
	require.Equal(b.t, status, a.status, a.body)
	return a
}

// get asks for JSON that must be there.
func get[T any](b *fixture, path string) (v T) {
	b.t.Helper()
	status, _, answer := b.ask(http.MethodGet, path, "")
	require.Equal(b.t, http.StatusOK, status, answer)
	require.NoError(b.t, json.Unmarshal([]byte(answer), &v))
	return v
}

// problem asks for something that is refused, and gives the sentence that says why.
func (b *fixture) problem(method, path, body string, want int) string {
	b.t.Helper()
	return b.refused(want, method, path, body)
}

// refused is problem with headers.
func (b *fixture) refused(want int, method, path, body string, headers ...string) string {
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

// requireCleanLog tells that nothing that must stay hidden was logged.
func (b *fixture) requireCleanLog() {
	b.t.Helper()
	var all bytes.Buffer
	for _, entry := range b.Logged.All() {
		fmt.Fprintln(&all, entry.Message, entry.ContextMap())
	}
	for _, hidden := range []string{urlPath, secretKey, answered, fileName, sourceURL} {
		require.NotContains(b.t, all.String(), hidden)
	}
}
