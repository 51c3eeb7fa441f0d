package manage

import (
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
)

// report has the log tell who did what to what, by ids alone, and who was kept out; it counts the latter.
func (a *API) report(r *request, route route, good bool) {
	fields := append([]zap.Field{zap.String("key", r.caller.id), zap.String("request", route.method+" "+route.path)}, r.told...)
	switch {
	case r.denied != "":
		metrics.KeyRefused("manage", r.denied)
		if r.denied != metrics.KeyMissing {
			a.refusals.Warn("an API key was refused: "+r.denied, fields...)
		}
	case good && route.method != http.MethodGet:
		a.log.Info("an API key changed something", append(fields, r.target(route)...)...)
	case good && route.personal:
		a.log.Info("an API key read personal data", append(fields, r.target(route)...)...)
	case len(r.told) > 0:
		a.log.Info("an API key changed something before its request failed", append(fields, r.target(route)...)...)
	}
}

// target says what a request is about: the tenant, the last resource that the path names, or else the kind that it lists, and what was made.
func (r *request) target(route route) []zap.Field {
	segments := strings.Split(route.path, "/")
	kind, id := segments[len(segments)-1], ""
	for n, segment := range segments {
		if name, ok := strings.CutPrefix(segment, "{"); ok && (segment != "{tenant}" || n == len(segments)-1) {
			kind, id = segments[n-1], r.PathValue(strings.TrimSuffix(name, "}"))
		}
	}
	fields := []zap.Field{zap.String("tenant", r.PathValue("tenant")), zap.String("kind", kind), zap.String("id", id)}
	if r.location != "" {
		fields = append(fields, zap.String("made", r.location))
	}
	return fields
}
