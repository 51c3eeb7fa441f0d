package manageapi_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/modeltest"
	"github.com/hiregate/hiregate/internal/webhook"
)

const integrations = "/v1/tenants/initech/integrations"

type failedVerify struct {
	Detail     string
	Transcript struct {
		SentAt        time.Time
		DurationMs    float64
		Status        int
		Answer, Error string
	}
}

// TestAnIntegrationIsSavedOnceItAnswered200 puts it to partners that answer in every way.
func TestAnIntegrationIsSavedOnceItAnswered200(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	ways := map[string]http.HandlerFunc{
		"ok": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) },
		"created": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, "made")
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok/x", http.StatusFound) },
		"broken": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("why", 4<<10), http.StatusInternalServerError)
		},
		"closing": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	var asked sync.Map
	address := b.partner(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		way := strings.Split(r.URL.Path, "/")[1]
		asked.Store(way, string(body))
		require.Equal(t, webhook.EventVerify, r.Header.Get("X-Service-Event"))
		require.True(t, webhook.Verify(r.Header.Get("X-Service-Signature"), body, "s3cret-and-sixteen-bytes"))
		ways[way](w, r)
	})
	for way, want := range map[string]struct {
		status         int
		detail, answer string
	}{
		"created":  {201, "nothing was saved: VERIFY was answered 201; it must be exactly 200", "made"},
		"redirect": {302, "VERIFY was answered 302", ""},
		"broken":   {500, "VERIFY was answered 500", "whywhy"},
		"closing":  {0, "closed the connection", ""},
	} {
		a := b.must(http.StatusUnprocessableEntity, http.MethodPost, integrations,
			`{"name":"`+way+`","url":"`+address+`/`+way+`/x","secret":"s3cret-and-sixteen-bytes"}`)
		failed := parsed[failedVerify](b, a)
		require.Contains(t, failed.Detail, want.detail)
		require.Equal(t, want.status, failed.Transcript.Status)
		require.Contains(t, failed.Transcript.Answer, want.answer)
		require.LessOrEqual(t, len(failed.Transcript.Answer), 4<<10)
		require.Equal(t, want.status == 0, failed.Transcript.Error != "")
		require.WithinDuration(t, time.Now(), failed.Transcript.SentAt, time.Minute)
		require.Positive(t, failed.Transcript.DurationMs)
		require.Empty(t, ids(b, integrations))
	}
	a := b.must(http.StatusCreated, http.MethodPost, integrations,
		`{"name":"ok","url":"`+address+`/ok/x","secret":"s3cret-and-sixteen-bytes","retry":["10s","1m"],"inFlight":3}`)
	require.Equal(t, "/v1/tenants/initech/integrations/ok", a.header.Get("Location"))
	shown := b.must(http.StatusOK, http.MethodGet, integrations+"/ok", "")
	require.Equal(t, shown.body, a.body)
	require.Contains(t, a.body, `"state":"configured"`)
	require.Contains(t, a.body, `"retry":["10s","1m0s"]`)
	require.NotContains(t, a.body, "s3cret-and-sixteen-bytes")
	require.NotContains(t, a.body, "/ok/x", "the rest of the URL may be a credential")
	sent, _ := asked.Load("ok")
	require.Equal(t, `{"data":"Service Verify Event"}`, sent)
	require.Contains(t, b.refused(http.StatusConflict, http.MethodPost, integrations,
		`{"name":"ok","url":"`+address+`/ok/x","secret":"s3cret-and-sixteen-bytes"}`), "of that name")
	b.requireCleanLog()
}

// A URL that another integration has as well is taken, and the answer names the others that the caller sees.
// An edit that sends back what is shown changes nothing, whatever is set.
func TestAnEditKeepsAllOptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	address := b.partner(func(http.ResponseWriter, *http.Request) {})
	in := api.IntegrationInput{URL: address + "/x", Secret: "whsec_" + strings.Repeat("MfKQ", 8), Options: modeltest.Options()}
	for range 2 {
		body, err := json.Marshal(in)
		require.NoError(t, err)
		status, _, answer := b.ask(http.MethodPut, integrations+"/hris", string(body))
		require.Contains(t, []int{http.StatusOK, http.StatusCreated}, status, answer)
		shown := parsed[api.Integration](b, b.must(http.StatusOK, http.MethodGet, integrations+"/hris", ""))
		require.Equal(t, modeltest.Options(), shown.Options)
		in = shown.Input()
	}
}

func TestOneURLForTwoClients(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	address := b.partner(func(http.ResponseWriter, *http.Request) {})
	b.hris(func(i *model.Integration) { i.URL = address + "/in/acme" })
	type shown struct{ SameURL []string }
	first := b.must(http.StatusCreated, http.MethodPost, integrations, `{"name":"x","url":"`+address+`/in/acme","secret":"s3cret-of-initech-x"}`)
	require.Equal(t, []string{"acme/hris"}, parsed[shown](b, first).SameURL)
	again := b.must(http.StatusCreated, http.MethodPut, integrations+"/y", `{"url":"`+address+`/in/acme","secret":"s3cret-of-initech-y"}`,
		"If-None-Match", "*")
	require.Equal(t, []string{"acme/hris", "initech/x"}, parsed[shown](b, again).SameURL)
	for _, path := range []string{"/x", "/x/health"} {
		require.Equal(t, []string{"acme/hris", "initech/y"}, get[shown](b, integrations+path).SameURL)
	}
	keyed := b.keyed()
	own := keyed.as(keyed.key("initech-key", "initech", model.Admin))
	require.Equal(t, []string{"initech/y"}, get[shown](own, integrations+"/x").SameURL, "others are not its business")

	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cret-of-initech-z"), 0o600))
	set := func(name, path string) (hints string) {
		_, hints, err := b.cli("integration", "set", "initech/"+name, "--url", address+path, "--secret-file", secret)
		require.NoError(t, err)
		return hints
	}
	require.NotContains(t, set("z", "/in/z"), "this URL")
	require.Contains(t, set("z", "/in/acme"), "note: acme/hris, initech/x, initech/y has this URL as well, so that the receiver can't tell")
	require.Empty(t, get[shown](b, "/v1/tenants/acme/integrations/crm").SameURL)
}

func TestPartnersThatCannotBeReached(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	b.AllowLoopback(b.t)
	for address, want := range map[string]string{
		l.Addr().String(): "did not answer in time (20s at most)",
		"127.0.0.1:1":     "refused",
	} {
		a := b.must(http.StatusUnprocessableEntity, http.MethodPost, integrations,
			`{"name":"x","url":"http://`+address+`/x","secret":"s-and-sixteen-bytes"}`)
		failed := parsed[failedVerify](b, a)
		require.Contains(t, failed.Transcript.Error, want)
		require.Contains(t, failed.Detail, failed.Transcript.Error)
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	for address, want := range map[string]string{
		"https://hr.example.com":          "no identifier",
		"https://hr.example.com/?client=": "no identifier",
		"https://hr.example.com/x#here":   "fragment",
		"https://me:pw@hr.example.com/x":  "user name or password",
		"https://10.1.2.3/x":              "private",
		"https://127.0.0.1/x":             "loopback",
		"ftp://hr.example.com/x":          "scheme is ftp",
		"http://hr.example.com/x":         "plain http",
		"https://hr.example.com:8443/x":   "port is 8443",
		"":                                "url and secret are needed",
		"https://hr.example.com/" + strings.Repeat("x", 2<<10): "longer than 2 KiB",
	} {
		for _, ask := range [][2]string{{http.MethodPost, integrations}, {http.MethodPut, integrations + "/x"}} {
			require.Contains(t, b.refused(http.StatusUnprocessableEntity, ask[0], ask[1],
				`{"name":"x","url":"`+address+`","secret":"s-and-sixteen-bytes"}`), want, address)
		}
	}
	for body, want := range map[string]string{
		`{"name":"x","url":"https://a.example/x"}`:                                                    "url and secret are needed",
		`{"name":"x","url":"https://a.example/x","secret":"fifteen-bytes.."}`:                         "a secret is shorter than 16 bytes",
		`{"name":"X","url":"https://a.example/x","secret":"s-and-sixteen-bytes"}`:                     `integration name "X"`,
		`{"name":"x","url":"https://a.example/x","secret":"s-and-sixteen-bytes","documents":"mail"}`:  `document mode "mail"`,
		`{"name":"x","url":"https://a.example/x","secret":"s-and-sixteen-bytes","inFlight":1001}`:     "inFlight",
		`{"name":"x","url":"https://a.example/x","secret":"s-and-sixteen-bytes","retry":["soon"]}`:    "retry",
		`{"name":"x","url":"https://a.example/x","secret":"whsec_*********","standardWebhooks":true}`: "whsec_",
	} {
		require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPost, integrations, body), want)
	}
	require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPut, integrations+"/x", `{"name":"y"}`),
		"another integration")
}

// An edit of URL or secret verifies again; when that fails the old setting stays. Any other edit sends nothing.
func TestAnEditIsVerified(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	var verified atomic.Int32
	address := b.partner(func(w http.ResponseWriter, r *http.Request) {
		verified.Add(1)
		if strings.HasPrefix(r.URL.Path, "/broken") {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	put := func(status int, body string) reply {
		return b.must(status, http.MethodPut, integrations+"/hris", body)
	}
	setting := func() *model.Integration {
		i, ok := b.Config.Integration("initech", "hris")
		require.True(t, ok)
		s, err := b.Runtime.Store().IntegrationStatus(t.Context(), i)
		require.NoError(t, err)
		require.Equal(t, model.Configured, s.State, "its setting is not the one that was verified")
		return i
	}
	put(http.StatusCreated, `{"url":"`+address+`/x","secret":"one-and-sixteen-bytes"}`)
	require.EqualValues(t, 1, verified.Load())
	put(http.StatusOK, `{"documents":"inline","standardWebhooks":true}`)
	require.EqualValues(t, 1, verified.Load())
	require.Equal(t, model.Inline, setting().Documents)
	require.Equal(t, address+"/x", setting().URL)

	put(http.StatusUnprocessableEntity, `{"url":"`+address+`/broken"}`)
	require.EqualValues(t, 2, verified.Load())
	require.Equal(t, address+"/x", setting().URL)
	put(http.StatusOK, `{"url":"`+address+`/y"}`)
	put(http.StatusOK, `{"secret":"two-and-sixteen-bytes"}`)
	require.EqualValues(t, 4, verified.Load())
	require.Equal(t, address+"/y", setting().URL)
	require.Equal(t, model.Secret("two-and-sixteen-bytes"), setting().Secret)
}

func TestRemovingAnIntegrationEndsItsDeliveries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	address := b.partner(func(http.ResponseWriter, *http.Request) {})
	b.must(http.StatusCreated, http.MethodPost, integrations, `{"name":"hris","url":"`+address+`/x","secret":"s-and-sixteen-bytes"}`)
	b.delivery(b.export("initech", "u-1"), "hris", model.Retrying, 503)
	b.delivery(b.export("initech", "u-2"), "hris", model.Held)
	b.delivery(b.export("initech", "u-3"), "hris", model.Delivered, 200)
	require.Contains(t, b.problem(http.MethodDelete, "/v1/tenants/initech", "", http.StatusConflict), "delete those first")
	i, _ := b.Config.Integration("initech", "hris")
	b.must(http.StatusNoContent, http.MethodDelete, integrations+"/hris", "")
	require.Empty(t, ids(b, integrations))
	b.must(http.StatusNotFound, http.MethodDelete, integrations+"/hris", "")
	s, err := b.Runtime.Store().IntegrationStatus(t.Context(), i)
	require.NoError(t, err)
	require.Equal(t, model.Removed, s.State)
	require.Equal(t, []string{"u-2", "u-1"}, ids(b, "/v1/tenants/initech/exports?outcome=failed"))
	require.Equal(t, []string{"u-3"}, ids(b, "/v1/tenants/initech/exports?outcome=delivered"))
	b.must(http.StatusCreated, http.MethodPost, integrations, `{"name":"hris","url":"`+address+`/x","secret":"s-and-sixteen-bytes"}`)
}

func TestWhatIsDeclaredIsReadOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, method := range map[string]string{
		"/v1/tenants/acme": http.MethodPut, "/v1/tenants/globex": http.MethodDelete,
		"/v1/tenants/acme/integrations":      http.MethodPost,
		"/v1/tenants/acme/integrations/hris": http.MethodPut, "/v1/tenants/globex/integrations/hris": http.MethodDelete,
	} {
		body := ""
		if method != http.MethodDelete {
			body = `{"name":"hris"}`
			if path == "/v1/tenants/acme" {
				body = `{"name":"Acme"}`
			}
		}
		require.Contains(t, b.problem(method, path, body, http.StatusConflict), "declared in the gateway's Caddyfile")
	}
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme", "").body, `"declared":true`)
}

// Whoever gives a disabled integration another address does not enable it; the address is verified all the same.
func TestEditOfADisabledIntegrationLeavesItDisabled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	var asked atomic.Int64
	address := b.partner(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	b.must(http.StatusCreated, http.MethodPost, integrations, `{"name":"hris","url":"`+address+`/in","secret":"s-and-sixteen-bytes"}`)
	b.must(http.StatusOK, http.MethodPost, integrations+"/hris/disable", `{"reason":"they move"}`)
	a := b.must(http.StatusOK, http.MethodPut, integrations+"/hris", `{"url":"`+address+`/in-2"}`)
	require.EqualValues(t, 2, asked.Load())
	require.Contains(t, a.body, `"disabledBy":"operator"`)
	require.Contains(t, a.body, "they move")
}

// What a setting that is not saved needed is not kept, such as its token.
func TestRefusedSettingsAreNotKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	var issued atomic.Int32
	address := b.partner(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		issued.Add(1)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"access_token":"t","token_type":"Bearer","expires_in":3600}`)
	})
	for n := range 3 {
		b.must(http.StatusUnprocessableEntity, http.MethodPut, integrations+"/hris", `{"url":"`+address+`/x","secret":"s-and-sixteen-bytes","authentication":`+
			`{"oauth2":{"tokenUrl":"`+address+`/token","clientId":"gate","clientSecret":"hunter2"}}}`)
		require.EqualValues(t, n+1, issued.Load())
	}
}
