package modules

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/signin"
)

// parseSignIn reads the directive. Syntax:
//
//	signin {
//		base_url <url>
//		title    <text>
//		key      <placeholder> [<former placeholder>...]
//		rotate   <duration>
//		session_end <duration>
//		grant_end   <duration>
//		upstream_oidc <issuer>|<name> {
//			issuer        <url>
//			name          <text>
//			client_id     <id>
//			client_secret <placeholder>
//			ca            <file>
//			trust_email   <domain...>
//			domains       <domain...>
//			emergency     <address...>
//			groups        <claim>
//			provision     on|off
//			disabled
//		}
//	}
func parseSignIn(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler, dev := new(SignIn), app.Development(h)
	head := *h.Dispenser
	head.Next() // the directive's name
	const example = "signin takes a block: write signin {, below it key {env.HIREGATE_SIGNIN_KEY}, below that }"
	err := app.Options(h, example, func(option string, args []string) error {
		if option == "upstream_oidc" {
			return handler.upstream(h, args, dev)
		}
		return handler.option(option, args, dev)
	}, "upstream_oidc")
	if err == nil && len(handler.Keys) == 0 {
		err = head.WrapErr(errNoSignInKey)
	}
	if err == nil {
		if err = handler.checkEnds(); err != nil {
			err = head.WrapErr(err)
		}
	}
	return handler, err
}

// examples has an argument for each option that takes one.
var examples = map[string]string{
	"base_url": "https://gate.example.com/signin", "title": `"Recruiting Service"`, "rotate": "90d",
	"session_end": "12h", "grant_end": "30d",
	"name": `"Initech Staff"`, "client_id": "hiregate", "client_secret": "{env.HIREGATE_UPSTREAM_SECRET}",
	"provision": "off", "groups": "groups", "issuer": "https://login.example.com", "ca": "/etc/hiregate/ca.pem",
}

func oneArgument(option string) error {
	return fmt.Errorf("%s takes one argument: write, for example, `%[1]s %s`", option, examples[option])
}

func (h *SignIn) option(name string, args []string, dev bool) error {
	if name == "key" {
		h.Keys = args
		return signInKey.ValidateArgs(args, "{env.HIREGATE_SIGNIN_KEY}", dev)
	}
	target, known := map[string]*string{"base_url": &h.BaseURL, "title": &h.Title, "rotate": new(string),
		"session_end": new(string), "grant_end": new(string)}[name]
	if !known {
		return fmt.Errorf("%s is unknown here: write base_url, title, key, rotate, session_end, grant_end or upstream_oidc", name)
	}
	if len(args) != 1 || args[0] == "" {
		return oneArgument(name)
	}
	*target = args[0]
	switch name {
	case "base_url":
		return checkIssuer(h.BaseURL, dev)
	case "rotate":
		d, err := caddy.ParseDuration(args[0])
		if err != nil || d < signin.MinRotate || d > 10*365*24*time.Hour {
			return errRotate
		}
		h.Rotate = caddy.Duration(d)
	case "session_end":
		return duration(args[0], &h.SessionEnd, errSessionEnd)
	case "grant_end":
		return duration(args[0], &h.GrantEnd, errGrantEnd)
	}
	return nil
}

// duration reads a positive duration; wrong is the error of anything else.
func duration(text string, into *caddy.Duration, wrong error) error {
	d, err := caddy.ParseDuration(text)
	if err != nil || d <= 0 {
		return wrong
	}
	*into = caddy.Duration(d)
	return nil
}

func (h *SignIn) upstream(d httpcaddyfile.Helper, args []string, dev bool) error {
	if len(args) != 1 {
		return errors.New("upstream_oidc takes the issuer of people's own provider, or a name, and a block: write, for example, " +
			"upstream_oidc https://login.example.com {")
	}
	head := *d.Dispenser
	u := &UpstreamOIDC{at: fmt.Sprintf("%s:%d", head.File(), head.Line())}
	targets := map[string]*string{"name": &u.Name, "client_id": &u.ClientID, "client_secret": &u.ClientSecret, "ca": &u.CA,
		"groups": &u.Groups}
	if strings.Contains(args[0], ":") {
		u.Issuer = args[0]
	} else {
		u.ID, targets["issuer"] = args[0], &u.Issuer
	}
	lists := map[string]*[]string{"trust_email": &u.TrustEmail, "domains": &u.Domains, "emergency": &u.Emergency}
	for d.NextBlock(1) {
		option := d.Val()
		if list, ok := lists[option]; ok {
			*list = append(*list, d.RemainingArgs()...)
			switch {
			case len(*list) == 0 && option == "emergency":
				return errors.New("emergency takes e-mail addresses: write, for example, `emergency admin@example.com`")
			case len(*list) == 0:
				return fmt.Errorf("%s takes domains: write, for example, `%[1]s example.com`", option)
			}
			continue
		}
		target, known := targets[option]
		switch {
		case option == "provision":
			args := d.RemainingArgs()
			if len(args) != 1 || args[0] != "off" && args[0] != "on" {
				return oneArgument(option)
			}
			u.ProvisionOff = args[0] == "off"
		case option == "disabled":
			if d.NextArg() {
				return errors.New("disabled takes no argument: write `disabled` alone, or leave it out")
			}
			u.Disabled = true
		case !known:
			return fmt.Errorf("%s is unknown here: write name, client_id, client_secret, ca, trust_email, domains, emergency, groups, provision or disabled", option)
		case *target != "":
			return fmt.Errorf("%s is there twice: keep one of them", option)
		case !d.AllArgs(target) || *target == "":
			return oneArgument(option)
		}
	}
	if u.ClientID == "" || u.ClientSecret == "" {
		return errors.New("upstream_oidc is not complete: add client_id and client_secret, as the provider gave them to you")
	}
	err := cmp.Or(u.check(dev), u.checkBeside(h.Upstreams))
	h.Upstreams = append(h.Upstreams, u)
	if err != nil {
		return head.WrapErr(err)
	}
	return nil
}
