package metrics

import "github.com/prometheus/client_golang/prometheus"

var (
	signIns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_signin_total", Help: "What people did at sign-in, by client, event (sign-in, authorize, sign-out) and result.",
	}, []string{"client", "event", "result"})
	tokenRequests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_signin_tokens_total", Help: "Requests of applications for tokens, by client, grant (authorization_code, refresh_token, revoke) and result.",
	}, []string{"client", "grant", "result"})
)

func clientLabel(client string) string {
	if client == "" {
		return "_unknown"
	}
	return clients.value(client)
}

// SignIn counts what somebody did at sign-in. The client is one that is known, or empty.
func SignIn(client, event, result string) {
	signIns.WithLabelValues(clientLabel(client), event, result).Inc()
}

// Token counts a request of an application. The client is one that is known, or empty; a grant that is not known counts as other.
func Token(client, grant, result string) {
	switch grant {
	case "authorization_code", "refresh_token", "revoke":
	default:
		grant = otherLabel
	}
	tokenRequests.WithLabelValues(clientLabel(client), grant, result).Inc()
}
