package app

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/relay"
)

// ApplyUpstream is the Apply API of a service.
type ApplyUpstream struct {
	// URL is the address that /v2/authentication is below.
	URL  string `json:"url"`
	User string `json:"user"`
	// Password is a placeholder.
	Password string `json:"password"`
	// Source is the source of applications that name none. Default: none.
	Source string `json:"source,omitempty"`
	// Wait is how long a partner's site waits for the service's own answer. Default: 5s.
	Wait *caddy.Duration `json:"wait,omitempty"`
	// TryFor is how long an application is sent again while the service is away. Default: 7d.
	TryFor caddy.Duration `json:"try_for,omitempty"`
	// Keep is how long the content of a delivered application is kept. Default: 7d.
	Keep *caddy.Duration `json:"keep,omitempty"`
	// Rate limits what is sent to the service. Default: 5/s burst 10.
	Rate *Rate `json:"rate,omitempty"`
	// Feed is the address of the service's job feed, which has the jobs' titles. Default: none, and forms show the codes.
	Feed string `json:"feed,omitempty"`
}

const exampleApplyURL = "https://service.example.com/apply"

func (u *ApplyUpstream) complete() error {
	return incomplete("apply_upstream", required{"user", u.User, "partner@acme.example"},
		required{"password", u.Password, "{env.ACME_APPLY_PASSWORD}"})
}

func (u *ApplyUpstream) build(resolve resolve, dev bool, guard *egress.Guard) (*model.ApplyUpstream, error) {
	if u == nil {
		return nil, nil
	}
	built := &model.ApplyUpstream{Wait: model.DefaultUpstreamWait, Keep: model.DefaultKeep,
		TryFor: cmp.Or(time.Duration(u.TryFor), model.DefaultTryFor), Rate: model.DefaultUpstreamRate}
	if u.Wait != nil {
		built.Wait = time.Duration(*u.Wait)
	}
	if u.Keep != nil {
		built.Keep = time.Duration(*u.Keep)
	}
	if u.Rate != nil {
		built.Rate = model.Rate(*u.Rate)
	}
	for _, one := range []struct {
		option, written string
		to              *string
	}{{"apply_upstream", u.URL, &built.URL}, {"user", u.User, &built.User}, {"source", u.Source, &built.Source},
		{"feed", u.Feed, &built.Feed}} {
		var err error
		if *one.to, err = resolve(one.written); err != nil {
			return nil, Unset(one.option, err)
		}
	}
	err := cmp.Or(relay.ValidateURL(built.URL, guard), relay.ValidateFeed(built.Feed, guard))
	if err != nil {
		return nil, err
	}
	if built.Password, err = secretFrom(u.Password, dev, resolve); err != nil {
		return nil, fmt.Errorf("password: %w", err)
	}
	return built, nil
}

// applyUpstream reads the option of a tenant. Syntax:
//
//	apply_upstream <url> {
//		user     <name>
//		password <placeholder>
//		source   <text>
//		wait     <duration>
//		try_for  <days>
//		keep     <days>
//		rate     <n>/s|m|h [burst <n>]
//		feed     <url>
//	}
func (p *parser) applyUpstream(t *Tenant) (err error) {
	u := new(ApplyUpstream)
	if u.URL, err = p.text(exampleApplyURL+" { … }", p.guarded(relay.ValidateURL)); err != nil {
		return err
	}
	head := *p.Dispenser
	if err := p.block(func() error { return p.upstreamLine(u) }); err != nil {
		return err
	}
	p.complete(head, u.complete())
	t.ApplyUpstream = u
	return nil
}

// guarded returns a check of an address that is made once all of egress is known.
func (p *parser) guarded(check func(string, *egress.Guard) error) func(string) error {
	return func(s string) error {
		p.atEnd(func() error {
			policy, err := policyOf(p.app.Egress)
			if err != nil {
				return err
			}
			return check(s, egress.New(policy))
		})
		return nil
	}
}

func (p *parser) upstreamLine(u *ApplyUpstream) (err error) {
	option := p.Val()
	switch option {
	case "user":
		u.User, err = p.text("partner@acme.example", anything)
	case "password":
		u.Password, err = p.word("{env.ACME_APPLY_PASSWORD}", anything)
		secret := u.Password
		p.atEnd(func() error { return checkSecret(secret, p.app.Dev) })
	case "source":
		u.Source, err = p.text(`"Acme careers"`, anything)
	case "wait":
		u.Wait, err = p.span("5s", func(m *model.ApplyUpstream, d time.Duration) { m.Wait = d })
	case "try_for":
		var d *caddy.Duration
		if d, err = p.span("7d", func(m *model.ApplyUpstream, d time.Duration) { m.TryFor = d }); err == nil {
			u.TryFor = *d
		}
	case "keep":
		u.Keep, err = p.span("30d", func(m *model.ApplyUpstream, d time.Duration) { m.Keep = d })
	case "rate":
		if u.Rate, err = ParseRate(p.RemainingArgs()); err != nil {
			return p.WrapErr(err)
		}
	case "feed":
		u.Feed, err = p.text("https://service.example.com/feed/jobs.json", p.guarded(relay.ValidateFeed))
	default:
		return p.unknown("user, password, source, wait, try_for, keep, rate or feed")
	}
	if err != nil {
		return err
	}
	return p.noBlock(option)
}

// span reads a duration, which may be in days, and checks it among sound settings.
func (p *parser) span(example string, set func(*model.ApplyUpstream, time.Duration)) (*caddy.Duration, error) {
	var d time.Duration
	_, err := p.word(example, func(s string) (err error) {
		if d, err = parseSpan(s); err != nil {
			return fmt.Errorf("%q is no duration: write, for example, %s", s, example)
		}
		m := &model.ApplyUpstream{URL: exampleApplyURL, User: "user", Password: "password",
			TryFor: model.DefaultTryFor, Rate: model.DefaultUpstreamRate}
		set(m, d)
		return m.Validate()
	})
	return (*caddy.Duration)(&d), err
}

func parseSpan(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}
