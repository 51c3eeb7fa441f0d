package console

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

// A tenant's page says when each secret was last used, and that somebody signs with a wrong one.
func TestSecretsOfATenant(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	text := b.see(viewer, "/tenants/acme", http.StatusOK)
	require.Contains(t, text, "<b>Secret 1</b></span><span class=\"under\">not used yet</span>")
	require.NotContains(t, text, "They were refused")
	acme, ok := b.Fixture.Gateway.Config.Tenant("acme")
	require.True(t, ok)
	b.Runtime.Signatures.Note(acme, 1, b.Clock.Now().Add(-3*time.Minute))
	b.Runtime.Signatures.Note(acme, 0, b.Clock.Now().Add(-2*time.Minute))
	require.NoError(t, b.Runtime.Signatures.Flush(t.Context(), time.Now(), 0))
	text = b.see(viewer, "/tenants/acme", http.StatusOK)
	require.Contains(t, text, "<b>Secret 1</b></span><span class=\"under\">last used 3 min ago</span>")
	require.Contains(t, text, "<dd>1 · the last one 2 min ago</dd>")
	require.Contains(t, text, "Compare the secret in the service")
	require.NotContains(t, text, string(acme.Secrets[0])+"<")
}

// A tenant's page counts what came in, by what became of it: a wrong secret shows there.
func TestRequestsOfATenant(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, result := range []string{"accepted", "signature", "signature"} {
		b.Runtime.Remarks.Received("globex", result, b.Clock.Now().Add(-time.Hour))
	}
	b.Runtime.Remarks.Flush()
	text := b.see(ops, "/tenants/globex", http.StatusOK)
	require.Regexp(t, `<dt>accepted</dt><dd>1</dd>`, text)
	require.Regexp(t, `<dt>refused: wrong signature</dt><dd>2</dd>`, text)
	visitor := b.portal("globex", url.Values{})
	require.NotContains(t, b.send("", http.MethodGet, "/tenants/globex", nil, visitor).Body.String(), "wrong signature")
}

// The start page and the tenant's page name what was refused although it was signed right; the tenant's page also has the
// deviations that were accepted. A partner's link shows neither.
func TestRefusalsAndDeviationsOfATenant(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	at := b.Clock.Now().Add(-3 * time.Minute)
	b.Runtime.Remarks.Refused("acme", "invalid", "required", "/candidate/person/id", at)
	b.Runtime.Remarks.Deviation("acme", "web_array", "/candidate/person/communication/web", at)
	b.Runtime.Remarks.Flush()
	start := b.see(viewer, "/", http.StatusOK)
	require.Contains(t, start, "Exports refused")
	require.Contains(t, start, "required at /candidate/person/id")
	text := b.see(viewer, "/tenants/acme", http.StatusOK)
	require.Contains(t, text, "<dt>refused: breaks the schema</dt>")
	require.Contains(t, text, "<code>/candidate/person/id</code>")
	require.Contains(t, text, "<dt>deviation: web is an array</dt>")
	visitor := b.portal("acme", url.Values{})
	require.NotContains(t, b.send("", http.MethodGet, "/tenants/acme", nil, visitor).Body.String(), "/candidate/person")
}

// The chart of an integration is there in numbers as well.
func TestChartInNumbers(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const hris = "/tenants/acme/integrations/hris"
	require.NotContains(t, b.see(viewer, hris, http.StatusOK), "In numbers")
	b.Write(t, func(tx *store.Tx) error {
		at := model.Place{Tenant: "acme", Integration: "hris"}
		for _, fault := range []model.Class{"", "", model.ClassPartnerFault} {
			tx.CountAttempt(at, 0, &model.Attempt{StartedAt: b.Clock.Now(), Duration: time.Second, Fault: fault})
		}
		return nil
	})
	text := b.see(viewer, hris, http.StatusOK)
	require.Contains(t, text, "In numbers")
	require.Regexp(t, `data-label="Attempts">3</td><td[^>]+>2</td><td[^>]+>1</td>`, text)
	require.Contains(t, text, `aria-label="Attempts of 7 days: 3. Received: 2; not received by the client’s fault: 1;`)
	require.Contains(t, text, ">Attempts of 7 days</h2>")
	day := b.see(viewer, hris+"?days=1", http.StatusOK)
	require.Contains(t, day, ">Attempts of 24 hours</h2>")
	require.Contains(t, day, ">06:00</text>")
	text = b.see(viewer, hris+"?days=90", http.StatusOK)
	require.Contains(t, text, ">Attempts of 90 days</h2>")
	require.Equal(t, 2, strings.Count(text, ` x="99.01%" y=`), "the two parts of the column of today")
	require.Contains(t, b.see(viewer, hris+"?days=9000", http.StatusOK), ">Attempts of 7 days</h2>")
}

// An integration says why it fails, with an example of an export.
func TestCausesOfAnIntegration(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const hris = "/tenants/acme/integrations/hris"
	require.NotContains(t, b.see(viewer, hris, http.StatusOK), "Why it fails")
	b.export("acme", uuid(1), model.Failed)
	text := b.see(viewer, hris, http.StatusOK)
	require.Contains(t, text, "Why it fails")
	require.Contains(t, text, "500 Internal Server Error")
	require.Contains(t, text, `href="/console/exports/acme/`+uuid(1)+`"`)
}

// A test export shows what was sent and what a partner answered, good or bad, but not where its URL leads to.
func TestTrial(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	status, verify := http.StatusNoContent, http.StatusOK
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Service-Event") == webhook.EventVerify {
			w.WriteHeader(verify)
			return
		}
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_, _ = io.WriteString(w, hostile[0])
		}
	}))
	t.Cleanup(partner.Close)
	b.AllowLoopback(t)
	b.Reconfigure(func(c *config.Config) {
		acme, ok := c.Tenant("acme")
		require.True(t, ok)
		acme.Integrations[0].URL, acme.Integrations[0].Verify = partner.URL+"/in?client=1", true
	})
	const test = "/tenants/acme/integrations/hris/test"
	for _, want := range []struct {
		status   int
		sentence string
	}{
		{http.StatusNoContent, "The test export was received."},
		{http.StatusUnprocessableEntity, "The test export was not received."},
	} {
		status = want.status
		w := b.send(ops, http.MethodPost, test, nil)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		text := w.Body.String()
		require.Contains(t, text, want.sentence)
		require.Contains(t, text, fmt.Sprintf("<dt>Answer</dt><dd>%d <span", want.status))
		require.Contains(t, text, "X-Service-Signature")
		require.NotContains(t, text, "client=1")
		require.NotContains(t, text, "<script")
	}
	verify = http.StatusAccepted
	text := b.send(ops, http.MethodPost, test, nil).Body.String()
	require.Contains(t, text, "VERIFY was not answered with 200: the test export was not sent.")
	require.Contains(t, text, "VERIFY was answered 202; it must be exactly 200")
	require.NotContains(t, text, "<dt>UUID</dt>")
	require.Equal(t, http.StatusForbidden, b.send(viewer, http.MethodPost, test, nil).Code)
	require.Equal(t, http.StatusNotFound, b.send(recruiter, http.MethodPost, test, nil).Code)
}

// The page of an integration names others that have its URL, to those who see their tenants.
func TestOneURLForTwoClients(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const hris, sentence = "/tenants/acme/integrations/hris", "Others have the same URL"
	require.NotContains(t, b.see(ops, hris, http.StatusOK), sentence)
	b.Reconfigure(func(c *config.Config) {
		acme, _ := c.Tenant("acme")
		globex, _ := c.Tenant("globex")
		globex.Integrations = []model.Integration{{Tenant: "globex", Name: "crm", URL: acme.Integrations[0].URL, Secret: "s"}}
	})
	require.Regexp(t, sentence+`[^<]*<span class="id">globex/crm</span>`, b.see(ops, hris, http.StatusOK))
	require.NotContains(t, b.see(viewer, hris, http.StatusOK), sentence)
}

// Who operates a tenant has all attempted at once that waits for its next attempt, and sees how many still wait.
func TestTryAllNow(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const hris = "/tenants/acme/integrations/hris"
	require.NotContains(t, b.see(operator, hris, http.StatusOK), hris+"/retry", "nothing waits")
	for n := range 3 {
		b.export("acme", uuid(n+1), model.Retrying)
	}
	b.Clock.Advance(5 * time.Minute)
	require.Contains(t, b.see(operator, hris, http.StatusOK), "<button>Try all now</button>")
	require.NotContains(t, b.see(viewer, hris, http.StatusOK), "Try all now")
	w := b.send(operator, http.MethodPost, hris+"/retry", url.Values{})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	page := b.see(operator, w.Header().Get("Location")[len("/console"):], http.StatusOK)
	require.Contains(t, page, "The oldest is being tried now. The others follow once one is received.")
	require.Contains(t, page, "They are being tried, the oldest first: 3 to go.")
	require.NotContains(t, page, "Try all")

	at := model.Place{Tenant: "acme", Integration: "hris"}
	c, err := b.Runtime.Store().CatchUp(t.Context(), at)
	require.NoError(t, err)
	c.Received, c.Failed, c.Reason, c.EndedAt = 1, 2, "the oldest was answered 503; the other 2 keep their next attempts", time.Now()
	b.Write(t, func(tx *store.Tx) error { _, err := tx.UpdateCatchUp(c, time.Now()); return err })
	page = b.see(operator, hris, http.StatusOK)
	require.Contains(t, page, "1 were received, 2 failed again.")
	require.Contains(t, page, "the oldest was answered 503; the other 2 keep their next attempts")
	require.Contains(t, page, "Try all now")
}
