package metrics

import "github.com/prometheus/client_golang/prometheus"

// Why a key or token is refused.
const (
	KeyMissing         = "missing"
	KeyUnknown         = "unknown" // a token of the Apply API is that as well once it is over or revoked
	KeyRevoked         = "revoked"
	KeyOfAnotherTenant = "tenant"
	KeyOfAnotherRole   = "role"
)

var keysRefused = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "hiregate_keys_refused_total",
	Help: "Requests whose key or token was refused, by API (manage, apply) and reason: missing, unknown, revoked, tenant, role.",
}, []string{"api", "reason"})

// KeyRefused counts a request whose key or token was refused, for one of the reasons above.
func KeyRefused(api, reason string) { keysRefused.WithLabelValues(api, reason).Inc() }
