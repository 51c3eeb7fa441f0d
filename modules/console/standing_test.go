package console

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/notify"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// Of an integration each place says what the API says, in each of its states.
func TestEachPlaceSaysTheStateOfTheAPI(t *testing.T) {
	t.Parallel()
	const partner, data = model.ClassPartnerFault, model.ClassDataFault
	verified := store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon.Add(-time.Hour)}
	disabled := store.IntegrationStatus{State: model.Disabled, ByOperator: true, Reason: "an operator disabled it",
		UpdatedAt: gatewaytest.Noon.Add(-time.Hour)}
	for name, c := range map[string]struct {
		status   store.IntegrationStatus // without a state: nothing is stored
		attempts []model.Class
		held     bool // an export is
		state    string
		need     model.NeedKind // empty: nothing needs anybody
		told     model.Event    // empty: nothing is told
	}{
		"received an export": {status: verified, attempts: []model.Class{partner, ""}, state: "configured"},
		"never sent":         {status: verified, state: "unproven"},
		"failed at first":    {status: verified, attempts: []model.Class{partner}, state: "unproven"},
		"fails": {status: verified, attempts: []model.Class{"", partner, partner, partner}, state: "failing",
			need: model.NeedFailing, told: model.IntegrationFailing},
		"never received, and fails": {status: verified, attempts: []model.Class{partner, partner, partner}, state: "failing",
			need: model.NeedFailing, told: model.IntegrationFailing},
		"refuses": {status: verified, attempts: []model.Class{data, data, data, data, data, data, data, data, data, data},
			state: "refusing", need: model.NeedRefusing, told: model.IntegrationRefusing},
		"not verified": {state: "not_configured", need: model.NeedNotConfigured},
		"not verified any more": {attempts: []model.Class{"", partner, partner, partner}, state: "not_configured",
			need: model.NeedNotConfigured},
		"disabled": {status: disabled, attempts: []model.Class{""}, state: "disabled", told: model.IntegrationDisabled},
		"disabled while it failed": {status: disabled, attempts: []model.Class{"", partner, partner, partner},
			state: "disabled", told: model.IntegrationDisabled},
		"disabled, and holds an export": {status: disabled, attempts: []model.Class{""}, held: true, state: "disabled",
			need: model.NeedDisabled, told: model.IntegrationDisabled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			i, _ := b.Config.Integration("acme", "hris")
			i.Verify = true
			b.export("acme", uuid(1), model.Delivered)
			if c.held {
				b.export("acme", uuid(2), model.Held)
			}
			b.Write(t, func(tx *store.Tx) error {
				for n, fault := range c.attempts {
					tx.CountAttempt(model.Place{Tenant: "acme", Integration: "hris"}, int64(n), &model.Attempt{Fault: fault,
						Status: 422, StartedAt: b.Clock.Now().Add(time.Duration(n) * time.Second), Error: "no connection could be made"})
				}
				if c.status.State == "" {
					return nil
				}
				return tx.UpsertIntegrationStatus(i, c.status)
			})
			b.Clock.Advance(time.Minute)

			var h api.IntegrationHealth
			person := &visitor{Request: request(t), console: b.Console, person: model.Person{ID: "p", Role: model.Admin}}
			require.NoError(t, person.get("/v1/tenants/acme/integrations/hris/health", nil, &h))
			require.Equal(t, c.state, h.State)
			if c.need == "" {
				require.Nil(t, h.Need)
			} else {
				require.Equal(t, c.need, h.Need.Kind)
			}
			b.requireOnPages(t, &h)
			b.requireOnCommandLine(t, &h)

			subscribed := *b.Config // the gateway's own notifier reads that one
			subscribed.Subscribers = []model.Subscriber{{URL: "https://ops.example/hook", Secret: "s"}}
			inForce := new(config.InForce)
			inForce.Push(&subscribed)
			n := notify.Notifier{Store: b.Runtime.Store(), InForce: inForce, Now: b.Clock.Now, Log: zap.NewNop()}
			require.NoError(t, n.Look(t.Context()))
			active, err := b.Runtime.Store().ActiveConditions(t.Context())
			require.NoError(t, err)
			delete(active, store.Condition{Place: model.Place{Tenant: "acme", Integration: "hris"}, Event: model.IntegrationHeld})
			told := map[store.Condition]bool{}
			if c.told != "" {
				told[store.Condition{Place: model.Place{Tenant: "acme", Integration: "hris"}, Event: c.told}] = true
			}
			require.Equal(t, told, active)
		})
	}
}

var tag = regexp.MustCompile(`<[^>]*>`)

// read returns what a page says, without its markup.
func (b *fixture) read(who, path string, change ...func(*http.Request)) string {
	b.t.Helper()
	w := b.send(who, http.MethodGet, path, nil, change...)
	require.Equal(b.t, http.StatusOK, w.Code, w.Body)
	_, content, _ := strings.Cut(w.Body.String(), "</head>")
	return html.UnescapeString(tag.ReplaceAllString(content, ""))
}

// requireOnPages compares the pages with the API, for those who work here and for the partner, in each language.
func (b *fixture) requireOnPages(t *testing.T, h *api.IntegrationHealth) {
	t.Helper()
	visitor := b.portal("acme", url.Values{})
	for _, words := range translations {
		in := func(r *http.Request) { r.Header.Set("Accept-Language", words.Lang) }
		p := view{texts: words, frame: frame{}, Now: b.Clock.Now().UTC()}
		since := ""
		if (h.State == model.Failing || h.State == model.Refusing || h.State == string(model.Disabled)) && !h.Since.IsZero() {
			said, err := p.T("SinceClock")
			require.NoError(t, err)
			since = " " + said + " " + p.clock(h.Since)
		}
		start := b.read(ops, "/", in)
		if h.Need == nil {
			require.Contains(t, start, words.all["NeedYouNone"])
			rest, err := p.Many("Rest_"+h.State, 1)
			require.NoError(t, err)
			all, err := p.T("RestAll", "states", rest)
			require.NoError(t, err)
			require.Contains(t, start, all)
		} else {
			require.Contains(t, start, words.all["NeedYouOne"])
			require.Contains(t, start, p.Word("need", h.Need.Kind)+since)
			require.NotContains(t, start, strings.TrimSuffix(words.all["RestAll"], "{states}."))
		}
		require.Contains(t, start, p.Word("state", h.State), "in its table")
		require.Contains(t, b.read(ops, "/integrations", in), p.Word("state", h.State))
		const hris = "/tenants/acme/integrations/hris"
		require.Contains(t, b.read(ops, hris, in), "acme / hris: "+p.Word("state", h.State)+since)
		you := words.forPartner()
		require.Contains(t, b.read("", "/tenants/acme", visitor, in), you.Word("state", h.State))
		require.Contains(t, b.read("", hris, visitor, in), "acme / hris: "+you.Word("state", h.State)+since)
	}
}

// requireOnCommandLine compares what commands write with the API.
func (b *fixture) requireOnCommandLine(t *testing.T, h *api.IntegrationHealth) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/hiregate/", http.StripPrefix("/hiregate",
		manageapi.New(func() *gateway.Gateway { return b.Fixture.Gateway }, b.Fixture.Log)))
	server := httptest.NewServer(mux)
	defer server.Close()
	at := []string{"--admin", strings.TrimPrefix(server.URL, "http://")}
	status, _, err := clitest.Run(t.Context(), admin.Status(), at...)
	require.NoError(t, err)
	if h.Need == nil {
		require.Contains(t, status, "Nothing needs you.")
	} else {
		require.Contains(t, status, h.Need.Sentence)
	}
	row := regexp.MustCompile(`(?m)^acme/hris +` + h.State + ` `)
	require.Regexp(t, row, status)
	list, _, err := clitest.Run(t.Context(), admin.Integration(), append([]string{"list", "acme"}, at...)...)
	require.NoError(t, err)
	require.Regexp(t, row, list)
	one, _, err := clitest.Run(t.Context(), admin.Integration(), append([]string{"show", "acme/hris"}, at...)...)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^state +`+h.State+`$`, one)
	if !h.Since.IsZero() {
		require.Regexp(t, `(?m)^since +`+h.Since.UTC().Format(time.RFC3339), one)
	}
}
