package console

import (
	"encoding/pem"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/modeltest"
	"github.com/hiregate/hiregate/internal/store"
)

// value is what a field of a form holds.
func value(t *testing.T, page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`<input[^>]* name="` + name + `"[^>]* value="([^"]*)"`).FindStringSubmatch(page)
	require.NotNil(t, found, "%s: %s", name, page)
	return html.UnescapeString(found[1])
}

// admin is somebody who may do everything, at the management API.
func (b *fixture) admin() *visitor {
	return &visitor{Request: httptest.NewRequestWithContext(b.t.Context(), http.MethodPost, "https://gate.example/", nil),
		console: b.Console, person: model.Person{ID: "console:1", Role: model.Admin}}
}

// initech makes a tenant that is stored, whose integrations can be changed.
func (b *fixture) initech() {
	b.t.Helper()
	require.NoError(b.t, b.admin().call(http.MethodPut, "/v1/tenants/initech", nil, map[string]any{"name": "Initech"}, nil))
}

// An integration is kept once its receiver answers VERIFY; otherwise the form says what it answered. Afterwards it is
// changed, given another secret and removed, and its URL is not shown.
func TestSetUpOfAnIntegration(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	status := http.StatusTeapot
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, hostile[0])
	}))
	t.Cleanup(partner.Close)
	b.AllowLoopback(t)
	b.initech()

	const add, hris = "/tenants/initech/new-integration", "/tenants/initech/integrations/hris"
	require.Contains(t, b.see(ops, "/tenants/initech", http.StatusOK), `href="/console`+add+`"`)
	secret := value(t, b.see(ops, add, http.StatusOK), "secret")
	require.GreaterOrEqual(t, len(secret), 32)
	form := url.Values{"name": {"hris"}, "url": {partner.URL + "/in?client=1"}, "secret": {secret},
		"documents": {"inline"}, "inFlight": {"4"}, "retry": {"10s 1m"}}
	w := b.send(ops, http.MethodPost, add, form)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body)
	refused := w.Body.String()
	require.Contains(t, refused, "nothing was saved: VERIFY was answered 418")
	require.Contains(t, refused, "<dd>418</dd>")
	require.Contains(t, refused, "&lt;script&gt;alert(1)")
	require.NotContains(t, refused, "<script")
	require.Equal(t, secret, value(t, refused, "secret"), "the receiver may have it by now")
	b.see(ops, hris, http.StatusNotFound)

	status = http.StatusOK
	w = b.send(ops, http.MethodPost, add, form)
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, "/console"+hris+"?done=verified", w.Header().Get("Location"))
	require.Contains(t, b.see(ops, hris+"?done=verified", http.StatusOK), "It answered VERIFY with 200, and is saved.")
	edit := b.see(ops, hris+"/edit", http.StatusOK)
	require.Equal(t, "4", value(t, edit, "inFlight"))
	require.Equal(t, "10s 1m0s", value(t, edit, "retry"))
	require.Empty(t, value(t, edit, "url"))
	require.Empty(t, value(t, edit, "secret"))
	require.Contains(t, edit, `<option value="inline" selected>`)
	require.NotEqual(t, secret, value(t, b.see(ops, hris+"/edit?secret=new", http.StatusOK), "secret"))

	form = url.Values{"documents": {"rehost"}, "inFlight": {"5"}, "retry": {"10s"}, "traceparent": {"yes"}, "rate": {"90/m burst 4"},
		"version": {value(t, edit, "version")}}
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, hris+"/edit", form).Code)
	require.Equal(t, http.StatusPreconditionFailed, b.send(ops, http.MethodPost, hris+"/edit", form).Code,
		"somebody else changed it meanwhile")
	again := b.see(ops, hris+"/edit", http.StatusOK)
	require.Equal(t, "5", value(t, again, "inFlight"))
	require.Equal(t, "1.5/s burst 4", value(t, again, "rate"))
	require.Contains(t, b.see(ops, hris, http.StatusOK), "<dd>1.5/s burst 4</dd>")
	require.Contains(t, b.send(ops, http.MethodPost, hris+"/edit", url.Values{"rate": {"much"}}).Body.String(),
		"for example: 10/s burst 20")
	require.Contains(t, again, `name="traceparent" type="checkbox" value="yes" checked`)
	require.NotContains(t, edit, `name="traceparent" type="checkbox" value="yes" checked`)
	status = http.StatusForbidden
	w = b.send(ops, http.MethodPost, hris+"/edit", url.Values{"secret": {"another secret of theirs"}})
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "<dd>403</dd>")
	require.Contains(t, w.Body.String(), partner.URL)
	status = http.StatusOK
	secrets := func() []string {
		i, ok := b.Fixture.Gateway.Config.Integration("initech", "hris")
		require.True(t, ok)
		return []string{i.Secret.Reveal(), i.FormerSecret.Reveal()}
	}
	rotated := b.see(ops, hris+"/edit?secret=new", http.StatusOK)
	next := value(t, rotated, "secret")
	require.Contains(t, rotated, `value="yes" checked><label for="rotate">`)
	w = b.send(ops, http.MethodPost, hris+"/edit", url.Values{"secret": {next}, "rotate": {"yes"}, "retry": {"10s"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, []string{next, secret}, secrets())
	require.Contains(t, b.see(ops, hris+"/edit", http.StatusOK), "End the former secret")
	require.Regexp(t, `The rotation began <time [^>]*>0 ms ago</time>: .*ops@example.com`, b.see(ops, hris, http.StatusOK))
	w = b.send(ops, http.MethodPost, hris+"/edit", url.Values{"endFormer": {"yes"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, []string{next, ""}, secrets())
	require.NotContains(t, b.see(ops, hris+"/edit", http.StatusOK), "End the former secret")
	w = b.send(ops, http.MethodPost, hris+"/edit", url.Values{"inFlight": {"many"}, "retry": {"7s"}})
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "The attempts at once must be a number from 1 to 1000.")
	require.Equal(t, "7s", value(t, w.Body.String(), "retry"))

	require.Equal(t, http.StatusBadRequest, b.send(ops, http.MethodPost, hris+"/remove", url.Values{}).Code)
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertStep(&model.Step{Row: model.Row{Tenant: "initech"}, ID: "hired", Name: "Hired",
			Helper: &model.Helper{Integrations: []string{"hris"}}}, b.Clock.Now())
	})
	require.Contains(t, b.post(ops, hris+"/remove", url.Values{"sure": {"yes"}}, http.StatusConflict), "Hired")
	b.post(ops, hris+"/remove", url.Values{"sure": {"yes"}, "force": {"true"}}, http.StatusSeeOther)
	require.Contains(t, b.see(ops, "/tenants/initech?done=removed", http.StatusOK), "It is removed.")
	b.see(ops, hris, http.StatusNotFound)
}

// The form shows all that is set, and what comes back of it is the same.
func TestFormHasAllOptionsOfAnIntegration(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.initech()
	form := valuesOf(&api.Integration{Options: modeltest.Options()})
	in, refused := integrationFormOf(form)
	require.Nil(t, refused)
	require.Equal(t, modeltest.Options(), in.Options)
	page := b.see(ops, "/tenants/initech/new-integration", http.StatusOK)
	for field := range form {
		require.Contains(t, page, ` name="`+field+`"`)
	}
}

// Integrations that the Caddyfile declares are changed there, and only administrators change any.
func TestWhoSetsUpIntegrations(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const add, hris = "/tenants/acme/new-integration", "/tenants/acme/integrations/hris"
	page := b.see(ops, hris, http.StatusOK)
	require.Contains(t, page, "It is declared in the Caddyfile")
	require.NotContains(t, page, hris+"/edit")
	require.NotContains(t, b.see(ops, "/tenants/acme", http.StatusOK), add)
	for path, form := range map[string]url.Values{
		add: {"name": {"x"}}, hris + "/edit": {}, hris + "/remove": {"sure": {"yes"}},
	} {
		require.Equal(t, http.StatusConflict, b.send(ops, http.MethodPost, path, form).Code, path)
		require.Equal(t, http.StatusForbidden, b.send(viewer, http.MethodPost, path, form).Code, path)
		require.Equal(t, http.StatusNotFound, b.send(recruiter, http.MethodPost, path, form).Code, path)
	}
	require.Equal(t, http.StatusForbidden, b.send(viewer, http.MethodGet, add, nil).Code)
}

// A form that is refused keeps all that was written and ticked, so that saving it once it is corrected resets nothing.
func TestRefusedFormOfAnIntegration(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/in" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(partner.Close)
	b.AllowLoopback(t)
	b.initech()
	const edit = "/tenants/initech/integrations/hris/edit"
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, "/tenants/initech/new-integration",
		url.Values{"name": {"hris"}, "url": {partner.URL + "/in"}, "secret": {"secret-1-of-initech"}, "bearer": {"token-1"}}).Code)
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, edit,
		url.Values{"secret": {"secret-2-of-initech"}, "rotate": {"yes"}}).Code)

	written := url.Values{"inFlight": {"4"}, "rate": {"3/s burst 7"}, "retry": {"10s 1m"}, "documents": {"inline"},
		"url": {partner.URL + "/in"}, "secret": {"secret-3-of-initech"}, "headers": {"X-Key: value"}, "scope": {"a b"}}
	ticked := []string{"rotate", "endFormer", "noAuthentication", "standard", "traceparent"}
	for _, one := range ticked {
		written.Set(one, "yes")
	}
	for field, wrong := range map[string]string{"inFlight": "0", "rate": "much", "headers": "no colon", "retry": "soon",
		"url": partner.URL + "/elsewhere"} {
		form := maps.Clone(written)
		form.Set(field, wrong)
		if field == "url" { // it comes to VERIFY
			form.Del("scope")
			form.Del("endFormer")
		}
		w := b.send(ops, http.MethodPost, edit, form)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, w.Code, field)
		page := w.Body.String()
		for _, name := range []string{"inFlight", "rate", "retry", "url", "secret"} {
			require.Equal(t, form.Get(name), value(t, page, name), field)
		}
		require.Contains(t, page, form.Get("headers")+"</textarea>", field)
		require.Contains(t, page, `<option value="inline" selected>`, field)
		for _, name := range ticked {
			require.Equal(t, form.Has(name), strings.Contains(page, `name="`+name+`" type="checkbox" value="yes" checked`),
				"%s of %s", name, field)
		}
	}
}

// A double click sends a form twice. The second request is the one whose answer the browser shows: it waits for the
// first one, and leads to what that made.
func TestFormIsSentTwice(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	asked, answer := make(chan struct{}, 9), make(chan struct{})
	partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-answer
	}))
	t.Cleanup(partner.Close)
	let := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(let)
	b.AllowLoopback(t)
	b.initech()
	form := url.Values{"once": {"once-1"}, "name": {"hris"}, "url": {partner.URL + "/in"}, "secret": {"secret-of-initech"}}
	sent := make(chan *httptest.ResponseRecorder, 2)
	send := func() { sent <- b.send(ops, http.MethodPost, "/tenants/initech/new-integration", form) }
	go send()
	select {
	case <-asked:
	case w := <-sent:
		require.Fail(t, "the partner was not asked", w.Body)
	}
	go send()
	select {
	case w := <-sent:
		require.Fail(t, "it did not wait", w.Body)
	case <-time.After(300 * time.Millisecond): // the second one has come by now, or it is answered from the first one
	}
	let()
	for range 2 {
		w := <-sent
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		require.Equal(t, "/console/tenants/initech/integrations/hris?done=verified", w.Header().Get("Location"))
	}
	require.Empty(t, asked, "it was verified once")
}

// Credentials are written, never shown, stay when an edit leaves them out, and are removed.
func TestCredentialsOfAnIntegration(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const password, key = "pass phrase of theirs", "key-of-theirs"
	var headers http.Header
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { headers = r.Header.Clone() }))
	t.Cleanup(partner.Close)
	b.AllowLoopback(t)
	b.initech()
	const add, hris = "/tenants/initech/new-integration", "/tenants/initech/integrations/hris"
	form := url.Values{"name": {"hris"}, "url": {partner.URL + "/in?client=1"}, "secret": {"a secret of ours"},
		"basicUser": {"hiregate"}, "basicPassword": {password}, "headers": {"X-Api-Key"}}
	w := b.send(ops, http.MethodPost, add, form)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "Write each header on a line of its own")
	form.Set("headers", "\nX-Api-Key: "+key+"\r\n")
	form.Set("bearer", "token")
	w = b.send(ops, http.MethodPost, add, form)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "exclude each other")
	require.Equal(t, "hiregate", value(t, w.Body.String(), "basicUser"))
	form.Del("bearer")
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, add, form).Code)
	require.Equal(t, key, headers.Get("X-Api-Key"))
	_, sent, _ := (&http.Request{Header: headers}).BasicAuth()
	require.Equal(t, password, sent)

	edit, page := b.see(ops, hris+"/edit", http.StatusOK), b.see(ops, hris, http.StatusOK)
	for _, shown := range []string{edit, page} {
		require.Contains(t, shown, "X-Api-Key, User and password")
		require.NotContains(t, shown, password)
		require.NotContains(t, shown, key)
	}
	w = b.send(ops, http.MethodPost, hris+"/edit", url.Values{"url": {"https://other.example/in?client=1"}})
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "authentication is needed")
	require.Contains(t, w.Body.String(), `<details class="fold" open><summary>Credentials`)
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, hris+"/edit", url.Values{"inFlight": {"5"}}).Code)
	require.Contains(t, b.see(ops, hris, http.StatusOK), "X-Api-Key, User and password")
	w = b.send(ops, http.MethodPost, hris+"/edit", url.Values{"noAuthentication": {"yes"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Empty(t, headers.Get("X-Api-Key"), "VERIFY has them still")
	require.NotContains(t, b.see(ops, hris, http.StatusOK), "X-Api-Key")
}

// A form takes the largest credentials that the management API takes, and reads them of those alone who may send them.
func TestLargeCredentials(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	partner := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(partner.Close)
	b.AllowLoopback(t)
	b.initech()
	const add, hris = "/tenants/initech/new-integration", "/tenants/initech/integrations/hris"
	one := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: partner.Certificate().Raw}))
	authorities := func(most int) []string { // as a browser sends them
		return []string{strings.ReplaceAll(strings.Repeat(one, most/len(one)), "\n", "\r\n")}
	}
	form := url.Values{"name": {"hris"}, "url": {partner.URL + "/in?client=1"}, "secret": {"a secret of ours"},
		"ca": authorities(256 << 10)}
	require.Greater(t, len(form["ca"][0]), 256<<10)
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, add, form).Code)
	form.Del("name")
	require.Equal(t, http.StatusSeeOther, b.send(ops, http.MethodPost, hris+"/edit", form).Code)

	form.Set("ca", authorities(300 << 10)[0])
	w := b.send(ops, http.MethodPost, hris+"/edit", form)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "and ca 256 KiB")
	require.Contains(t, w.Body.String(), "-----END CERTIFICATE-----", "what was typed is lost")
	form.Set("ca", authorities(2 << 20)[0])
	for _, path := range []string{add, hris + "/edit"} {
		w = b.send(ops, http.MethodPost, path, form)
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
		require.Contains(t, w.Body.String(), "The credentials are too large.")
	}
	w = b.send(ops, http.MethodPost, hris+"/remove", form)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	require.Contains(t, w.Body.String(), "The form is larger than this site takes.")
	form.Set("ca", authorities(256 << 10)[0])
	w = b.send(ops, http.MethodPost, hris+"/edit", form, func(r *http.Request) { // as request_body of a site does
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 100<<10)
	})
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	require.Contains(t, w.Body.String(), "The form is larger than this site takes.")

	for who, status := range map[string]int{"": http.StatusSeeOther, viewer: http.StatusNotFound,
		operator: http.StatusForbidden} {
		var body *unread
		w = b.send(who, http.MethodPost, "/tenants/acme/new-integration", nil, func(r *http.Request) {
			body = &unread{ReadCloser: r.Body}
			r.Body = body
			if who == viewer {
				r.URL.Path = add
			}
		})
		require.Equal(t, status, w.Code, who)
		require.False(t, body.read, "%s: the form of somebody was read who may not send it", who)
	}
}

// unread is the body of a request that notes whether it was read.
type unread struct {
	io.ReadCloser
	read bool
}

func (u *unread) Read(p []byte) (int, error) {
	u.read = true
	return u.ReadCloser.Read(p)
}
