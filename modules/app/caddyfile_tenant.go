package app

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
)

func (p *parser) tenant() (err error) {
	var t Tenant
	if t.Name, err = p.word("acme { … }", model.ValidateTenantName); err != nil {
		return err
	}
	for _, other := range p.app.Tenants {
		if other.Name == t.Name {
			return p.Errf("tenant %s is there twice: give each a name of its own", t.Name)
		}
	}
	t.Source = fmt.Sprintf("%s:%d", filepath.Base(p.File()), p.Line())
	head := *p.Dispenser
	if err := p.block(func() error { return p.tenantLine(&t) }, "secret", "notify", "integration"); err != nil {
		return err
	}
	p.complete(head, t.complete())
	p.app.Tenants = append(p.app.Tenants, t)
	return nil
}

func (p *parser) tenantLine(t *Tenant) (err error) {
	switch p.Val() {
	case "secret":
		secrets := p.RemainingArgs()
		if len(secrets) == 0 {
			return p.Err("secret takes a placeholder, and two during a rotation: write, for example, `secret {env.ACME_SECRET}`")
		}
		for _, s := range secrets {
			if s == "" {
				return p.Err("secret is empty: write a placeholder, for example `secret {env.ACME_SECRET}`")
			}
			p.atEnd(func() error { return checkSecret(s, p.app.Dev) })
		}
		t.Secrets = append(t.Secrets, secrets...)
		return p.noBlock("secret")
	case "rate":
		if t.Rate, err = ParseRate(p.RemainingArgs()); err != nil {
			return p.WrapErr(err)
		}
		return p.noBlock("rate")
	case "invalid":
		if t.Invalid, err = p.word("quarantine",
			func(s string) error { _, err := model.ParseInvalid(s); return err }); err != nil {
			return err
		}
		return p.noBlock("invalid")
	case "deviations":
		if t.Deviations, err = p.word("refuse",
			func(s string) error { _, err := model.ParseDeviations(s); return err }); err != nil {
			return err
		}
		return p.noBlock("deviations")
	case "open_applications":
		if _, err = p.word("100", func(s string) (err error) {
			t.OpenApplications, err = parseOpenApplications(s)
			return err
		}); err != nil {
			return err
		}
		return p.noBlock("open_applications")
	case "retention":
		return p.retentionOf(t)
	case "zone":
		if t.Zone, err = p.word("America/Los_Angeles", model.ValidateZone); err != nil {
			return err
		}
		return p.noBlock("zone")
	case "labels":
		if t.Labels, err = p.labels(t.Labels); err != nil {
			return err
		}
		return p.noBlock("labels")
	case "notify":
		return p.notify(&t.Notify)
	case "integration":
		return p.integration(t)
	case "apply_upstream":
		return p.applyUpstream(t)
	}
	return p.unknown("secret, rate, invalid, deviations, open_applications, retention, zone, labels, notify, integration or apply_upstream")
}

func (p *parser) integration(t *Tenant) (err error) {
	var i Integration
	if i.Name, err = p.word("hris { … }", model.ValidateIntegrationName); err != nil {
		return err
	}
	for _, other := range t.Integrations {
		if other.Name == i.Name {
			return p.Errf("integration %s is there twice: give each a name of its own", i.Name)
		}
	}
	head := *p.Dispenser
	if err := p.block(func() error { return p.integrationLine(&i) }, "header"); err != nil {
		return err
	}
	p.complete(head, i.complete())
	t.Integrations = append(t.Integrations, i)
	return nil
}

func (p *parser) integrationLine(i *Integration) (err error) {
	if known, err := p.authentication(i); known {
		return err
	}
	option := p.Val()
	switch option {
	case "url":
		i.URL, err = p.text(exampleURL, func(s string) error { p.atEnd(func() error { return p.checkURL(s) }); return nil })
	case "secret":
		i.Secret, i.FormerSecret, err = p.secrets("{env.ACME_HRIS_SECRET}")
	case "documents":
		i.Documents, err = p.word("rehost", func(s string) error { _, err := model.ParseDocumentMode(s); return err })
	case "retry":
		i.Retry = p.RemainingArgs()
		if _, err := model.ParseSchedule(i.Retry); err != nil {
			return p.WrapErr(err)
		}
	case "in_flight":
		_, err = p.word("32", func(s string) (err error) { i.InFlight, err = parseInFlight(s); return err })
	case "rate":
		if i.Rate, err = ParseRate(p.RemainingArgs()); err != nil {
			return p.WrapErr(err)
		}
	case "verify":
		i.VerifyOff = true
		_, err = p.word("off", func(s string) error {
			if s != "off" {
				return errors.New("verify takes off: leave the line out to have the integration verified")
			}
			return nil
		})
	case "standard_webhooks":
		i.StandardWebhooks = true
		if p.NextArg() {
			return p.Err("standard_webhooks stands alone: leave out what follows it")
		}
	case "traceparent":
		i.Traceparent = true
		_, err = p.word("on", func(s string) error {
			if s != "on" {
				return errors.New("traceparent takes on: leave the line out to send no trace")
			}
			return nil
		})
	default:
		return p.unknown("url, secret, documents, retry, in_flight, rate, verify, standard_webhooks, traceparent, header, " +
			"basic, bearer, oauth2 or tls")
	}
	if err != nil {
		return err
	}
	return p.noBlock(option)
}

func (p *parser) checkURL(s string) error {
	policy, err := policyOf(p.app.Egress)
	if err != nil {
		return err
	}
	return egress.New(policy).ValidateURL(s)
}
