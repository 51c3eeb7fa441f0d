package modules

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/apply"
	"github.com/hiregate/hiregate/modules/apply/form"
)

// ApplyForm is the directive apply_form: it serves a page for each job of a tenant, where people apply. Put it into
// handle_path, which strips the path of the mount.
type ApplyForm struct {
	Tenant string `json:"tenant,omitempty"`
	// Origins lists the origins of pages that may show the form in a frame, send to it, and be returned to, such as
	// https://www.acme.example. Default: none.
	Origins []string `json:"origins,omitempty"`
	// Name of the organisation. Default: none is shown.
	Name string `json:"name,omitempty"`
	// Logo is the path of a PNG or JPEG file of at most 100 kB. Default: none.
	Logo string `json:"logo,omitempty"`
	// Light and Dark are the colour of buttons and links on light and dark pages, as #rrggbb. Default: a green.
	Light string `json:"light,omitempty"`
	Dark  string `json:"dark,omitempty"`
	// Privacy is the address of the page that says how applications are used. Default: none.
	Privacy string `json:"privacy,omitempty"`
	// Jobs is the address of the page with all jobs. Default: none.
	Jobs string `json:"jobs,omitempty"`
	// Source says where applications come from, unless the form's address does. Default: Career site.
	Source string `json:"source,omitempty"`

	form *form.Form
}

const (
	maxLogo       = 100 << 10
	defaultSource = "Career site"
)

// CaddyModule implements caddy.Module.
func (ApplyForm) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.apply_form", New: func() caddy.Module { return new(ApplyForm) }}
}

// Provision connects the handler to the gateway.
func (h *ApplyForm) Provision(ctx caddy.Context) error {
	look := form.Look{Name: h.Name, Light: h.Light, Dark: h.Dark}
	if err := errors.Join(h.validate(), look.ValidateColours()); err != nil {
		return fmt.Errorf("apply_form: %w", err)
	}
	if h.Logo != "" {
		var err error
		if look.Logo, err = readLogo(h.Logo); err != nil {
			return fmt.Errorf("apply_form: %w", err)
		}
	}
	g, err := app.Of(ctx, "apply_form")
	if err != nil {
		return err
	}
	if h.Source == "" {
		h.Source = defaultSource
	}
	api := apply.New(apply.API{Gateway: g, Tenant: h.Tenant, Guards: applyGuards(g), Address: clientAddress, Log: ctx.Logger()})
	h.form = form.New(form.Form{Applications: api, Gateway: g, Tenant: h.Tenant, Look: look, Origins: h.Origins, Privacy: h.Privacy,
		Jobs: h.Jobs, Source: h.Source, Guards: gateway.Kept(g.Runtime, form.NewGuards), Address: clientAddress, Log: ctx.Logger()})
	return nil
}

func (h *ApplyForm) validate() error {
	if h.Tenant == "" {
		return errors.New("apply_form lacks tenant: write, for example, `tenant acme`, whose jobs people apply for")
	}
	if err := model.ValidateTenantName(h.Tenant); err != nil {
		return err
	}
	return h.validateOptions()
}

// validateOptions checks what does not depend on other options.
func (h *ApplyForm) validateOptions() error {
	for _, origin := range h.Origins {
		if err := form.ValidateOrigin(origin); err != nil {
			return err
		}
	}
	for name, address := range map[string]string{"privacy": h.Privacy, "jobs": h.Jobs} {
		if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
			return fmt.Errorf("%s takes the whole address of a page, such as https://www.acme.example/%s", name, name)
		}
	}
	return nil
}

// readLogo reads a picture that browsers show.
func readLogo(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the logo: %w", err)
	}
	kind := http.DetectContentType(raw)
	if len(raw) > maxLogo || kind != "image/png" && kind != "image/jpeg" {
		return nil, fmt.Errorf("logo %s: take a PNG or JPEG picture of at most %d kB", path, maxLogo>>10)
	}
	return raw, nil
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers every request itself.
func (h *ApplyForm) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return serve(h.form.Gateway, h.form, w, r)
}
