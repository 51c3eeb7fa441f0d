package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/modules/manageapi"
)

const (
	ops, recruiter, viewer = "ops@example.com", "recruiter@example.com", "viewer@example.com"
	operator               = "operator@example.com"

	here = "https://gate.example/console"
)

// hidden is in the body of each export.
const hidden = "Zoë, known to nobody"

// fixture is a console over the management API of a gateway whose Temporal is away.
type fixture struct {
	*gatewaytest.Fixture
	*Console
	t *testing.T
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	acme, globex := gatewaytest.Tenant("acme"), gatewaytest.Tenant("globex")
	acme.Integrations = []model.Integration{{Tenant: "acme", Name: "hris", URL: "https://hr.acme.example/in?client=1",
		Secret: "s"}}
	b := &fixture{Fixture: gatewaytest.New(t, acme, globex), t: t}
	sealing, err := vault.New("a text of more than thirty-two characters")
	require.NoError(t, err)
	b.Console, err = New(Console{Gateway: b.Fixture.Gateway, URL: here, Title: "Gate", Vault: sealing, Log: b.Fixture.Log,
		Address: func(*http.Request) string { return "192.0.2.1" },
		API:     manageapi.NewForPeople(func() *gateway.Gateway { return b.Fixture.Gateway }, b.Fixture.Log),
		Issuer: &oidcclient.Provider{Issuer: "https://login.example", ClientID: "console", Client: http.DefaultClient,
			Now: b.Clock.Now},
		Grants: []Grant{
			{Role: "administrator", Emails: []string{ops}},
			{Role: "recruiter", Tenant: "globex", Emails: []string{recruiter}},
			{Role: "operator", Tenant: "acme", Emails: []string{operator}},
			{Role: "viewer", Tenant: "acme", Groups: []string{"acme-viewers"}, Emails: []string{viewer}},
		}})
	require.NoError(t, err)
	b.Fixture.Gateway.PortalLink = b.Console.PortalLink
	return b
}

// send makes a request as somebody who is signed in; empty: nobody is. A form is sent as our own pages send it.
func (b *fixture) send(who, method, path string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, "https://gate.example"+path,
		strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if who != "" {
		b.signedIn(r, "sub-of-"+who, session.Person{Email: who})
	}
	for _, fn := range change {
		fn(r)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// signedIn makes a request one of somebody who has just signed in.
func (b *fixture) signedIn(r *http.Request, subject string, k session.Person) {
	b.t.Helper()
	w := httptest.NewRecorder()
	them := &oidcclient.Account{Subject: subject, Email: k.Email, EmailVerified: k.Email != "", Groups: k.Groups}
	require.NoError(b.t, b.site().Begin(w, r, them, "", b.roleOf))
	r.AddCookie(w.Result().Cookies()[0])
}

// see gets a page, and returns its body.
func (b *fixture) see(who, path string, status int) string {
	b.t.Helper()
	w := b.send(who, http.MethodGet, path, nil)
	require.Equal(b.t, status, w.Code, w.Body)
	h := w.Header()
	require.Equal(b.t, "no-store", h.Get("Cache-Control"))
	require.True(b.t, strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; "))
	require.NotContains(b.t, w.Body.String(), "client=1", "an integration's URL is a credential")
	_, content, _ := strings.Cut(w.Body.String(), "</head>")
	return content
}

// exportsMade counts the exports of all tests.
var exportsMade atomic.Int64

// export puts an export of a tenant into the store, with a delivery of an outcome.
func (b *fixture) export(tenant, key string, outcome model.Outcome, change ...func(*model.Export)) {
	b.t.Helper()
	body := fmt.Sprintf(`{"candidate":{},"zoe@example.com":%q,"key":%q}`, hidden, key)
	e := inbox.NewExport(tenant, key, []byte(body), b.Clock.Now())
	// Ids rise within a process, and another test may be ahead: a list of some hours must find it at its time.
	e.ID = model.FirstID(b.Clock.Now()) + exportsMade.Add(1)
	e.Receipt = model.NewReceipt(e.ID)
	for _, fn := range change {
		fn(e)
	}
	b.Write(b.t, func(tx *store.Tx) error {
		_, err := inbox.Insert(tx, e)
		return err
	})
	b.attempt(e, outcome, 500)
}

// attempt puts the delivery of an export into the store, with an attempt that was answered with a status.
func (b *fixture) attempt(e *model.Export, outcome model.Outcome, status int) {
	b.t.Helper()
	stored, err := b.Runtime.Store().Delivery(b.t.Context(), e.ID, "hris", 0)
	b.Write(b.t, func(tx *store.Tx) error {
		if err := tx.MarkDispatched(e.ID, e.Round, b.Clock.Now(), "hris"); err != nil {
			return err
		}
		d := &model.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: "hris", Outcome: outcome, Attempts: 1, Status: status,
			CreatedAt: b.Clock.Now(), UpdatedAt: b.Clock.Now().Add(161 * time.Second)}
		if err == nil { // since the export was accepted
			d.ID, d.Read = stored.ID, stored.Read
		}
		switch outcome {
		case model.Failed:
			d.Fault, d.Reason = model.ClassPartnerFault, "answered 500; only 2xx means received"
		case model.Retrying:
			d.Fault, d.NextAt = model.ClassPartnerFault, b.Clock.Now().Add(5*time.Minute)
		}
		if err := tx.UpsertDelivery(d); err != nil {
			return err
		}
		failure := ""
		if status >= 300 {
			failure = "answered with a status that does not mean received"
		}
		return tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: b.Clock.Now(), Duration: time.Millisecond,
			Status: status, Error: failure, Answer: []byte("<script>alert(1)</script>"),
			Header:  []byte("X-Html: <script>\nX-Key: <img>\n"),
			Address: "192.0.2.1:443", Phases: model.Phases{DNS: time.Microsecond, FirstByte: time.Microsecond}})
	})
}

func uuid(n int) string { return fmt.Sprintf("4f6e3c48-1111-4222-8333-%012d", n) }
