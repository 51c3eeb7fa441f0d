package metrics

import "github.com/prometheus/client_golang/prometheus"

var (
	signIns = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_signin_total", Help: "What people did at sign-in, by client, event (sign-in, authorize, " +
			"sign-out) and result.",
	}, []string{"client", "event", "result"}))
	tokenRequests = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_signin_tokens_total", Help: "Requests of applications for tokens, by client, grant " +
			"(authorization_code, refresh_token, revoke) and result.",
	}, []string{"client", "grant", "result"}))
	signInRefused = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_signin_refused_total", Help: "Authorization requests that led nowhere, by reason: unknown_client, " +
			"disabled_client, redirect_uri_differs, redirect_uri_missing_or_repeated.",
	}, []string{"reason"}))
	providerRequests = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_openid_provider_requests_total", Help: "Requests to OpenID providers where people sign in, by issuer " +
			"and result: answered; failed: it did not answer, or with 5xx.",
	}, []string{"issuer", "result"}))
	passwordsWaiting = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_password_checks_waiting", Help: "Passwords of people and of users of the Apply API that wait to be checked.",
	}))
	passwordsRefused = collected(prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hiregate_password_checks_refused_total", Help: "Passwords that were not checked, since too many waited.",
	}))
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

// SignInRefused counts an authorization request that led nowhere, by one of identity.RefusalReasons.
func SignInRefused(reason string) { signInRefused.WithLabelValues(reason).Inc() }

// OpenIDProvider has the requests to a provider counted from 0 on.
func OpenIDProvider(issuer string) {
	for _, result := range []string{"answered", "failed"} {
		providerRequests.WithLabelValues(issuer, result)
	}
}

// OpenIDProviderAsked counts a request to a provider.
func OpenIDProviderAsked(issuer string, answered bool) {
	result := "failed"
	if answered {
		result = "answered"
	}
	providerRequests.WithLabelValues(issuer, result).Inc()
}

// PasswordsWaiting adds to the passwords that wait to be checked.
func PasswordsWaiting(change int) { passwordsWaiting.Add(float64(change)) }

// PasswordRefused counts a password that was not checked, since too many waited.
func PasswordRefused() { passwordsRefused.Inc() }

// Token counts a token request. The client is a known one, or empty; an unknown grant counts as other.
func Token(client, grant, result string) {
	switch grant {
	case "authorization_code", "refresh_token", "revoke":
	default:
		grant = otherLabel
	}
	tokenRequests.WithLabelValues(clientLabel(client), grant, result).Inc()
}
