package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	handlerID     = "http.handlers." // the begin of a handler's module id, before its name
	receiverName  = "export_receiver"
	documentsName = "documents"
	// validated is the cause with which Caddy ends a configuration that it has validated.
	validated = "validation complete"
	// namespaceWithin limits the time for which a validation waits for Temporal's answer.
	namespaceWithin = 3 * time.Second
)

var ours = []string{receiverName, documentsName, "manage_api", "apply_api", "apply_form", "signin", "healthz"}

// passing has Caddy's handlers that pass a request on. Any other handler is assumed to answer it.
var passing = []string{"headers", "vars", "encode", "request_body", "log_append", "tracing", "map", "authentication",
	"push", "copy_response_headers", "intercept", "templates", "invoke", "rate_limit", "signin_gate"}

// nameOf returns the name of a handler's module.
func nameOf(handler any) string {
	module, ok := handler.(caddy.Module)
	if !ok {
		return ""
	}
	return strings.TrimPrefix(string(module.CaddyModule().ID), handlerID)
}

// warnOfLosses logs how a valid configuration would lose exports or documents. It is called when all apps are
// provisioned: at the start, and at the end of a validation.
func (a *App) warnOfLosses(ctx caddy.Context) {
	app, err := ctx.AppIfConfigured("http")
	if err != nil {
		return
	}
	found := a.losses(app.(*caddyhttp.App))
	for _, sentence := range found {
		a.log.Warn(sentence)
	}
	lastLosses.Store(&found)
}

// noteSharedURLs logs which integrations have a URL that another one has as well.
func (a *App) noteSharedURLs() {
	const most = 5 // names in a line
	for _, places := range model.SharedURLs(a.gateway.Config.All()) {
		var names []string
		for _, p := range places[:min(most, len(places))] {
			names = append(names, p.Tenant+"/"+p.Integration)
		}
		more := ""
		if n := len(places) - most; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		a.log.Warn(fmt.Sprintf("%s%s have the same URL, so that their receiver can't tell by the identifier in it whose exports "+
			"come in: give each integration an identifier of its own, as a path segment or a query parameter",
			strings.Join(names, ", "), more))
	}
}

// noteShortSecrets logs which tenants and integrations of the Caddyfile have a secret that is shorter than new ones may be.
func (a *App) noteShortSecrets() {
	if a.gateway.Config.Dev {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.gateway.Config.Tenants)) {
		t := a.gateway.Config.Tenants[name]
		secrets := map[string][]model.Secret{"tenant " + name: t.Secrets}
		for _, i := range t.Integrations {
			secrets["integration "+name+"/"+i.Name] = []model.Secret{i.Secret}
		}
		for _, owner := range slices.Sorted(maps.Keys(secrets)) {
			for _, s := range secrets[owner] {
				if err := s.ValidateNew(); err != nil {
					a.log.Warn(owner + ": " + err.Error())
				}
			}
		}
	}
}

// noteProfiles logs that the Link header of exports that are triggered here leads to a page that nobody serves: by
// default that is the candidate's page in the console.
func (a *App) noteProfiles(ctx caddy.Context) {
	c := a.gateway.Config
	app, err := ctx.AppIfConfigured("http")
	public, noURL := url.Parse(c.PublicURL)
	if err != nil || noURL != nil || c.CandidateURL != defaultCandidateURL(c.PublicURL) {
		return
	}
	triggers, shown := false, false
	for _, server := range app.(*caddyhttp.App).Servers {
		for _, route := range server.Routes {
			triggers = triggers || slices.Contains(namesOf(route), "apply_api") || slices.Contains(namesOf(route), "apply_form")
		}
		shown = shown || nameOf(answering(server, public.JoinPath("console", "candidates", "tenant", "id"))) == "console"
	}
	if triggers && !shown {
		a.log.Info("the Link header of exports leads to " + c.CandidateURL + ", and nobody can sign in there: serve the console " +
			"at " + c.PublicURL + "/console, or write `candidate_url " + exampleCandidateURL + "`")
	}
}

var lastLosses atomic.Pointer[[]string]

// Losses returns the sentences that warnOfLosses logged last.
func Losses() []string {
	if found := lastLosses.Load(); found != nil {
		return *found
	}
	return nil
}

// examined has the findings of the last validation; nil: none is asked for.
var examined atomic.Pointer[[]gateway.Finding]

// ExamineAfterValidation has each validation examine the world from now on. Findings returns what the last one found.
func ExamineAfterValidation() { examined.Store(new([]gateway.Finding)) }

// Findings returns what the last validation found out about the world, if it examined that.
func Findings() []gateway.Finding {
	if found := examined.Load(); found != nil {
		return *found
	}
	return nil
}

// warnAfterValidation is for hiregate validate: it also asks Temporal for the namespace, which the workers do at a
// start, or examines the world.
func (a *App) warnAfterValidation(ctx caddy.Context) {
	if ctx.Context == nil || a.gateway.Runtime == nil {
		return
	}
	if cause := context.Cause(ctx); cause == nil || cause.Error() != validated {
		return
	}
	a.warnOfLosses(ctx)
	a.noteSharedURLs()
	a.noteShortSecrets()
	a.noteProfiles(ctx)
	a.noteLoneGates(ctx)
	a.noteAbsentSignInHosts(ctx)
	for _, t := range a.Tenants {
		if t.Invalid == "quarantine" && t.Deviations == "" {
			a.log.Info("exports with listed deviations from the schema, and no other fault, are delivered and not held: write "+
				"`deviations quarantine` to hold them, or `deviations accept` to say that this is meant",
				zap.String("tenant", t.Name))
		}
	}
	if a.Erasures == "" && a.Documents != "" {
		a.log.Info("what was erased comes back with a backup: keep a list of erasures apart from database and documents, with " +
			"`erasures " + exampleErasures + "`")
	}
	if examined.Load() != nil {
		found := a.gateway.Examine(context.Background())
		examined.Store(&found)
		return
	}
	within, cancel := context.WithTimeout(context.Background(), namespaceWithin)
	defer cancel()
	// A database that can't be read is no fault of the configuration: it may not be there yet.
	unserved, _ := a.gateway.UnservedHelpers(within)
	for _, sentence := range unserved {
		a.log.Warn(sentence)
	}
	fault := new(gateway.TemporalFault)
	if errors.As(a.gateway.Runtime.Namespace(within, a.gateway.Config), &fault) {
		a.log.Warn(fault.Reason + a.places.of("temporal"))
	}
}

// losses returns a sentence for each part of the sites that would lose exports or documents.
func (a *App) losses(app *caddyhttp.App) (all []string) {
	if a.Documents == "" { // nor are there exports
		return nil
	}
	public, err := url.Parse(a.gateway.Config.PublicURL)
	if err != nil {
		return nil
	}
	serves, served := false, false
	for _, name := range slices.Sorted(maps.Keys(app.Servers)) {
		server := app.Servers[name]
		for _, route := range server.Routes {
			names, host := namesOf(route), hostOf(route)
			if len(names) == 0 && host != anyHost {
				continue
			}
			serves = serves || slices.ContainsFunc(names, func(name string) bool { return name != "healthz" })
			at := &url.URL{Scheme: public.Scheme, Host: host, Path: "/an/unknown/path"}
			catchAll := answering(server, at)
			if status, ok := succeeding(catchAll); ok {
				site, where := "site "+host, a.places.of("public_url")
				if host == anyHost {
					site = "the site for all other hosts"
				}
				if len(names) > 0 {
					where = fmt.Sprintf(" (it has %s%s)", names[0], a.places.of(names[0]))
				}
				all = append(all, fmt.Sprintf("%s answers %d to an unknown path, and whoever sends an export there takes it "+
					"for received; let its catch-all answer 404, as `handle { welcome }` does%s", site, status, where))
			}
			if len(names) > 0 && catchAll == nil {
				all = append(all, fmt.Sprintf("site %s has no catch-all: Caddy answers an unknown path with an empty "+
					"200, and whoever sends an export there takes it for received; end the site with "+
					"`handle { welcome }` (it has %s%s)", host, names[0], a.places.of(names[0])))
			}
		}
		for _, sentence := range a.unfilled(server.Routes, nil) {
			all = append(all, sentence+a.places.of(receiverName))
		}
		at := public.JoinPath("documents", strings.Repeat("a", 43))
		served = served || nameOf(answering(server, at)) == documentsName
	}
	if serves && !served {
		all = append(all, fmt.Sprintf("nobody serves %s/documents, where the documents of exports are said to be: put "+
			"`handle_path /documents/* { documents }` into the site of public_url%s", a.gateway.Config.PublicURL,
			a.places.of("public_url")))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// namesOf returns the names of our handlers in a route.
func namesOf(route caddyhttp.Route) (names []string) {
	for _, handler := range route.Handlers {
		if sub, ok := handler.(*caddyhttp.Subroute); ok {
			for _, one := range sub.Routes {
				names = append(names, namesOf(one)...)
			}
		} else if name := nameOf(handler); slices.Contains(ours, name) {
			names = append(names, name)
		}
	}
	return names
}

// hostOf returns a host that a route of a server is for.
func hostOf(route caddyhttp.Route) string {
	return strings.ReplaceAll(hostsOf(route)[0], "*", "any")
}

// anyHost stands for the hosts of a site that names none.
const anyHost = "any.invalid"

// succeeding reports whether a handler answers with a fixed status of 2xx, whatever comes.
func succeeding(handler any) (status int, ok bool) {
	fixed, ok := handler.(*caddyhttp.StaticResponse)
	if !ok || fixed.Abort {
		return 0, false
	}
	status = http.StatusOK
	if written := string(fixed.StatusCode); written != "" {
		var err error
		if status, err = strconv.Atoi(written); err != nil { // a placeholder
			return 0, false
		}
	}
	return status, status/100 == 2
}

// answering returns the handler with which a server answers a POST to an address; nil: there is none, and Caddy answers
// an empty 200.
func answering(server *caddyhttp.Server, at *url.URL) any {
	r, err := http.NewRequest(http.MethodPost, at.String(), http.NoBody)
	if err != nil {
		return nil
	}
	r.RemoteAddr, r.RequestURI = "192.0.2.1:1", at.RequestURI()
	repl := caddy.NewReplacer()
	return answeringOf(server.Routes, caddyhttp.PrepareRequest(r, repl, nil, server), repl)
}

func answeringOf(routes caddyhttp.RouteList, r *http.Request, repl *caddy.Replacer) any {
	groups := map[string]bool{}
	for _, route := range routes {
		if groups[route.Group] || !matches(route, r) {
			continue
		}
		groups[route.Group] = route.Group != ""
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *caddyhttp.Subroute:
				if found := answeringOf(h.Routes, r, repl); found != nil {
					return found
				}
			case *rewrite.Rewrite:
				h.Rewrite(r, repl)
			default:
				if !slices.Contains(passing, nameOf(h)) {
					return h
				}
			}
		}
		if route.Terminal {
			return nil
		}
	}
	return nil
}

// matches reports whether a route is for a request. A matcher that needs more than the address does not match.
func matches(route caddyhttp.Route, r *http.Request) (ok bool) {
	defer func() { _ = recover() }()
	ok, err := route.MatcherSets.AnyMatchWithError(r)
	return ok && err == nil
}

// unfilled returns a sentence for each export receiver whose tenant comes from a path segment that its routes fix.
// paths are the patterns of the routes above; nil: any.
func (a *App) unfilled(routes caddyhttp.RouteList, paths []string) (all []string) {
	for _, route := range routes {
		here, own := paths, patternsOf(route)
		if own != nil {
			here = own
		}
		for _, handler := range route.Handlers {
			switch h := handler.(type) {
			case *caddyhttp.Subroute:
				all = append(all, a.unfilled(h.Routes, here)...)
			case *rewrite.Rewrite:
				if here = rewritten(here, h); own == nil { // the routes after it get the rewritten path
					paths = here
				}
			case interface{ TenantSegment() (int, bool) }:
				n, ok := h.TenantSegment()
				fills := func(pattern string) bool { return a.fills(pattern, n) }
				if ok && here != nil && !slices.ContainsFunc(here, fills) {
					all = append(all, fmt.Sprintf("tenant_from path %d of export_receiver finds no tenant in any address "+
						"that comes to it (%s): count the segments of what is left of the path, the first one being 0, "+
						"and leave that one open with *", n, strings.Join(here, ", ")))
				}
			}
		}
	}
	return all
}

// patternsOf returns the path patterns of a route; nil: any path, or they are not known.
func patternsOf(route caddyhttp.Route) (patterns []string) {
	for _, set := range route.MatcherSets {
		at := slices.IndexFunc(set, func(matcher any) bool { _, ok := matcher.(*caddyhttp.MatchPath); return ok })
		if at < 0 {
			return nil
		}
		patterns = append(patterns, *set[at].(*caddyhttp.MatchPath)...)
	}
	return patterns
}

// rewritten returns patterns after a rewrite; nil if the rewrite does more than strip a prefix.
func rewritten(patterns []string, by *rewrite.Rewrite) (left []string) {
	if by.StripPathPrefix == "" || by.URI != "" {
		return nil
	}
	for _, pattern := range patterns {
		rest := strings.TrimPrefix(pattern, by.StripPathPrefix)
		if !strings.HasPrefix(rest, "/") {
			rest = "/" + rest
		}
		left = append(left, rest)
	}
	return left
}

// fills reports whether a segment of a pattern can hold a tenant: it is open, or it is the name of a declared tenant.
func (a *App) fills(pattern string, n int) bool {
	segments := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	if n >= len(segments) {
		return strings.Contains(pattern, "*")
	}
	_, declared := a.gateway.Config.Tenants[segments[n]]
	return declared || strings.Contains(segments[n], "*")
}
