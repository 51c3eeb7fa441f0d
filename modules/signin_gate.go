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

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/gate"
)

// SignInGate is the directive signin_gate: people sign in at an OpenID provider before they reach what comes after it.
type SignInGate struct {
	Provider *GateProvider `json:"provider,omitempty"`
	// Keys are placeholders of the keys that seal cookies and sessions: the first seals, the others open what was sealed
	// before. Required.
	Keys []string `json:"keys,omitempty"`
	// Anyone lets everyone in whom the provider signs in. This, Emails or Groups is required.
	Anyone bool `json:"anyone,omitempty"`
	// Emails lists addresses that may come in, and *@example.com for all of a domain.
	Emails []string `json:"emails,omitempty"`
	// Groups lists groups at the provider (claim groups) that may come in.
	Groups []string `json:"groups,omitempty"`
	// Public lists paths that everyone may use: whole ones, and begins such as /assets/*. Default: none.
	Public []string `json:"public,omitempty"`
	// Prefix is where the gate's own addresses are. Default: /oauth2.
	Prefix string `json:"prefix,omitempty"`
	// Title is the name of the application on the pages. Default: its host.
	Title string `json:"title,omitempty"`
	// Contact is the e-mail address of whoever lets people in. Default: none is shown.
	Contact string `json:"contact,omitempty"`
	// SessionEnd is how long a session lasts. Default: 12 hours.
	SessionEnd caddy.Duration `json:"session_end,omitempty"`

	gate *gate.Gate
}

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
	some := len(h.Emails)+len(h.Groups) > 0
	switch {
	case h.Provider == nil:
		return errGateProvider
	case len(h.Keys) == 0:
		return errGateKey
	case !h.Anyone && !some:
		return errGateAllow
	case h.Anyone && some:
		return errGateAny
	case h.SessionEnd != 0 && (time.Duration(h.SessionEnd) < leastSessionEnd || time.Duration(h.SessionEnd) > mostSessionEnd):
		return errGateSessionEnd
	}
	for _, one := range h.Emails {
		if err := gate.ValidateEmail(one); err != nil {
			return fmt.Errorf("signin_gate: allow email: %w", err)
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
	return h.Provider.validate(dev)
}

func (p *GateProvider) validate(dev bool) error {
	for option, address := range map[string]string{"provider": p.Address, "issuer": p.Issuer, "keys": p.Keys} {
		u, err := url.Parse(address)
		switch {
		case address == "" && option != "provider":
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.Fragment != "":
			return fmt.Errorf("signin_gate: %s %q: write an address, such as https://login.example.com", option, address)
		case u.Scheme == "http" && !dev:
			return fmt.Errorf("signin_gate: %s %q is not encrypted: write an https address", option, address)
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
	if err := app.CheckPlaceholders(ctx, append(slices.Clone(h.Keys), h.Provider.ClientSecret)...); err != nil {
		return fmt.Errorf("signin_gate: %w", err)
	}
	replacer := caddy.NewReplacer()
	resolve := func(s string) (string, error) { return replacer.ReplaceOrErr(s, true, true) }
	sealing, err := gateKey.Vault(h.Keys, g.Config.Dev, resolve)
	if err != nil {
		return err
	}
	secret, err := resolve(h.Provider.ClientSecret)
	if err != nil {
		return app.Unset("signin_gate: client", err)
	}
	client, err := g.Config.Egress.ClientFor(h.Provider.CA)
	if err != nil {
		return fmt.Errorf("signin_gate: %w", err)
	}
	p := h.Provider
	provider := &oidcclient.Provider{Name: p.Name, Issuer: cmp.Or(p.Issuer, p.Address), ClientID: p.ClientID,
		Secret: strings.TrimSpace(secret), Client: client, Now: g.Now, TrustEmail: p.TrustEmail,
		Keys: p.Keys, Base: strings.TrimRight(p.Address, "/"), WantsGroups: len(h.Groups) > 0}
	metrics.OpenIDProvider(provider.Issuer)
	h.gate = &gate.Gate{Gateway: g, Provider: provider, Vault: sealing,
		Allow:  gate.Allow{Anyone: h.Anyone, Emails: h.Emails, Groups: h.Groups},
		Public: h.Public, Prefix: cmp.Or(h.Prefix, defaultPrefix),
		Life:  cmp.Or(time.Duration(h.SessionEnd), defaultSessionEnd),
		Title: h.Title, Contact: h.Contact, Returns: returns, Watch: gate.WatchEvery, Address: clientAddress, Origin: origin, Sent: sentTo,
		Log: ctx.Logger()}
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *SignInGate) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) (err error) {
	h.gate.ServeHTTP(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { err = next.ServeHTTP(w, r) }))
	return err
}

// origin returns the scheme and the host with which a browser made a request. X-Forwarded-Proto and X-Forwarded-Host count
// from trusted proxies alone.
func origin(r *http.Request) string {
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
	return (&url.URL{Scheme: scheme, Host: strings.ToLower(host)}).String()
}

// sentTo returns the address of a request as the client sent it.
func sentTo(r *http.Request) *url.URL {
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok && original.URL != nil {
		return original.URL
	}
	return r.URL
}
