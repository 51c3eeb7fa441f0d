package app

import (
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestApplyUpstream(t *testing.T) {
	t.Parallel()
	a := app()
	a.Tenants[0].ApplyUpstream = &ApplyUpstream{URL: "https://service.example.com/apply", User: "partner@acme.example",
		Password: "hunter2"}
	c, err := build(a)
	require.NoError(t, err)
	require.Equal(t, &model.ApplyUpstream{URL: "https://service.example.com/apply", User: "partner@acme.example",
		Password: "hunter2", Wait: 5 * time.Second, TryFor: 7 * 24 * time.Hour, Keep: 7 * 24 * time.Hour,
		Rate: model.Rate{PerSecond: 5, Burst: 10}}, c.Tenants["acme"].ApplyUpstream)
	wait, keep := caddy.Duration(0), caddy.Duration(time.Hour)
	a.Tenants[0].ApplyUpstream.Wait, a.Tenants[0].ApplyUpstream.Keep = &wait, &keep
	a.Tenants[0].ApplyUpstream.TryFor, a.Tenants[0].ApplyUpstream.Rate = caddy.Duration(2*time.Hour), &Rate{1, 2}
	a.Tenants[0].ApplyUpstream.Source = "Acme careers"
	c, err = build(a)
	require.NoError(t, err)
	u := c.Tenants["acme"].ApplyUpstream
	require.Zero(t, u.Wait)
	require.Equal(t, time.Hour, u.Keep)
	require.Equal(t, 2*time.Hour, u.TryFor)
	require.Equal(t, model.Rate{PerSecond: 1, Burst: 2}, u.Rate)
	require.Equal(t, "Acme careers", u.Source)
}

func TestApplyUpstreamIsChecked(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*ApplyUpstream){
		"the URL can't be read": func(u *ApplyUpstream) { u.URL = "apply" },
		"plain http":            func(u *ApplyUpstream) { u.URL = "http://service.example.com/apply" },
		"has a query":           func(u *ApplyUpstream) { u.URL += "?a=b" },
		"apply_upstream needs":  func(u *ApplyUpstream) { u.User = "" },
		"try_for is how long":   func(u *ApplyUpstream) { u.TryFor = caddy.Duration(time.Minute) },
		"has no value":          func(u *ApplyUpstream) { u.Password = "{env.GATEWAY_TEST_NOT_SET}" },
		"feed: the URL has no":  func(u *ApplyUpstream) { u.Feed = "https://service.example.com" },
		"a rate is how many":    func(u *ApplyUpstream) { u.Rate = &Rate{0, 1} },
	} {
		a := app()
		u := ApplyUpstream{URL: "https://service.example.com/apply", User: "partner@acme.example", Password: "hunter2"}
		change(&u)
		a.Tenants[0].ApplyUpstream = &u
		_, err := build(a)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// parseUpstream reads the option of a tenant from a Caddyfile.
func parseUpstream(option string) (*Tenant, error) {
	d := caddyfile.NewTestDispenser("hiregate {\npublic_url https://gate.example.com\ndatabase sqlite:///x.db\n" +
		"documents file:///x\ntenant acme {\nsecret {env.S}\n" + option + "\n}\n}")
	p := &parser{Dispenser: d}
	if err := p.option(); err != nil {
		return nil, err
	}
	return &p.app.Tenants[0], nil
}

func TestApplyUpstreamIsRead(t *testing.T) {
	t.Parallel()
	const begin, end = "apply_upstream https://service.example.com/apply {\nuser partner@acme.example\npassword {env.P}\n", "\n}"
	tenant, err := parseUpstream(begin + "source \"Acme careers\"\nwait 5s\ntry_for 7d\nkeep 30d\nrate 5/s burst 10\nfeed https://service.example.com/jobs.json?of=acme" + end)
	require.NoError(t, err)
	wait, keep := caddy.Duration(5*time.Second), caddy.Duration(30*24*time.Hour)
	require.Equal(t, &ApplyUpstream{URL: "https://service.example.com/apply", User: "partner@acme.example", Password: "{env.P}",
		Source: "Acme careers", Wait: &wait, TryFor: caddy.Duration(7 * 24 * time.Hour), Keep: &keep, Rate: &Rate{5, 10},
		Feed: "https://service.example.com/jobs.json?of=acme"},
		tenant.ApplyUpstream)
	for option, want := range map[string]string{
		begin + "try_for soon" + end:                                          `"soon" is no duration: write, for example, 7d`,
		begin + "try_for 15d" + end:                                           "try_for is how long",
		begin + "wait 1m" + end:                                               "wait is how long",
		begin + "keep 1y" + end:                                               "is no duration",
		begin + "feed http://10.1.2.3/jobs" + end:                             "feed: ",
		begin + "colour red" + end:                                            "colour is unknown here: write user",
		"apply_upstream https://service.example.com/apply {\nuser a\n}":       "add `password",
		"apply_upstream http://10.1.2.3/apply {\nuser a\npassword {env.P}\n}": "10.1.2.3",
	} {
		_, err := parseUpstream(option)
		require.ErrorContains(t, err, want, option)
		require.ErrorContains(t, err, "Testfile:", option)
	}
}
