package modules

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/signin"
)

// SignIn is the directive signin: the OpenID provider. Put it into handle_path, which strips the path of base_url.
type SignIn struct {
	// BaseURL is the {base_url} of the contract, and the issuer. Default: <public_url>/signin.
	BaseURL string `json:"base_url,omitempty"`
	// Title is the name of the service on the pages. Default: that of the only tenant, or service_name.
	Title string `json:"title,omitempty"`
	// Keys are placeholders of the keys that seal the signing keys in the database: the first seals, the others open
	// what was sealed before. Required.
	Keys []string `json:"keys,omitempty"`
	// Rotate is the time for which a signing key signs. Default: 90 days.
	Rotate caddy.Duration `json:"rotate,omitempty"`
	// SessionEnd is when a session ends after the sign-in. Default: 12 hours.
	SessionEnd caddy.Duration `json:"session_end,omitempty"`
	// GrantEnd is when what an application was granted ends after the sign-in, however often it refreshes. Default: 30
	// days.
	GrantEnd caddy.Duration `json:"grant_end,omitempty"`
	// Upstreams are other OpenID providers, where people may sign in instead: one without an ID, or some with.
	Upstreams []*UpstreamOIDC `json:"upstream_oidc,omitempty"`

	provider *signin.Provider
}

// UpstreamOIDC is another OpenID provider, and our registration there. Our redirect URI there is
// <base_url>/oauth/upstream/callback, or <base_url>/oauth/upstream/<id>/callback.
type UpstreamOIDC struct {
	// ID names the provider in our addresses. It may be left out where there is only one.
	ID     string `json:"id,omitempty"`
	Issuer string `json:"issuer"`
	// Name is shown to people. Default: the host of the issuer.
	Name     string `json:"name,omitempty"`
	ClientID string `json:"client_id"`
	// ClientSecret is a placeholder.
	ClientSecret string `json:"client_secret"`
	// CA is a file of the authorities that may have signed the provider's certificate. Default: the system's.
	CA string `json:"ca,omitempty"`
	// TrustEmail are domains whose addresses count as verified where the provider does not say whether they are.
	TrustEmail []string `json:"trust_email,omitempty"`
	// Domains limit which accounts are linked to users: those with an address in one of them. Default: all. Whoever has
	// such an address signs in there alone, not with a password.
	Domains []string `json:"domains,omitempty"`
	// Emergency are addresses in Domains that a password is good for as well.
	Emergency []string `json:"emergency,omitempty"`
	// ProvisionOff refuses accounts whose address no user has, instead of inserting a user.
	ProvisionOff bool `json:"provision_off,omitempty"`
	// Groups is the claim that names people's groups there; empty: they have none here.
	Groups string `json:"groups,omitempty"`
	// Disabled lets nobody sign in there. Addresses in Domains get no password all the same.
	Disabled bool `json:"disabled,omitempty"`

	at string // where it is in the Caddyfile; empty: unknown
}

// CaddyModule implements caddy.Module.
func (SignIn) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.signin", New: func() caddy.Module { return new(SignIn) }}
}

// Provision connects the handler to the gateway. It touches no database, and no file but ca.
func (h *SignIn) Provision(ctx caddy.Context) error {
	g, err := app.Of(ctx, "signin")
	if err != nil {
		return err
	}
	p := signin.Provider{
		Gateway: g, Issuer: cmp.Or(h.BaseURL, g.Config.PublicURL+"/signin"), Title: h.Title,
		Failures: g.Runtime.SignInFailures, Address: clientAddress, Log: ctx.Logger(),
		SessionEnd: time.Duration(h.SessionEnd), GrantEnd: time.Duration(h.GrantEnd),
	}
	if err := h.checkEnds(); err != nil {
		return err
	}
	if err := checkIssuer(p.Issuer, g.Config.Dev); err != nil {
		return err
	}
	if len(h.Keys) == 0 {
		return errNoSignInKey
	}
	needed := h.Keys
	for _, u := range h.Upstreams {
		needed = append(slices.Clone(needed), u.ClientSecret)
	}
	if err := app.CheckPlaceholders(ctx, needed...); err != nil {
		return fmt.Errorf("signin: %w", err)
	}
	replacer := caddy.NewReplacer()
	p.Vault, err = signInKey.Vault(h.Keys, g.Config.Dev,
		func(s string) (string, error) { return replacer.ReplaceOrErr(s, true, true) })
	if err != nil {
		return err
	}
	p.Ring = &signin.Ring{Vault: p.Vault, Store: g.Runtime.Store, Now: g.Now, Log: p.Log,
		Every: cmp.Or(time.Duration(h.Rotate), signin.RotateEvery)}
	if p.Ring.Every < signin.MinRotate {
		return errRotate
	}
	for n, c := range h.Upstreams {
		if err := c.checkBeside(h.Upstreams[:n]); err != nil {
			return err
		}
		to, err := c.resolve(g.Config, g.Now)
		if err != nil {
			return err
		}
		p.Upstreams = append(p.Upstreams, &signin.Upstream{Provider: to, ID: c.ID, Disabled: c.Disabled,
			Joins: signin.Joins{Domains: c.Domains, Emergency: c.Emergency, KnownOnly: c.ProvisionOff}})
		if !c.ProvisionOff && len(c.Domains)+len(c.TrustEmail) == 0 {
			p.Log.Warn("signin: everyone whose address upstream_oidc verified becomes a user here; " +
				"name the domains of your people, such as `domains example.com`, or write `provision off`")
		}
	}
	h.provider = signin.New(p)
	g.RecoveryLinks = append(g.RecoveryLinks, h.provider.RecoveryLink)
	g.Config.SignLogouts(h.provider.Issuer, h.provider.SignLogout)
	return nil
}

// check checks the settings of an upstream.
func (c *UpstreamOIDC) check(dev bool) error {
	issuer, err := url.Parse(c.Issuer)
	switch {
	case c.ID != "" && !upstreamID.MatchString(c.ID):
		return fmt.Errorf("signin: upstream_oidc %s: a name is 1 to 40 of the characters a-z, 0-9 and -, such as acme", c.ID)
	case c.ID != "" && c.Issuer == "":
		return fmt.Errorf("signin: upstream_oidc %s is not complete: add the issuer of the provider, such as `issuer "+
			"https://login.example.com`", c.ID)
	case c.ID != "" && len(c.Domains) == 0:
		return fmt.Errorf("signin: upstream_oidc %s is not complete: add the domains of its people's addresses, such as `domains "+
			"example.com`", c.ID)
	case c.ID == "" && c.Groups != "":
		return errors.New("signin: upstream_oidc: groups are called after their provider: give it a name, such as `upstream_oidc acme {`")
	case err != nil || issuer.Host == "" || issuer.Scheme != "https" && issuer.Scheme != "http":
		return fmt.Errorf("signin: upstream_oidc %q: write the issuer of the provider, such as https://login.example.com",
			c.Issuer)
	case issuer.Scheme == "http" && !dev:
		return fmt.Errorf("signin: upstream_oidc %q is not encrypted: write an https address", c.Issuer)
	}
	for _, domain := range slices.Concat(c.TrustEmail, c.Domains) {
		if !identity.IsDomain(domain) {
			return fmt.Errorf("signin: upstream_oidc: %q is no domain: write what stands behind the @, such as example.com", domain)
		}
	}
	for _, address := range c.Emergency {
		if !identity.InDomains(address, c.Domains) {
			return fmt.Errorf("signin: upstream_oidc: emergency %q is in none of domains: write e-mail addresses of those alone, "+
				"since others sign in with a password anyway", address)
		}
	}
	return app.ValidateClientSecret("signin: upstream_oidc", c.ClientSecret, dev)
}

var upstreamID = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// checkBeside checks an upstream against those before it: people's addresses must decide which is theirs.
func (c *UpstreamOIDC) checkBeside(others []*UpstreamOIDC) error {
	for _, other := range others {
		before := other.ID
		if other.at != "" {
			before += " (" + other.at + ")"
		}
		switch {
		case c.ID == "" || other.ID == "":
			return errors.New("signin: there are several upstream_oidc: give each a name and domains, such as `upstream_oidc acme {`, " +
				"and write its issuer into the block")
		case c.ID == other.ID:
			return fmt.Errorf("signin: upstream_oidc %s is there twice: the one before is %s", c.ID, before)
		case c.Issuer == other.Issuer:
			return fmt.Errorf("signin: upstream_oidc %s has the issuer of %s: write the domains of both into one", c.ID, before)
		}
		for _, domain := range c.Domains {
			if identity.InDomains("a@"+domain, other.Domains) {
				return fmt.Errorf("signin: upstream_oidc %s: %s is a domain of %s as well: keep it in one of them", c.ID, domain, before)
			}
		}
	}
	return nil
}

func (c *UpstreamOIDC) resolve(config *config.Config, now func() time.Time) (*oidcclient.Provider, error) {
	if err := c.check(config.Dev); err != nil {
		return nil, err
	}
	issuer, err := url.Parse(c.Issuer)
	if err != nil {
		return nil, err
	}
	secret, err := caddy.NewReplacer().ReplaceOrErr(c.ClientSecret, true, true)
	if err != nil {
		return nil, app.Unset("signin: upstream_oidc: client_secret", err)
	}
	client, err := config.Egress.ClientFor(c.CA)
	if err != nil {
		return nil, fmt.Errorf("signin: upstream_oidc: %w", err)
	}
	metrics.OpenIDProvider(c.Issuer)
	return &oidcclient.Provider{Name: cmp.Or(c.Name, issuer.Hostname()), Issuer: c.Issuer, ClientID: c.ClientID,
		Secret: strings.TrimSpace(secret), Client: client, Now: now,
		TrustEmail: c.TrustEmail, WantsGroups: c.Groups != "", GroupsClaim: c.Groups}, nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *SignIn) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	if r.URL.Path == signin.RecoveryPath {
		caddyhttp.SetVar(r.Context(), caddyhttp.LogSkipVar, true) // the address is a credential
	}
	return serve(h.provider.Gateway, h.provider, w, r)
}

var errRotate = errors.New("signin: rotate is how long a signing key signs: write at least 7d, such as `rotate 90d`")

var errSessionEnd = errors.New("signin: session_end is how long people stay signed in: write 5m to 30d, such as " +
	"`session_end 12h`")

var errGrantEnd = errors.New("signin: grant_end is how long applications may refresh what a sign-in gave them: write at " +
	"least session_end and at most 365d, such as `grant_end 30d`")

// checkEnds checks when sessions and grants end.
func (h *SignIn) checkEnds() error {
	const day = 24 * time.Hour
	session := cmp.Or(time.Duration(h.SessionEnd), identity.SessionLife)
	grant := cmp.Or(time.Duration(h.GrantEnd), identity.GrantLife)
	switch {
	case session < 5*time.Minute || session > 30*day:
		return errSessionEnd
	case grant < session || grant > 365*day:
		return errGrantEnd
	}
	return nil
}

// checkIssuer checks the issuer (OpenID Connect Discovery section 3).
func checkIssuer(s string, dev bool) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("signin: base_url %q: write the address of sign-in, such as https://gate.example.com/signin", s)
	case u.Scheme == "http" && !dev:
		return fmt.Errorf("signin: base_url %q is not encrypted: write an https address here, or in public_url", s)
	case strings.ContainsAny(s, "?#") || u.User != nil || strings.HasSuffix(s, "/"):
		return errors.New("signin: base_url: write the address alone, such as https://gate.example.com/signin, without " +
			"query, fragment, user name and slash at the end")
	case strings.HasPrefix(u.Path, "//"): // our forms lead to this path, which browsers would take for a host
		return fmt.Errorf("signin: base_url %q has two slashes after the host: write one, such as "+
			"https://gate.example.com/signin", s)
	}
	return nil
}

var errNoSignInKey = errors.New("signin is not complete: add `key {env.HIREGATE_SIGNIN_KEY}`, of the output of " +
	"openssl rand -base64 32")

var signInKey = app.SealKey{Option: "signin: key", Of: "signing keys"}
