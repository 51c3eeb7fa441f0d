package modules

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/gate"
)

// SignInGate is the directive signin_gate: people sign in at an OpenID provider before they reach what comes after it.
type SignInGate struct {
	// Providers are where people sign in; the first one whose Hosts and Paths a request has counts.
	Providers []*GateProvider `json:"providers,omitempty"`
	// Keys are placeholders of the keys that seal cookies and sessions: the first seals, the others open what was sealed
	// before. Required.
	Keys []string `json:"keys,omitempty"`
	// Allow says who may come in, of providers that don't say it themselves.
	gate.Allow
	// Public lists paths that everyone may use: whole ones, and begins such as /assets/*. Default: none.
	Public []string `json:"public,omitempty"`
	// Prefix is where the gate's own addresses are. Default: /oauth2.
	Prefix string `json:"prefix,omitempty"`
	// CookieDomain is a domain whose hosts share sessions. Default: each host has its own.
	CookieDomain gate.Domain `json:"cookie_domain,omitempty"`
	// SignInHost is the host of CookieDomain, perhaps with a port, to which providers lead back: redirect URIs have it. This
	// handler has to be there as well. Default: each host.
	SignInHost string `json:"sign_in_host,omitempty"`
	// Title is the name of the application on the pages. Default: its host.
	Title string `json:"title,omitempty"`
	// Contact is the e-mail address of whoever lets people in. Default: none is shown.
	Contact string `json:"contact,omitempty"`
	// JWT has the application get a signed token of each visitor. Default: it gets none.
	JWT bool `json:"jwt,omitempty"`
	// Audience is whom the tokens are for. Default: scheme and host of the application.
	Audience string `json:"audience,omitempty"`
	// SessionEnd is how long a session lasts. Default: 12 hours.
	SessionEnd caddy.Duration `json:"session_end,omitempty"`

	gates []matchedGate // of the providers
}

// SignsInAt is the host at which people sign in; empty: at the one that they ask.
func (h *SignInGate) SignsInAt() string { return h.SignInHost }

// GateProvider is an OpenID provider, and the registration of the application there. The redirect URI there is
// https://<host>/oauth2/callback.
type GateProvider struct {
	// Address is the provider's issuer; or, with Keys, the base URL of the contract's two paths.
	Address string `json:"address"`
	// Issuer of a provider without metadata. Default: Address.
	Issuer string `json:"issuer,omitempty"`
	// Keys is the address of the keys of a provider without metadata. Default: the provider has metadata.
	Keys     string `json:"keys,omitempty"`
	ClientID string `json:"client_id"`
	// ClientSecret is a placeholder.
	ClientSecret string `json:"client_secret"`
	// Name is shown to people. Default: the host of the issuer.
	Name string `json:"name,omitempty"`
	// CA is a file of the authorities that may have signed the provider's certificate. Default: the system's.
	CA string `json:"ca,omitempty"`
	// TrustEmail are domains whose addresses count as verified where the provider does not say whether they are.
	TrustEmail []string `json:"trust_email,omitempty"`
	// Hosts whose people sign in here. Default: all.
	Hosts caddyhttp.MatchHost `json:"hosts,omitempty"`
	// Path is where they do: all below one, such as /acme/*. The gate's own addresses for them are there as well, and the
	// redirect URI is https://<host>/acme/oauth2/callback. Default: everywhere.
	Path string `json:"path,omitempty"`
	gate.Allow
}

// CaddyModule implements caddy.Module.
func (SignInGate) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.signin_gate", New: func() caddy.Module { return new(SignInGate) }}
}

// returns outlive a configuration.
var returns = gate.NewReturns()

const (
	defaultPrefix     = "/oauth2"
	defaultSessionEnd = 12 * time.Hour
	leastSessionEnd   = 5 * time.Minute
	mostSessionEnd    = 30 * 24 * time.Hour
)

var (
	gateKey = app.SealKey{Option: "signin_gate: key", Of: "its cookies"}

	errGateProvider = errors.New("signin_gate lacks provider: write provider https://login.example.com {, below it " +
		"`client acme {env.ACME_CLIENT_SECRET}`, below that }")
	errGateKey   = errors.New("signin_gate lacks key: add `key {env.GATE_KEY}`, of the output of openssl rand -base64 32")
	errGateAllow = errors.New("signin_gate does not say who may come in: add, for example, `allow email *@acme.example` or " +
		"`allow group staff`; `allow any` lets everyone in whom the provider signs in")
	errGateAny        = errors.New("signin_gate: allow any lets everyone in, and allow email or group only some: keep one of them")
	errGateSessionEnd = errors.New("signin_gate: session_end is how long a session lasts: write 5m to 30d, such as " +
		"`session_end 12h`")
)

// validate reports what is missing or wrong.
func (h *SignInGate) validate(dev bool) error {
	switch {
	case len(h.Providers) == 0:
		return errGateProvider
	case len(h.Keys) == 0:
		return errGateKey
	case h.SessionEnd != 0 && (time.Duration(h.SessionEnd) < leastSessionEnd || time.Duration(h.SessionEnd) > mostSessionEnd):
		return errGateSessionEnd
	}
	for n, p := range h.Providers {
		if n > 0 && len(h.Providers[n-1].Hosts) == 0 && h.Providers[n-1].Path == "" {
			return fmt.Errorf("signin_gate: provider %s is for all addresses, so that nobody would come to %s: give the first a "+
				"host or a path, or put it last", h.Providers[n-1].Address, p.Address)
		}
		if h.SignInHost != "" && len(p.Hosts) > 0 {
			return fmt.Errorf("signin_gate: provider %s has a host, but at %s, the sign-in host of cookie_domain, providers are told "+
				"apart by path alone: write a path instead, or leave the sign-in host out", p.Address, h.SignInHost)
		}
		if err := cmp.Or(validateAllow(h.allowAt(p)), p.validate(dev)); err != nil {
			return err
		}
	}
	if h.CookieDomain != "" || h.SignInHost != "" {
		if err := h.CookieDomain.Validate(h.SignInHost); err != nil {
			return fmt.Errorf("signin_gate: %w", err)
		}
	}
	for _, one := range h.Public {
		if err := gate.ValidatePublic(one); err != nil {
			return fmt.Errorf("signin_gate: %w", err)
		}
	}
	if h.Prefix != "" {
		if err := gate.ValidatePublic(h.Prefix); err != nil || strings.HasSuffix(h.Prefix, "/") || strings.HasSuffix(h.Prefix, "*") {
			return fmt.Errorf("signin_gate: prefix %q: write a path without a slash at the end, such as %s", h.Prefix, defaultPrefix)
		}
	}
	return nil
}

// allowAt returns who of a provider may come in.
func (h *SignInGate) allowAt(p *GateProvider) gate.Allow {
	if p.Anyone || len(p.Emails)+len(p.Groups) > 0 {
		return p.Allow
	}
	return h.Allow
}

func validateAllow(a gate.Allow) error {
	switch some := len(a.Emails)+len(a.Groups) > 0; {
	case !a.Anyone && !some:
		return errGateAllow
	case a.Anyone && some:
		return errGateAny
	}
	for _, one := range a.Emails {
		if err := gate.ValidateEmail(one); err != nil {
			return fmt.Errorf("signin_gate: allow email: %w", err)
		}
	}
	return nil
}

func (p *GateProvider) validate(dev bool) error {
	for option, address := range map[string]string{"provider": p.Address, "issuer": p.Issuer, "keys": p.Keys} {
		u, err := url.Parse(address)
		switch {
		case address == "" && option != "provider":
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Fragment != "":
			return fmt.Errorf("signin_gate: %s %q: write an address, such as https://login.example.com", option, address)
		case u.Scheme == "http" && !dev:
			return fmt.Errorf("signin_gate: %s %q is not encrypted: write an https address; http is for development alone, with the option dev", option, address)
		}
	}
	for _, domain := range p.TrustEmail {
		if !identity.IsDomain(domain) {
			return fmt.Errorf("signin_gate: trust_email: %q is no domain: write what stands behind the @, such as example.com", domain)
		}
	}
	switch {
	case p.ClientID == "" || p.ClientSecret == "":
		return errors.New("signin_gate: provider lacks client: add the id and the secret that the provider gave the " +
			"application, such as `client acme {env.ACME_CLIENT_SECRET}`")
	case p.Issuer != "" && p.Keys == "":
		return errors.New("signin_gate: provider has issuer, but not keys: write both for a provider without metadata, and " +
			"neither for one with metadata")
	case p.Path != "" && (!strings.HasSuffix(p.Path, "/*") || gate.ValidatePublic(p.Path) != nil):
		return fmt.Errorf("signin_gate: provider: path %q: write the begin of paths, such as /acme/*", p.Path)
	}
	return app.ValidateClientSecret("signin_gate: client", p.ClientSecret, dev)
}

// Provision connects the handler to the gateway. It touches no database, asks no provider, and reads no file but ca.
func (h *SignInGate) Provision(ctx caddy.Context) error {
	g, err := app.Of(ctx, "signin_gate")
	if err != nil {
		return err
	}
	if err := h.validate(g.Config.Dev); err != nil {
		return err
	}
	needed := slices.Clone(h.Keys)
	for _, p := range h.Providers {
		needed = append(needed, p.ClientSecret)
	}
	if err := app.CheckPlaceholders(ctx, needed...); err != nil {
		return fmt.Errorf("signin_gate: %w", err)
	}
	sealing, err := gateKey.Vault(h.Keys, g.Config.Dev, resolveAll)
	if err != nil {
		return err
	}
	var tokens *gate.Tokens
	if h.JWT {
		if tokens, err = gate.NewTokens(sealing, h.Audience); err != nil {
			return fmt.Errorf("signin_gate: jwt: %w", err)
		}
	}
	for _, p := range h.Providers {
		provider, err := p.provision(ctx, g)
		if err != nil {
			return err
		}
		allow := h.allowAt(p)
		provider.WantsGroups = len(allow.Groups) > 0
		h.gates = append(h.gates, matchedGate{p, &gate.Gate{Gateway: g, Provider: provider, Vault: sealing,
			Allow: allow, Tokens: tokens, Public: h.Public, Prefix: strings.TrimSuffix(p.Path, "/*") + cmp.Or(h.Prefix, defaultPrefix),
			Domain: h.CookieDomain, SignIn: h.SignInHost, Life: cmp.Or(time.Duration(h.SessionEnd), defaultSessionEnd),
			Title: h.Title, Contact: h.Contact, Returns: returns, Watch: gate.WatchEvery, Address: clientAddress, Origin: origin,
			Sent: sentTo, Log: ctx.Logger()}})
	}
	return nil
}

func resolveAll(s string) (string, error) { return caddy.NewReplacer().ReplaceOrErr(s, true, true) }

func (p *GateProvider) provision(ctx caddy.Context, g *gateway.Gateway) (*oidcclient.Provider, error) {
	secret, err := resolveAll(p.ClientSecret)
	if err != nil {
		return nil, app.Unset("signin_gate: client", err)
	}
	client, err := g.Config.Egress.ClientFor(p.CA)
	if err == nil {
		err = p.Hosts.Provision(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("signin_gate: %w", err)
	}
	provider := &oidcclient.Provider{Name: p.Name, Issuer: cmp.Or(p.Issuer, p.Address), ClientID: p.ClientID,
		Secret: strings.TrimSpace(secret), Client: client, Now: g.Now, TrustEmail: p.TrustEmail,
		Keys: p.Keys, Base: strings.TrimRight(p.Address, "/"), TellsGroups: true}
	metrics.OpenIDProvider(provider.Issuer)
	return provider, nil
}

// matchedGate is the gate of the people of a provider.
type matchedGate struct {
	*GateProvider
	gate *gate.Gate
}

// hasHost reports whether a request came to one of the provider's hosts.
func (m *matchedGate) hasHost(r *http.Request) bool {
	if len(m.Hosts) == 0 {
		return true
	}
	at := *r
	at.Host = origin(r).Host
	ok, err := m.Hosts.MatchWithError(&at)
	return ok && err == nil
}

// gateOf returns the gate of a request; nil: no provider is for its address. A path that servers read in several ways is
// for none, if it matters.
func (h *SignInGate) gateOf(r *http.Request) *gate.Gate {
	for n := range h.gates {
		m := &h.gates[n]
		switch {
		case !m.hasHost(r), h.CookieDomain != "" && !h.CookieDomain.Has(origin(r).Hostname()):
		case m.Path != "" && !gate.Plain(r.URL):
			return nil
		case strings.HasPrefix(r.URL.Path, strings.TrimSuffix(m.Path, "*")):
			return m.gate
		}
	}
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *SignInGate) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) (err error) {
	g := h.gateOf(r)
	if g == nil {
		problem.New(http.StatusForbidden, "nobody can sign in at this address: ask those who run the application").Write(w)
		return nil
	}
	g.ServeHTTP(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { err = next.ServeHTTP(w, r) }))
	return err
}

// origin returns the scheme and the host with which a browser made a request. X-Forwarded-Proto and X-Forwarded-Host count
// from trusted proxies alone.
func origin(r *http.Request) *url.URL {
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if trusted, _ := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool); trusted {
		if proto := r.Header.Get("X-Forwarded-Proto"); proto == "https" || proto == "http" {
			scheme = proto
		}
		if forwarded := r.Header.Get("X-Forwarded-Host"); forwarded != "" {
			host = forwarded
		}
	}
	return &url.URL{Scheme: scheme, Host: strings.ToLower(host)}
}

// sentTo returns the address of a request as the client sent it.
func sentTo(r *http.Request) *url.URL {
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok && original.URL != nil {
		return original.URL
	}
	return r.URL
}
