package gateway

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

// ParseOption reads the global option. Syntax:
//
//	hiregate {
//		dev
//		service_name <name>
//		public_url   <url>
//		database     sqlite:///<path>
//		documents    file:///<path>
//		temporal     <host:port> {
//			namespace <name>
//		}
//		egress allow <cidr> [<port>…]
//		tenant <name> {
//			secret <placeholder>…
//			rate   <n>/s|m|h [burst <n>]
//			integration <name> {
//				url       <url>
//				secret    <placeholder>
//				documents rehost|passthrough
//				retry     <duration>…
//				in_flight <n>
//				verify    off
//			}
//		}
//	}
func ParseOption(d *caddyfile.Dispenser, existing any) (any, error) {
	if existing != nil {
		d.Next()
		return nil, d.Err("hiregate is there twice: put everything into one block")
	}
	p := &parser{Dispenser: d}
	if err := p.option(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(p.app)
	if err != nil {
		return nil, err
	}
	return httpcaddyfile.App{Name: "hiregate", Value: raw}, nil
}

// parser reads the block. Some checks need the whole of it, as what egress allows; they wait for its end, and still name the
// line they are about.
type parser struct {
	*caddyfile.Dispenser
	app   App
	later []func() error
}

// atEnd runs a check at the end of the block; its error names the present line.
func (p *parser) atEnd(check func() error) {
	here := *p.Dispenser
	p.later = append(p.later, func() error {
		if err := check(); err != nil {
			return here.WrapErr(err)
		}
		return nil
	})
}

func (p *parser) option() error {
	p.Next() // the option's name
	if p.NextArg() {
		return p.Err("hiregate takes a block: hiregate { … }")
	}
	for p.NextBlock(0) {
		if err := p.line(); err != nil {
			return err
		}
	}
	for option, value := range map[string]string{"public_url": p.app.PublicURL, "database": p.app.Database, "documents": p.app.Documents} {
		if value == "" {
			return p.Errf("hiregate: %s is missing: see caddyfile/partner.Caddyfile for an example", option)
		}
	}
	for _, check := range p.later {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) line() error {
	switch p.Val() {
	case "dev":
		p.app.Dev = true
		return p.none()
	case "service_name":
		return p.text(&p.app.ServiceName, func(s string) error { _, err := webhook.NamesFor(s); return err })
	case "public_url":
		return p.text(&p.app.PublicURL, checkPublicURL)
	case "database":
		return p.text(&p.app.Database, func(s string) error { _, err := store.Identity(s); return err })
	case "documents":
		return p.text(&p.app.Documents, func(s string) error { _, err := documents.Identity(s); return err })
	case "temporal":
		return p.temporal()
	case "egress":
		return p.egress()
	case "tenant":
		return p.tenant()
	}
	return p.unknown("dev, service_name, public_url, database, documents, temporal, egress or tenant")
}

func (p *parser) unknown(known string) error {
	return p.Errf("%s is unknown here: write %s", p.Val(), known)
}

// text reads a single argument. One with a placeholder is checked when that is resolved.
func (p *parser) text(to *string, check func(string) error) error {
	option := p.Val()
	if *to != "" {
		return p.Errf("%s is there twice", option)
	}
	args := p.RemainingArgs()
	if len(args) != 1 {
		return p.Errf("%s takes one argument", option)
	}
	*to = args[0]
	if strings.Contains(*to, "{") {
		return nil
	}
	if err := check(*to); err != nil {
		return p.WrapErr(err)
	}
	return nil
}

func (p *parser) none() error {
	option := p.Val()
	if p.NextArg() {
		return p.Errf("%s takes no argument", option)
	}
	return nil
}

func (p *parser) temporal() error {
	err := p.text(&p.app.Temporal.Address, func(s string) error {
		if host, port, ok := strings.Cut(s, ":"); !ok || host == "" || port == "" {
			return errors.New("temporal: write its address as host:port, such as temporal.internal:7233")
		}
		return nil
	})
	if err != nil {
		return err
	}
	for nesting := p.Nesting(); p.NextBlock(nesting); {
		if p.Val() != "namespace" {
			return p.unknown("namespace")
		}
		if err := p.text(&p.app.Temporal.Namespace, func(string) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) egress() error {
	args := p.RemainingArgs()
	if len(args) < 2 || args[0] != "allow" {
		return p.Err("egress: write egress allow CIDR, and ports if not all of them, such as egress allow 10.20.0.0/16 8443")
	}
	allow := Allow{CIDR: args[1], Ports: args[2:]}
	if _, err := allow.parse(); err != nil {
		return p.WrapErr(err)
	}
	p.app.Egress = append(p.app.Egress, allow)
	return nil
}

func (p *parser) tenant() error {
	var t Tenant
	if err := p.text(&t.Name, hiring.CheckTenantName); err != nil {
		return err
	}
	for _, other := range p.app.Tenants {
		if other.Name == t.Name {
			return p.Errf("tenant %s is there twice: give each a name of its own", t.Name)
		}
	}
	head := *p.Dispenser
	for nesting := p.Nesting(); p.NextBlock(nesting); {
		if err := p.tenantLine(&t); err != nil {
			return err
		}
	}
	if len(t.Secrets) == 0 {
		return head.Errf("tenant %s has no secret: add secret {env.NAME}", t.Name)
	}
	p.app.Tenants = append(p.app.Tenants, t)
	return nil
}

func (p *parser) tenantLine(t *Tenant) error {
	switch p.Val() {
	case "secret":
		secrets := p.RemainingArgs()
		if len(secrets) == 0 {
			return p.Err("secret takes a placeholder, such as {env.ACME_SECRET}; two during a rotation")
		}
		for _, s := range secrets {
			p.atEnd(func() error { return checkSecret(s, p.app.Dev) })
		}
		t.Secrets = append(t.Secrets, secrets...)
		return nil
	case "rate":
		rate, err := parseRate(p.RemainingArgs())
		if err != nil {
			return p.WrapErr(err)
		}
		t.Rate = rate
		return nil
	case "integration":
		return p.integration(t)
	}
	return p.unknown("secret, rate or integration")
}

func (p *parser) integration(t *Tenant) error {
	var i Integration
	if err := p.text(&i.Name, hiring.CheckIntegrationName); err != nil {
		return err
	}
	for _, other := range t.Integrations {
		if other.Name == i.Name {
			return p.Errf("integration %s is there twice: give each a name of its own", i.Name)
		}
	}
	head := *p.Dispenser
	for nesting := p.Nesting(); p.NextBlock(nesting); {
		if err := p.integrationLine(&i); err != nil {
			return err
		}
	}
	switch {
	case i.URL == "":
		return head.Errf("integration %s has no url: add where its exports go", i.Name)
	case i.Secret == "":
		return head.Errf("integration %s has no secret: add secret {env.NAME}, which signs what is sent there", i.Name)
	}
	t.Integrations = append(t.Integrations, i)
	return nil
}

func (p *parser) integrationLine(i *Integration) error {
	switch p.Val() {
	case "url":
		return p.text(&i.URL, func(s string) error { p.atEnd(func() error { return p.checkURL(s) }); return nil })
	case "secret":
		if err := p.text(&i.Secret, func(string) error { return nil }); err != nil {
			return err
		}
		p.atEnd(func() error { return checkSecret(i.Secret, p.app.Dev) })
		return nil
	case "documents":
		return p.text(&i.Documents, func(s string) error { _, err := hiring.ParseDocumentMode(s); return err })
	case "retry":
		i.Retry = p.RemainingArgs()
		if _, err := webhook.ParseSchedule(i.Retry); err != nil {
			return p.WrapErr(err)
		}
		return nil
	case "in_flight":
		var n string
		return p.text(&n, func(s string) (err error) {
			if i.InFlight, err = strconv.Atoi(s); err != nil || i.InFlight < 1 || i.InFlight > 1000 {
				return errors.New("in_flight takes a number from 1 to 1000")
			}
			return nil
		})
	case "verify":
		var s string
		return p.text(&s, func(s string) error {
			if s != "off" {
				return errors.New("verify takes off, or leave it out")
			}
			i.VerifyOff = true
			return nil
		})
	}
	return p.unknown("url, secret, documents, retry, in_flight or verify")
}

func (p *parser) checkURL(s string) error {
	var policy egress.Policy
	for _, allow := range p.app.Egress {
		allowance, err := allow.parse()
		if err != nil {
			return err
		}
		policy.Allow = append(policy.Allow, allowance)
	}
	return egress.New(policy).CheckURL(s)
}
