package metrics

import "github.com/prometheus/client_golang/prometheus"

var (
	signIns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_signin_total", Help: "What people did at sign-in, by client, event (sign-in, authorize, " +
			"sign-out) and result.",
	}, []string{"client", "event", "result"})
	tokenRequests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_signin_tokens_total", Help: "Requests of applications for tokens, by client, grant " +
			"(authorization_code, refresh_token, revoke) and result.",
	}, []string{"client", "grant", "result"})
)

func clientLabel(client string) string {
	if client == "" {
		return "_unknown"
	}
	return clients.value(client)
}

// SignIn counts an event of sign-in. The client is a known one, or empty.
func SignIn(client, event, result string) {
	signIns.WithLabelValues(clientLabel(client), event, result).Inc()
}

// Token counts a token request. The client is a known one, or empty; an unknown grant counts as other.
func Token(client, grant, result string) {
	switch grant {
	case "authorization_code", "refresh_token", "revoke":
	default:
		grant = otherLabel
	}
	tokenRequests.WithLabelValues(clientLabel(client), grant, result).Inc()
}
