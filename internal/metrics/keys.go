package metrics

import "github.com/prometheus/client_golang/prometheus"

// The reasons for which a key or token is refused.
const (
	KeyMissing         = "missing"
	KeyUnknown         = "unknown" // or an expired or revoked token of the Apply API
	KeyRevoked         = "revoked"
	KeyExpired         = "expired"
	KeyOfAnotherTenant = "tenant"
	KeyOfAnotherRole   = "role"
)

var keysRefused = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "hiregate_keys_refused_total",
	Help: "Requests whose key or token was refused, by API (manage, apply) and reason: missing, unknown, " +
		"revoked, expired, tenant, role.",
}, []string{"api", "reason"}))

// KeyRefused counts a request whose key or token was refused, by one of these reasons.
func KeyRefused(api, reason string) { keysRefused.WithLabelValues(api, reason).Inc() }
