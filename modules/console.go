package modules

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	inner "github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/console"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// Console is the directive console: the web console. Put it into handle_path /console*, which strips the path.
type Console struct {
	// URL is the console's address in browsers. Default: <public_url>/console. Its redirect URI at the issuer is
	// <url>/callback.
	URL string `json:"url,omitempty"`
	// Title is the name of the service on the pages. Default: service_name.
	Title string `json:"title,omitempty"`
	// Environment is a label beside the title, such as production or test. Default: there is none.
	Environment string `json:"environment,omitempty"`
	// Issuer is the OpenID provider that signs people in. Default: <public_url>/signin.
	Issuer string `json:"issuer,omitempty"`
	// ClientID and ClientSecret identify the console at the issuer. The secret is a placeholder. Required with an
	// issuer; at the gateway's own sign-in, the console registers itself.
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`
	// CA is a file of the authorities that may have signed the issuer's certificate. Default: the system's.
	CA string `json:"ca,omitempty"`
	// Keys are placeholders of the keys that seal its cookies: the first seals, the others open what was sealed before.
	// Required.
	Keys []string `json:"keys,omitempty"`
	// Roles give people their rights. The first one without labels that fits a person counts, and at tenants with their
	// labels all others that do, if they are stronger. Required.
	Roles []ConsoleRole `json:"roles,omitempty"`

	console *console.Console
}

// ConsoleRole gives a role to people, by their e-mail addresses or their groups at the issuer (claim groups).
type ConsoleRole struct {
	Role   string `json:"role"`             // viewer, operator, recruiter or administrator
	Tenant string `json:"tenant,omitempty"` // default: all tenants
	// Labels such as region=north make it a role at the tenants that have all of them. Default: at the tenant, or at all.
	Labels []string `json:"labels,omitempty"`
	Emails []string `json:"emails,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Source is the file and the line of the Caddyfile where it stands. Default: it is not known.
	Source string `json:"source,omitempty"`
}

// CaddyModule implements caddy.Module.
func (Console) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.console", New: func() caddy.Module { return new(Console) }}
}

var consoleKey = app.SealKey{Option: "console: key", Of: "its cookies"}

var (
	errConsoleIncomplete = errors.New("console is not complete: add key and roles; docs/console.md has an example")
	errEnvironment       = fmt.Errorf("console: environment takes a word of at most %d characters, such as production or test",
		maxEnvironment)
	errConsoleClient = errors.New("console: an issuer of your own needs client_id and client_secret, as they are " +
		"registered there")
)

// maxEnvironment bounds the label of the environment, in characters: it stands beside the title.
const maxEnvironment = 24

// check reports what is missing or too long.
func (h *Console) check() error {
	switch {
	case utf8.RuneCountInString(h.Environment) > maxEnvironment:
		return errEnvironment
	case len(h.Keys) == 0 || len(h.Roles) == 0:
		return errConsoleIncomplete
	case (h.ClientID == "") != (h.ClientSecret == "") || h.Issuer != "" && h.ClientID == "":
		return errConsoleClient
	}
	return nil
}

// Provision connects the handler to the gateway. It touches no database, and no file but ca.
func (h *Console) Provision(ctx caddy.Context) error {
	g, err := app.Of(ctx, "console")
	if err != nil {
		return err
	}
	if err := h.check(); err != nil {
		return err
	}
	public := g.Config.PublicURL
	issuer, here := cmp.Or(h.Issuer, public+"/signin"), cmp.Or(h.URL, public+"/console")
	if err := cmp.Or(checkConsoleAddress("issuer", issuer, g.Config.Dev),
		checkConsoleAddress("url", here, g.Config.Dev)); err != nil {
		return err
	}
	placeholders := slices.Clone(h.Keys)
	if h.ClientSecret != "" {
		placeholders = append(placeholders, h.ClientSecret)
	}
	if err := app.CheckPlaceholders(ctx, placeholders...); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	replacer := caddy.NewReplacer()
	resolve := func(s string) (string, error) { return replacer.ReplaceOrErr(s, true, true) }
	secret, err := resolve(h.ClientSecret)
	if err != nil {
		return app.Unset("console: client_secret", err)
	}
	sealing, err := consoleKey.Vault(h.Keys, g.Config.Dev, resolve)
	if err != nil {
		return err
	}
	client, err := g.Config.Egress.ClientFor(h.CA)
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	c := console.Console{Gateway: g, URL: here, Title: cmp.Or(h.Title, g.Config.Names.Service),
		Environment: h.Environment, Log: ctx.Logger(),
		Address: clientAddress, Vault: sealing, API: manageapi.NewForPeople(func() *inner.Gateway { return g }, ctx.Logger().Named("manage")),
		Issuer: &oidcclient.Provider{Issuer: issuer, ClientID: h.ClientID, Secret: strings.TrimSpace(secret),
			Client: client, Now: g.Now}}
	if c.Own = h.ClientID == ""; c.Own {
		if err := console.OwnClient(c.Issuer, sealing, here); err != nil {
			return err
		}
	}
	for _, r := range h.Roles {
		if err := r.validate(); err != nil {
			return err
		}
		labels, err := model.ParseLabels(r.Labels)
		if err != nil {
			return err
		}
		c.Grants = append(c.Grants, console.Grant{Role: r.Role, Tenant: r.Tenant, Labels: labels,
			Emails: r.Emails, Groups: r.Groups, Source: r.Source})
	}
	if h.console, err = console.New(c); err == nil {
		g.PortalLink = h.console.PortalLink
	}
	return err
}

// checkConsoleAddress checks an address of the console's configuration.
func checkConsoleAddress(option, address string, dev bool) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("console: %s %q: write an address such as https://gate.example.com/console", option, address)
	case u.Scheme == "http" && !dev:
		return fmt.Errorf("console: %s %q is not encrypted: write an https address", option, address)
	case strings.HasSuffix(address, "/"):
		return fmt.Errorf("console: %s %q: leave out the slash at the end", option, address)
	}
	return nil
}

func (r *ConsoleRole) validate() error {
	if _, ok := console.Roles[r.Role]; !ok {
		return fmt.Errorf("console: there is no role %q: write viewer, operator, recruiter or administrator", r.Role)
	}
	if r.Tenant != "" {
		if err := model.ValidateTenantName(r.Tenant); err != nil {
			return fmt.Errorf("console: %w", err)
		}
	}
	if _, err := model.ParseLabels(r.Labels); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	switch {
	case r.Labels != nil && len(r.Labels) == 0:
		return errors.New("console: labels is empty: name some, or leave it out for all tenants")
	case r.Labels != nil && r.Tenant != "":
		return fmt.Errorf("console: a role is for the tenant %s or for those with labels: write two lines", r.Tenant)
	}
	if len(r.Emails)+len(r.Groups) == 0 {
		return fmt.Errorf("console: the role %s goes to nobody: write, for example, `%[1]s email ops@example.com`", r.Role)
	}
	return nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *Console) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return serve(h.console.Gateway, h.console, w, r)
}
