// Package rest serves resources as JSON over HTTP: it has the table of routes, who may use them, the reading of
// requests with their pages and preconditions, idempotency, the audit and the answers. It knows tenants, whose names
// are in the paths, and no other resource.
package rest

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/welcome"
)

// Server serves routes, whatever path it is mounted under; that path is taken off before.
//
// Answers are JSON, errors application/problem+json. Times are RFC 3339 in UTC; a time that is not set is left out.
type Server struct {
	gateway func() *gateway.Gateway
	access  Access
	log     *zap.Logger
	// refusals is log, sampled: whoever has no key must not fill the disk.
	refusals *zap.Logger
	mux      *http.ServeMux
}

// New returns the server of some routes. It calls gateway for each request; nil means no gateway is running. documents
// are JSON documents that everybody may read, by their paths; where they write Service, the maker's name is put.
func New(
	gateway func() *gateway.Gateway, access Access, log *zap.Logger, routes []Route, documents map[string][]byte,
) *Server {
	sampled := zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(c, time.Minute, refusalsAMinute, 0)
	})
	s := &Server{gateway: gateway, access: access, log: log, refusals: log.WithOptions(sampled), mux: http.NewServeMux()}
	allowed := map[string][]string{}
	handle := func(method, path string, h http.HandlerFunc) {
		s.mux.HandleFunc(method+" "+path, h)
		allowed[path] = append(allowed[path], method)
		if method == http.MethodGet {
			allowed[path] = append(allowed[path], http.MethodHead)
		}
	}
	for _, r := range routes {
		handle(r.Method, r.Path, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r) })
	}
	for path, document := range documents {
		handle(http.MethodGet, path, func(w http.ResponseWriter, _ *http.Request) {
			body := document
			if g := s.gateway(); g != nil {
				body = bytes.ReplaceAll(body, []byte("Service"), []byte(g.Config.Names.Service))
			}
			(&answer{status: http.StatusOK, body: body}).write(w)
		})
	}
	for path, methods := range allowed {
		slices.Sort(methods)
		allow := strings.Join(methods, ", ")
		s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { problem.MethodNotAllowed(w, allow) })
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { nothingHere.Write(w) })
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !welcome.WantsPage(r) {
			nothingHere.Write(w)
			return
		}
		welcome.Show(w, r, http.StatusOK, welcome.Manage)
	})
	return s
}

// refusalsAMinute is the most refused keys that the log has a minute, of each reason; the metric counts them all.
const refusalsAMinute = 10

var nothingHere = problem.New(http.StatusNotFound, "the management API has nothing at this address")

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if gateway.LeadsAway(r) {
		nothingHere.Write(w)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, route Route) {
	g := s.gateway()
	if g == nil {
		problem.New(http.StatusServiceUnavailable, "no gateway is running here: its configuration has no global option "+
			"hiregate, or it is just starting or ending").
			RetryAfter(time.Second).Write(w)
		return
	}
	if s.access == Local {
		w.Header().Set("Server", fmt.Sprintf("hiregate (%s, process %d)", g.Config.PublicURL, os.Getpid()))
	}
	release, ok := g.Hold(w)
	if !ok {
		problem.Unavailable(w)
		return
	}
	defer release()
	req := &Request{Request: r, Writer: w, Gateway: g, DB: g.Runtime.Store(), Log: s.log, route: route,
		Status: route.Status}
	err := req.authorize(s.access, route)
	if err == nil && gateway.Encoded(r.Header) {
		err = problem.New(http.StatusUnsupportedMediaType, "send the body as it is, without Content-Encoding").Closing()
	}
	if err == nil && route.Place != nil {
		var release func()
		if release, err = route.Place(req); err == nil {
			defer release()
		}
	}
	if err == nil && !route.Streamed {
		err = req.read(cmp.Or(route.MaxBody, maxBody))
	}
	if err == nil && len(req.Content) > 0 {
		err = req.AuthenticateAgain()
	}
	if err == nil && route.Bodiless {
		_, err = DecodeAny[struct{}](req)
	}
	if err == nil {
		err = req.prepare(route)
	}
	if err != nil {
		req.refuse(err)
		s.report(req, route, false)
		return
	}
	run := func() (any, error) { return route.Serve(req) }
	if route.Method == http.MethodPost && !route.Streamed {
		once := run
		run = func() (any, error) { return req.ExactlyOnce(nil, once, route.Repeat) }
	}
	s.report(req, route, req.answer(run()))
}
