package app

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// Notify is an address that is notified of events of integrations and exports.
type Notify struct {
	// URL is the address to which notifications are posted. It must hold an identifier: a path segment, or a query
	// parameter's value.
	URL string `json:"url"`
	// Secret signs the notifications: a placeholder.
	Secret string `json:"secret"`
	// FormerSecret is the previous secret during a rotation: a placeholder. Default: there is none.
	FormerSecret string `json:"former_secret,omitempty"`
	// Events names the events that are sent. Default: all.
	Events []string `json:"events,omitempty"`
	// Labels, such as region=north, choose the tenants whose events are sent: those that have all of them. Default: any.
	Labels []string `json:"labels,omitempty"`
}

const (
	exampleNotify       = "https://ops.example.com/hooks/hiregate { … }"
	exampleNotifySecret = "{env.HIREGATE_NOTIFY_SECRET}"
)

func (n Notify) complete() error {
	return incomplete("notify", required{"secret", n.Secret, exampleNotifySecret})
}

// subscribe adds the subscribers of notify options, of a tenant or, if tenant is empty, of all tenants.
func (a *App) subscribe(c *config.Config, tenant string, all []Notify, resolve resolve) error {
	for _, one := range all {
		s, err := one.build(tenant, resolve, a.Dev)
		if err == nil {
			err = c.Egress.ValidateURL(s.URL)
		}
		if err != nil {
			return fmt.Errorf("notify: %w", err)
		}
		if slices.ContainsFunc(c.Subscribers, func(other model.Subscriber) bool { return other.ID() == s.ID() }) {
			return errors.New("notify: the same URL is there twice: write its events into one block")
		}
		c.Subscribers = append(c.Subscribers, *s)
	}
	return nil
}

func (n Notify) build(tenant string, resolve resolve, dev bool) (*model.Subscriber, error) {
	if err := n.complete(); err != nil {
		return nil, err
	}
	address, err := resolve(n.URL)
	if err != nil {
		return nil, Unset("the URL", err)
	}
	s := &model.Subscriber{Tenant: tenant, URL: address}
	if s.Secret, err = secretFrom(n.Secret, dev, resolve); err != nil {
		return nil, err
	}
	if n.FormerSecret != "" {
		if s.FormerSecret, err = secretFrom(n.FormerSecret, dev, resolve); err != nil {
			return nil, err
		}
	}
	if s.Events, err = model.ParseEvents(n.Events); err != nil {
		return nil, err
	}
	if len(n.Labels) > 0 {
		if s.Labels, err = model.ParseLabels(n.Labels); err != nil {
			return nil, err
		}
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	for _, secret := range []model.Secret{s.Secret, s.FormerSecret} {
		if err := webhook.ValidateStandardSecret(secret.Reveal()); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// notify reads an option notify, which may occur once for each address.
func (p *parser) notify(all *[]Notify) (err error) {
	var n Notify
	if n.URL, err = p.text(exampleNotify, func(s string) error {
		p.atEnd(func() error { return p.checkURL(s) })
		return nil
	}); err != nil {
		return err
	}
	head := *p.Dispenser
	if err := p.block(func() error { return p.notifyLine(&n) }); err != nil {
		return err
	}
	if err := n.complete(); err != nil {
		return head.WrapErr(err)
	}
	*all = append(*all, n)
	return nil
}

func (p *parser) notifyLine(n *Notify) (err error) {
	option := p.Val()
	switch option {
	case "secret":
		n.Secret, n.FormerSecret, err = p.secrets(exampleNotifySecret)
	case "events":
		n.Events = p.RemainingArgs()
		if len(n.Events) == 0 {
			return p.Err("events takes the names of events: leave it out to be notified of all of them")
		}
		if _, err := model.ParseEvents(n.Events); err != nil {
			return p.WrapErr(err)
		}
	case "labels":
		n.Labels, err = p.labels(n.Labels)
	default:
		return p.unknown("secret, events or labels")
	}
	if err != nil {
		return err
	}
	return p.noBlock(option)
}

// labels reads labels of tenants, after those that were read before.
func (p *parser) labels(before []string) ([]string, error) {
	all := append(before, p.RemainingArgs()...)
	if len(all) == 0 {
		return nil, p.Err("labels takes words such as `labels region=north`")
	}
	if _, err := model.ParseLabels(all); err != nil {
		return nil, p.WrapErr(err)
	}
	return all, nil
}

// secrets reads a secret and, during a rotation, the previous one.
func (p *parser) secrets(example string) (secret, former string, err error) {
	all := p.RemainingArgs()
	if len(all) == 0 || len(all) > 2 || slices.Contains(all, "") {
		return "", "", p.Errf("secret takes a placeholder, followed by that of the former secret during a rotation: "+
			"write, for example, `secret %s`", example)
	}
	for _, s := range all {
		p.atEnd(func() error { return checkSecret(s, p.app.Dev) })
	}
	if len(all) == 2 {
		former = all[1]
	}
	return all[0], former, nil
}
