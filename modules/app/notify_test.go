package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// Who is to be notified of all tenants comes with the block's options, who of one with those of the tenant.
func TestNotify(t *testing.T) {
	t.Parallel()
	a := app()
	a.Egress = []Allow{{CIDR: "10.20.0.0/16"}}
	a.Notify = []Notify{{URL: "https://ops.example.com/all", Secret: "s", FormerSecret: "before"}}
	a.Tenants[0].Notify = []Notify{
		{URL: "https://ops.example.com/all", Secret: "s", Events: []string{"exports.failed"}, Labels: []string{"region=north"}},
		{URL: "http://10.20.1.1:8080/hook", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
	}
	c, err := build(a)
	require.NoError(t, err)
	require.ElementsMatch(t, []model.Subscriber{
		{URL: "https://ops.example.com/all", Secret: "s", FormerSecret: "before"},
		{Tenant: "acme", URL: "https://ops.example.com/all", Secret: "s", Events: []model.Event{model.ExportsFailed}, Labels: model.Labels{"region": "north"}},
		{Tenant: "acme", URL: "http://10.20.1.1:8080/hook", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
	}, c.Subscribers)
}

func TestNotifyIsChecked(t *testing.T) {
	t.Parallel()
	good := Notify{URL: "https://ops.example.com/hook", Secret: "s"}
	for want, change := range map[string]func(*App, *Notify){
		"add `secret":               func(_ *App, n *Notify) { n.Secret = "" },
		"the URL can't be read":     func(_ *App, n *Notify) { n.URL = "ops" },
		"plain http":                func(_ *App, n *Notify) { n.URL = "http://ops.example.com/hook" },
		"no identifier":             func(_ *App, n *Notify) { n.URL = "https://ops.example.com" },
		"is unknown: write some of": func(_ *App, n *Notify) { n.Events = []string{"integration.failed"} },
		"is there twice: write it once": func(_ *App, n *Notify) {
			n.Events = []string{"exports.failed", "exports.failed"}
		},
		"the former secret is the secret":     func(_ *App, n *Notify) { n.FormerSecret = "s" },
		"not standard base64":                 func(_ *App, n *Notify) { n.FormerSecret = "whsec_*" },
		"label \"north=\" is none":            func(_ *App, n *Notify) { n.Labels = []string{"north"} },
		"a secret must be a placeholder":      func(a *App, _ *Notify) { a.Dev = false },
		"notify: the same URL is there twice": func(a *App, _ *Notify) { a.Notify = append(a.Notify, good) },
		"has no value":                        func(_ *App, n *Notify) { n.Secret = "{env.GATEWAY_TEST_NOT_SET}" },
	} {
		a, n := app(), good
		change(a, &n)
		a.Notify = append(a.Notify, n)
		_, err := build(a)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "/hook", "the rest of a URL may be a credential")
	}
}
