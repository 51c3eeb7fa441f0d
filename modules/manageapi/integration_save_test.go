package manageapi_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
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

// An edit with a former secret begins a rotation; one without secrets leaves both; an empty former secret ends it, and
// so does a new secret alone. Each new secret is verified before it is saved.
func TestSecretsOfAnIntegrationRotate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	knows := "one-and-sixteen-bytes"
	address := b.partner(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !webhook.Verify(r.Header.Get("X-Service-Signature"), body, knows) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	b.must(http.StatusCreated, http.MethodPost, integrations, `{"name":"hris","url":"`+address+`/x","secret":"one-and-sixteen-bytes"}`)
	edit := func(status int, body string) (string, string) {
		a := b.must(status, http.MethodPut, integrations+"/hris", body)
		require.NotContains(t, a.body, `"one-and-sixteen-bytes"`)
		i, ok := b.Gateway.Config.Integration("initech", "hris")
		require.True(t, ok)
		if status == http.StatusOK {
			require.Equal(t, i.FormerSecret != "", strings.Contains(a.body, `"rotating":true`))
		}
		return i.Secret.Reveal(), i.FormerSecret.Reveal()
	}
	two := func(present, former string) []string { return []string{present, former} }
	require.Equal(t, []string{"one-and-sixteen-bytes", ""},
		two(edit(http.StatusUnprocessableEntity, `{"secret":"two-and-sixteen-bytes","formerSecret":"one-and-sixteen-bytes"}`)))
	knows = "two-and-sixteen-bytes"
	require.Equal(t, []string{"two-and-sixteen-bytes", "one-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"secret":"two-and-sixteen-bytes","formerSecret":"one-and-sixteen-bytes"}`)))
	require.Equal(t, []string{"two-and-sixteen-bytes", "one-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"inFlight":3}`)))
	require.Equal(t, []string{"two-and-sixteen-bytes", "one-and-sixteen-bytes"}, two(edit(http.StatusUnprocessableEntity, `{"formerSecret":"two-and-sixteen-bytes"}`)))
	require.Equal(t, []string{"two-and-sixteen-bytes", ""}, two(edit(http.StatusOK, `{"formerSecret":""}`)))
	knows = "three-and-sixteen-bytes"
	require.Equal(t, []string{"three-and-sixteen-bytes", "two-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"secret":"three-and-sixteen-bytes","formerSecret":"two-and-sixteen-bytes"}`)))
	knows = "four-and-sixteen-bytes"
	require.Equal(t, []string{"four-and-sixteen-bytes", "three-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"secret":"four-and-sixteen-bytes","rotate":true}`)))
	b.Clock.Advance(time.Hour)
	require.Equal(t, []string{"four-and-sixteen-bytes", "three-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"inFlight":4}`)))
	shown := get[api.IntegrationHours](b, integrations+"/hris/health")
	require.Equal(t, gatewaytest.Noon, shown.RotatedAt)
	require.Equal(t, model.AdminEndpoint, shown.RotatedBy.Actor)
	require.Equal(t, []string{"four-and-sixteen-bytes", "three-and-sixteen-bytes"}, two(edit(http.StatusUnprocessableEntity, `{"rotate":true}`)))
	knows = "five-and-sixteen-bytes"
	require.Equal(t, []string{"four-and-sixteen-bytes", "three-and-sixteen-bytes"},
		two(edit(http.StatusUnprocessableEntity, `{"secret":"five-and-sixteen-bytes","rotate":true,"formerSecret":"three-and-sixteen-bytes"}`)))
	require.Equal(t, []string{"five-and-sixteen-bytes", ""}, two(edit(http.StatusOK, `{"secret":"five-and-sixteen-bytes"}`)))
	require.Zero(t, get[api.IntegrationHours](b, integrations+"/hris/health").RotatedAt)
}

// Credentials are sent with VERIFY and with the test export, and no answer shows them.
func TestCredentialsAreWriteOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	receiver := func() string {
		return b.partner(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "gate" || password != "hunter2" || r.Header.Get("X-Api-Key") != "hunter3" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		})
	}
	address := receiver()
	const credentials = `{"headers":[{"name":"X-Api-Key","value":"hunter3"}],"basic":{"user":"gate","password":"hunter2"}}`
	put := func(status int, body string) reply {
		a := b.must(status, http.MethodPut, integrations+"/hris", body)
		require.NotContains(t, a.body, "hunter")
		return a
	}
	failed := parsed[failedVerify](b, put(http.StatusUnprocessableEntity, `{"url":"`+address+`/x","secret":"s-and-sixteen-bytes"}`))
	require.Contains(t, failed.Detail, "VERIFY was answered 401: it does not accept the signature or the credentials")
	put(http.StatusCreated, `{"url":"`+address+`/x","secret":"s-and-sixteen-bytes","authentication":`+credentials+`}`)
	put(http.StatusOK, `{"documents":"inline"}`)
	shown := b.must(http.StatusOK, http.MethodGet, integrations+"/hris", "").body
	require.Contains(t, shown, `"authentication":{"headers":["X-Api-Key"],"scheme":"basic"}`)
	trial := b.must(http.StatusOK, http.MethodPost, integrations+"/hris/test", "").body
	require.Contains(t, trial, `"received":true`)
	require.NotContains(t, trial, "hunter")
	require.NotContains(t, trial, "Z2F0ZT", "the header Authorization")

	other := receiver()
	require.Contains(t, put(http.StatusUnprocessableEntity, `{"url":"`+other+`/x"}`).body, "authentication is needed",
		"nobody has credentials sent to a host of their own")
	put(http.StatusOK, `{"url":"`+other+`/x","authentication":`+credentials+`}`)
	put(http.StatusUnprocessableEntity, `{"authentication":{"bearer":"hunter4"}}`)
	put(http.StatusUnprocessableEntity, `{"authentication":{}}`)
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, integrations+"/hris", "").body, `"scheme":"basic"`, "it stayed")

	for body, want := range map[string]string{
		`{"headers":[{"name":"X-Service-UUID","value":"x"}]}`:                         "header X-Service-UUID",
		`{"headers":[{"name":"content-length","value":"x"}]}`:                         "authentication: header content-length",
		`{"bearer":"hunter2","basic":{"user":"a","password":"b"}}`:                    "authentication: basic, bearer, oauth2",
		`{"oauth2":{"tokenUrl":"ftp://x/y","clientId":"a","clientSecret":"hunter2"}}`: "authentication.oauth2.tokenUrl",
		`{"tls":{"certificate":"hunter2","key":"hunter2"}}`:                           "authentication: tls",
	} {
		require.Contains(t, put(http.StatusUnprocessableEntity, `{"authentication":`+body+`}`).body, want)
	}
	b.requireCleanLog()
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

// A client certificate is shown, and its end needs a person from 14 days before.
func TestClientCertificateEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	b.AllowLoopback(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	raw, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	leaf := server.Certificate()
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}))
	credentials := model.Authentication{TLS: &model.ClientTLS{Certificate: certificate, CA: certificate,
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))}}
	in := func(a string) string {
		return `{"url":"` + server.URL + `/x","secret":"s-and-sixteen-bytes","authentication":` + a + `}`
	}
	require.Contains(t, b.must(http.StatusUnprocessableEntity, http.MethodPut, integrations+"/hris", in("{}")).body,
		"is of an authority that is not known here")
	shown := b.must(http.StatusCreated, http.MethodPut, integrations+"/hris", in(string(credentials.Format()))).body
	require.Contains(t, shown, `"certificateEndsAt":"`+leaf.NotAfter.UTC().Format(time.RFC3339)+`"`)
	require.NotContains(t, shown, "PRIVATE")
	needs := func() []model.Need {
		all := get[struct{ Needs []model.Need }](b, "/v1/status").Needs
		return slices.DeleteFunc(all, func(n model.Need) bool { return n.Tenant != "initech" })
	}
	require.Empty(t, needs())
	b.Clock.Advance(leaf.NotAfter.Sub(gatewaytest.Noon) - 13*24*time.Hour)
	require.Equal(t, []model.Need{{Kind: model.NeedCertificate, Tenant: "initech", Integration: "hris",
		Since: leaf.NotAfter.Add(-14 * 24 * time.Hour), Action: "hiregate integration show initech/hris",
		Sentence: "initech/hris: its client certificate ends at " + leaf.NotAfter.UTC().Format(time.RFC3339) +
			": renew it in tls of the integration's authentication"}}, needs())
}
