package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	signIns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_signin_total", Help: "What people did at sign-in, by client, event (sign-in, authorize, sign-out) and result.",
	}, []string{"client", "event", "result"})
	tokenRequests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_signin_tokens_total", Help: "Requests of applications for tokens, by client, grant (authorization_code, refresh_token, revoke) and result.",
	}, []string{"client", "grant", "result"})
)

func init() { all = append(all, signIns, tokenRequests) }

// maxClients is how many clients get a label value of their own; all further ones share _other.
const maxClients = 200

var clients = struct {
	sync.Mutex
	seen map[string]struct{}
}{seen: map[string]struct{}{}}

func clientLabel(client string) string {
	if client == "" {
		return "_unknown"
	}
	clients.Lock()
	defer clients.Unlock()
	if _, ok := clients.seen[client]; !ok && len(clients.seen) >= maxClients {
		return "_other"
	}
	clients.seen[client] = struct{}{}
	return client
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
		grant = "_other"
	}
	tokenRequests.WithLabelValues(clientLabel(client), grant, result).Inc()
}
