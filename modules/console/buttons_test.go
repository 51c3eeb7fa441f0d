package console

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Each button of each page is pressed as everybody: who is shown it may press it, and whom the API or the console refuses
// is not shown it. The table is that of the routes: each of their forms is among the buttons.
func TestEachButtonIsForThoseWhoMayPressIt(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	own, ofLabel := "own@example.com", "label@example.com"
	b.Console.Grants = []Grant{{Role: "administrator", Emails: []string{ops}}, {Role: "operator", Emails: []string{operator}},
		{Role: "administrator", Tenant: "initech", Emails: []string{own}}, {Role: "viewer", Emails: []string{viewer}},
		{Role: recruiterRole, Emails: []string{recruiter}},
		{Role: "operator", Labels: model.Labels{"region": "north"}, Emails: []string{ofLabel}}}
	system := b.busy()
	b.post(ops, "/tenants/initech/labels", url.Values{"labels": {"region=north"}}, http.StatusSeeOther)
	portal := b.portal("initech", url.Values{"bodies": {"yes"}})
	everybody := []struct { // those first who change least for the others
		who   string
		enter []func(*http.Request)
	}{{viewer, nil}, {"", []func(*http.Request){portal}}, {recruiter, nil}, {operator, nil}, {ofLabel, nil}, {own, nil}, {ops, nil}}

	hasty := func(r *http.Request) {
		ctx, end := context.WithTimeout(r.Context(), 200*time.Millisecond)
		t.Cleanup(end)
		*r = *r.WithContext(ctx)
	}
	all, shown := map[string]button{}, map[string]map[string]button{}
	for _, they := range everybody {
		shown[they.who] = b.buttons(they.who, system, they.enter...)
		maps.Copy(all, shown[they.who])
	}
	for _, they := range everybody {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			one, seen := shown[they.who][name]
			if !seen {
				one = all[name]
			}
			change := they.enter
			if seen && strings.HasPrefix(name, "/candidates/") && strings.HasSuffix(name, "/exports") {
				change = append(slices.Clone(change), hasty) // the page waits for the first attempt
			}
			w := b.send(they.who, http.MethodPost, one.path, one.form, change...)
			if seen {
				require.NotEqual(t, http.StatusForbidden, w.Code, "%q is shown %s: %s", they.who, name, w.Body)
			} else {
				require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound}, w.Code, "%q is not shown %s", they.who, name)
			}
		}
	}
	var missing []string
	for _, to := range routes {
		if strings.HasPrefix(to.pattern, "POST ") && !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(one button) bool {
			_, pattern := b.mux.Handler(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: one.path}})
			return strings.Replace(pattern, inPath, "", 1) == to.pattern
		}) {
			missing = append(missing, to.pattern)
		}
	}
	require.Equal(t, []string{"POST /causes/{cause}/count", // of one that was acknowledged
		"POST /candidates/{tenant}/{id}/applications/{application}/choose", // of one that came twice
	}, missing, "no page has a button for these")
}

// busy fills the gateway with something of each kind, at initech, and returns the address of initech's system.
func (b *fixture) busy() (system string) {
	b.t.Helper()
	b.AllowLoopback(b.t)
	b.initech()
	server, form := receiver(b.t, "", http.StatusOK)
	server.Start()
	system = server.URL + "/in"
	form.Set("url", system)
	form.Del("do")
	b.post(ops, "/connect/initech/2", form, http.StatusSeeOther)
	for n, outcome := range []model.Outcome{model.Failed, model.Retrying, model.Delivered} {
		b.export("initech", uuid(n), outcome, func(e *model.Export) { e.CandidateID = "c-1" })
	}
	b.export("initech", uuid(3), model.Held, func(e *model.Export) { e.Quarantined, e.Findings = true, []byte(`[]`) })
	nowhere := b.Export(b.t, "initech", uuid(5))
	b.Write(b.t, func(tx *store.Tx) error {
		return tx.InsertDocument(model.Document{ExportID: nowhere.ID, Tenant: "initech", CreatedAt: b.Clock.Now()})
	})
	b.candidate("initech", "c-1", "Zoë")
	b.candidate("initech", "c-2", "Ada")
	b.post(ops, "/candidates/initech/c-2/applications/a-c-2/end", url.Values{"as": {"hired"}}, http.StatusSeeOther)
	b.job("initech", "NURSE-1", "Nurse")
	b.user("ada")
	b.client("payroll")
	b.submitted("s-1")
	b.post(ops, "/tenants/acme/integrations/hris/disable", nil, http.StatusSeeOther)
	for _, secret := range []string{"a secret of the service", "another of its secrets"} {
		b.post(ops, "/tenants/initech/secrets", url.Values{"secret": {secret}}, http.StatusSeeOther)
	}
	b.post(ops, "/tenants/initech/secrets/1/end", url.Values{"at": {b.Clock.Now().Add(time.Hour).Format(fieldTime)}}, http.StatusSeeOther)
	b.post(ops, "/tenants/initech/subscriptions", url.Values{"name": {"ats"}, "url": {"https://ats.example/events"},
		"secret": {"0123456789abcdef"}}, http.StatusSeeOther)
	b.post(ops, "/steps/initech/hired/helper", url.Values{"integration": {"hris"}}, http.StatusSeeOther)
	b.Write(b.t, func(tx *store.Tx) error {
		return tx.UpsertTenant(&model.Tenant{Name: "umbrella", ApplyUpstream: &model.ApplyUpstream{URL: system, User: "partner",
			Password: "p", TryFor: model.DefaultTryFor, Rate: model.DefaultUpstreamRate}}, b.Clock.Now())
	})
	require.NoError(b.t, b.Runtime.Directory.Refresh(b.t.Context()))
	b.Clock.Advance(time.Minute)
	require.NoError(b.t, b.admin().post("/v1/tenants/initech/redeliveries", &api.RedeliveryInput{Integration: "hris",
		Mode: model.RedeliverAll, Since: b.Clock.Now().Add(-time.Hour)}, nil))

	d := b.Delivery(b.t, b.Export(b.t, "initech", uuid(4)), "hris", model.Retrying)
	d.Attempts, d.Fault = 1, model.ClassPartnerFault
	a := &model.Attempt{DeliveryID: d.ID, Status: 503, StartedAt: b.Clock.Now(), Fault: model.ClassPartnerFault,
		Error: "answered 503; only 2xx means received"}
	_, hash := model.NewAPIKey()
	b.Write(b.t, func(tx *store.Tx) error {
		for range model.FailingAfter {
			tx.CountAttempt(model.Place{Tenant: "initech", Integration: "hris"}, d.ExportID, a)
		}
		if err := tx.InsertAttempt(a); err != nil {
			return err
		}
		if err := tx.UpsertDelivery(d); err != nil {
			return err
		}
		return tx.InsertAPIKey(&model.APIKey{ID: "k-1", Label: "their key", Tenant: "initech", Role: model.Viewer,
			CreatedAt: b.Clock.Now()}, hash)
	})
	return system
}

// button is a button that changes something, with the form that it sends.
type button struct {
	path string // below the console's address
	form url.Values
}

// buttons returns the buttons of all pages that somebody is led to, by their address and what tells those of a form apart.
// What a form requires is filled in, with system where it asks for an address.
func (b *fixture) buttons(who, system string, enter ...func(*http.Request)) map[string]button {
	b.t.Helper()
	found, seen := map[string]button{}, map[string]bool{}
	queue := []string{"/", "/exports", "/connect/initech/1", "/connect/initech/2", "/connect/initech/3", "/connect/umbrella/2",
		"/submissions?tenant=acme",
		"/candidates?tenant=initech", "/jobs?tenant=initech", "/tenants/initech/new-integration",
		"/redeliveries?" + url.Values{"preview": {"yes"}, "to": {"initech/hris"}, "mode": {"all"},
			"since": {b.Clock.Now().Add(-time.Hour).Format(fieldTime)}}.Encode()}
	for n := 0; n < len(queue); n++ {
		w := b.send(who, http.MethodGet, queue[n], nil, enter...)
		led := []string{w.Header().Get("Location")}
		page, err := html.Parse(w.Body)
		require.NoError(b.t, err)
		for e := range page.Descendants() {
			switch {
			case e.Data == "a":
				led = append(led, attribute(e, "href"))
			case e.Data == "form" && attribute(e, "method") == "post":
				path, _, _ := strings.Cut(strings.TrimPrefix(attribute(e, "action"), "/console"), "#")
				form, names := fields(e, system)
				for _, name := range names {
					one := button{path, maps.Clone(form)}
					if name != "" {
						one.form.Set("do", name)
					}
					found[strings.TrimSuffix(strings.TrimPrefix(path, "/in/initech")+"?"+name, "?")] = one
				}
			}
		}
		for _, to := range led {
			to, inside := strings.CutPrefix(to, "/console/")
			_, query, _ := strings.Cut(to, "?")
			if inside && !seen[to] && (query == "" || query == "tenant=initech") {
				seen[to] = true
				queue = append(queue, "/"+to)
			}
		}
		require.Less(b.t, len(queue), 200)
	}
	return found
}

// fields returns what a form sends as it is, and the values of do of its buttons: those with that name do different things.
func fields(form *html.Node, system string) (sent url.Values, do []string) {
	sent = url.Values{}
	required := map[string]string{"url": system, "email": "somebody@example.com", "number": "1"}
	for e := range form.Descendants() {
		name, kind, value := attribute(e, "name"), attribute(e, "type"), attribute(e, "value")
		switch {
		case name == "version": // others change the same
		case e.Data == "button" && (name == "" || name == "do"):
			do = append(do, value)
		case e.Data == "input" && (kind == "checkbox" || kind == "radio"):
			if has(e, "checked") || has(e, "required") {
				sent.Add(name, value)
			}
		case e.Data == "input" && has(e, "required"):
			sent.Add(name, cmp.Or(value, required[kind], "x"))
		case e.Data == "input" && kind != "file":
			sent.Add(name, value)
		case e.Data == "textarea" && e.FirstChild != nil:
			sent.Add(name, e.FirstChild.Data)
		case e.Data == "select":
			var chosen *html.Node
			for o := range e.Descendants() {
				if o.Data == "option" && (chosen == nil || has(o, "selected")) {
					chosen = o
				}
			}
			if chosen != nil {
				sent.Add(name, attribute(chosen, "value"))
			}
		}
	}
	return sent, do
}

func has(e *html.Node, name string) bool {
	return slices.ContainsFunc(e.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func attribute(e *html.Node, name string) string {
	for _, a := range e.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
