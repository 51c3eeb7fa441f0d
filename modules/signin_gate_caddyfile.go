package modules

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/gate"
)

// parseSignInGate reads the directive. Syntax:
//
//	signin_gate {
//		provider <issuer, or base url> {
//			client      <id> <placeholder>
//			issuer      <issuer>
//			keys        <url>
//			name        <text>
//			ca          <file>
//			trust_email <domain...>
//			host        <host...>
//			path        <path>/*
//			allow       any | email <address...> | group <name...>
//		}
//		key           <placeholder> [<former placeholder>...]
//		allow         any | email <address...> | group <name...>
//		public        <path...>
//		prefix        <path>
//		cookie_domain <domain> [<sign-in host>]
//		title         <text>
//		contact       <address>
//		session_end   <duration>
//		jwt           [<audience>]
//	}
func parseSignInGate(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler, dev := new(SignInGate), app.Development(h)
	head := *h.Dispenser
	head.Next() // the directive's name
	const example = "signin_gate takes a block: write signin_gate {, below it provider, key and allow, below them }"
	texts := map[string]*string{"prefix": &handler.Prefix, "title": &handler.Title, "contact": &handler.Contact,
		"session_end": new(string)}
	err := app.Options(h, example, func(option string, args []string) error {
		switch option {
		case "provider":
			return handler.provider(h, args, dev)
		case "key":
			handler.Keys = args
			return gateKey.ValidateArgs(args, "{env.GATE_KEY}", dev)
		case "allow":
			return allow(&handler.Allow, args)
		case "cookie_domain":
			return handler.cookieDomain(h, args)
		case "jwt":
			if len(args) > 1 {
				return errors.New("jwt takes one audience at most: write jwt, or, for example, `jwt payroll`")
			}
			handler.JWT, handler.Audience = true, strings.Join(args, "")
			return nil
		case "public":
			handler.Public = append(handler.Public, args...)
			for _, one := range args {
				if err := gate.ValidatePublic(one); err != nil {
					return err
				}
			}
			return nil
		}
		target, known := texts[option]
		switch {
		case !known:
			return fmt.Errorf("%s is unknown here: write provider, key, allow, public, prefix, cookie_domain, title, contact, "+
				"session_end or jwt", option)
		case len(args) != 1 || args[0] == "":
			return fmt.Errorf("%s takes one argument", option)
		}
		*target = args[0]
		if option == "session_end" {
			d, err := caddy.ParseDuration(args[0])
			if err != nil || d < leastSessionEnd || d > mostSessionEnd {
				return errGateSessionEnd
			}
			handler.SessionEnd = caddy.Duration(d / time.Second * time.Second)
		}
		return nil
	}, "provider", "allow", "public")
	if err == nil {
		if err = handler.validate(dev); err != nil {
			err = head.WrapErr(err)
		}
	}
	return handler, err
}

// cookieDomain reads the option, of a site whose hosts have to be below the domain.
func (h *SignInGate) cookieDomain(d httpcaddyfile.Helper, args []string) error {
	if len(args) != 1 && len(args) != 2 {
		return errors.New("cookie_domain takes a domain, and perhaps the host to sign in at: write, for example, `cookie_domain " +
			"acme.example`, or `cookie_domain acme.example auth.acme.example`")
	}
	h.CookieDomain, h.SignInHost = gate.Domain(args[0]), strings.Join(args[1:], "")
	if err := h.CookieDomain.Validate(h.SignInHost); err != nil {
		return err
	}
	for _, host := range app.HostsOf(d) {
		if !h.CookieDomain.Has(strings.TrimPrefix(host, "*.")) {
			return fmt.Errorf("cookie_domain %s is not the domain of this site, %s: write the one that its hosts are below", args[0], host)
		}
	}
	return nil
}

func allow(a *gate.Allow, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "any":
		a.Anyone = true
	case len(args) > 1 && args[0] == "email":
		a.Emails = append(a.Emails, args[1:]...)
		for _, one := range args[1:] {
			if err := gate.ValidateEmail(one); err != nil {
				return err
			}
		}
	case len(args) > 1 && args[0] == "group":
		a.Groups = append(a.Groups, args[1:]...)
	default:
		return fmt.Errorf("allow says who may come in: write `allow email *@acme.example`, `allow group staff` or `allow any`")
	}
	return nil
}

func (h *SignInGate) provider(d httpcaddyfile.Helper, args []string, dev bool) error {
	if len(args) != 1 {
		return errGateProvider
	}
	head := *d.Dispenser
	p := &GateProvider{Address: args[0]}
	texts := map[string]*string{"issuer": &p.Issuer, "keys": &p.Keys, "name": &p.Name, "ca": &p.CA, "path": &p.Path}
	for d.NextBlock(1) {
		option, args := d.Val(), d.RemainingArgs()
		target, known := texts[option]
		switch {
		case option == "client" && len(args) == 2:
			p.ClientID, p.ClientSecret = args[0], args[1]
		case option == "client":
			return fmt.Errorf("client takes an id and a placeholder of the secret: write, for example, " +
				"`client acme {env.ACME_CLIENT_SECRET}`")
		case option == "host" && len(args) > 0:
			p.Hosts = append(p.Hosts, args...)
		case option == "allow":
			if err := allow(&p.Allow, args); err != nil {
				return err
			}
		case option == "trust_email" && len(args) > 0:
			p.TrustEmail = append(p.TrustEmail, args...)
		case !known:
			return fmt.Errorf("%s is unknown here: write client, issuer, keys, name, ca, trust_email, host, path or allow", option)
		case *target != "":
			return fmt.Errorf("%s is there twice: keep one of them", option)
		case len(args) != 1 || args[0] == "":
			return fmt.Errorf("%s takes one argument", option)
		default:
			*target = args[0]
		}
	}
	h.Providers = append(h.Providers, p)
	if err := p.validate(dev); err != nil {
		return head.WrapErr(err)
	}
	return nil
}
