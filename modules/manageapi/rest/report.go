package rest

import (
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
)

// report logs who did what to which resource, only by ids: what was changed, and what was read of people. It logs and
// counts rejected keys.
func (s *Server) report(r *Request, route Route, good bool) {
	fields := append([]zap.Field{zap.String("actor", r.Caller.ID), zap.String("request", route.Method+" "+route.Path)},
		r.Logged...)
	switch {
	case r.denied != "":
		metrics.KeyRefused("manage", r.denied)
		if r.denied != metrics.KeyMissing {
			s.refusals.Warn("API key refused: "+r.denied, fields...)
		}
	case r.again:
	case good && (route.Personal || route.Method != http.MethodGet):
		s.log.Info(r.message(route), append(fields, r.target(route)...)...)
	case len(r.Logged) > 0:
		s.log.Info(r.message(route)+" before the request failed", append(fields, r.target(route)...)...)
	}
}

// message names the thing and the verb. A PUT has created or changed it.
func (r *Request) message(route Route) string {
	if route.Method == http.MethodPut && r.Location != "" {
		return route.Thing + " created"
	}
	return route.Thing + " " + route.Verb
}

// target says what a request is about: the tenant, the kind and id of the resource that the path names or else of what
// it lists, and what was made. An id that is unique within another resource has that one's in front.
func (r *Request) target(route Route) []zap.Field {
	segments := strings.Split(route.Path, "/")
	kind, ids := segments[len(segments)-1], []string(nil)
	for n, segment := range segments {
		if name, ok := strings.CutPrefix(segment, "{"); ok && (segment != "{tenant}" || n == len(segments)-1) {
			kind, ids = segments[n-1], append(ids, r.PathValue(strings.TrimSuffix(name, "}")))
		}
	}
	fields := []zap.Field{
		zap.String("tenant", r.PathValue("tenant")), zap.String("kind", kind), zap.String("id", strings.Join(ids, "/")),
	}
	if r.Location != "" {
		fields = append(fields, zap.String("made", r.Location))
	}
	return fields
}
