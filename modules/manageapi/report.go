package manageapi

import (
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
)

// report logs who did what to which resource, by ids alone. It logs and counts rejected keys.
func (a *API) report(r *request, route route, good bool) {
	fields := append([]zap.Field{zap.String("actor", r.caller.id), zap.String("request", route.method+" "+route.path)},
		r.logged...)
	switch {
	case r.denied != "":
		metrics.KeyRefused("manage", r.denied)
		if r.denied != metrics.KeyMissing {
			a.refusals.Warn("an API key was refused: "+r.denied, fields...)
		}
	case r.again:
	case good && route.personal:
		a.log.Info("personal data was read", append(fields, r.target(route)...)...)
	case good && route.method != http.MethodGet:
		a.log.Info("something was changed", append(fields, r.target(route)...)...)
	case len(r.logged) > 0:
		a.log.Info("something was changed before the request failed", append(fields, r.target(route)...)...)
	}
}

// target says what a request is about: the tenant, the kind and id of the resource that the path names or else of what
// it lists, and what was made. An id that is unique within another resource has that one's in front.
func (r *request) target(route route) []zap.Field {
	segments := strings.Split(route.path, "/")
	kind, ids := segments[len(segments)-1], []string(nil)
	for n, segment := range segments {
		if name, ok := strings.CutPrefix(segment, "{"); ok && (segment != "{tenant}" || n == len(segments)-1) {
			kind, ids = segments[n-1], append(ids, r.PathValue(strings.TrimSuffix(name, "}")))
		}
	}
	fields := []zap.Field{
		zap.String("tenant", r.PathValue("tenant")), zap.String("kind", kind), zap.String("id", strings.Join(ids, "/")),
	}
	if r.location != "" {
		fields = append(fields, zap.String("made", r.location))
	}
	return fields
}
