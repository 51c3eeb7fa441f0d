package manageapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// things are the names, in the log, of what a path is about, by its last segment that is among them; one that ends with
// s stands for several.
var things = map[string]string{
	"api-keys": "API key", "api-users": "API user", "oauth-clients": "OAuth client", "former-secrets": "former secret",
	"users": "user", "totp": "second factor", "upstream-accounts": "upstream account", "sessions": "session", "recovery": "recovery link", "sign-ins": "sign-in",
	"tenants": "tenant", "apply-upstream": "upstream", "portal": "portal link", "portals": "portal link", "sample": "sample export", "secrets": "inbound secret",
	"receiver-tests": "receiver", "integrations": "integration",
	"causes": "cause", "acknowledgement": "acknowledgement of a cause",
	"candidates": "candidate", "compliance-report": "compliance report",
	"jobs": "job", "questions": "question", "check": "answers", "steps": "step", "helper": "workflow helper",
	"job-applications": "job application", "documents": "document", "content": "document content",
	"files": "file", "answers": "job application answers", "transitions": "job application", "versions": "version",
	"exports": "export", "export-search": "export answers", "body": "export body", "erasures": "exports of a candidate",
	"event-subscriptions": "event subscription", "events": "event",
	"takeout": "takeout", "import": "import", "job-applications.csv": "table of job applications",
	"submissions": "submission", "redeliveries": "redelivery", "redeliver": "redelivery", "strays": "stray workflow",
}

// verbs say in the log what was done, by the last segment of a POST, or else by the method.
var verbs = map[string]string{
	http.MethodGet: "read", http.MethodPost: "created", http.MethodPut: "changed", http.MethodDelete: "removed",
	http.MethodPatch: "changed in part", "import": "begun",
	"sample": "sent", "receiver-tests": "tested", "disable": "disabled", "enable": "enabled", "test": "tested", "retry": "retried", "reset": "reset", "totp": "required",
	"check": "checked", "transitions": "moved", "body": "read", "answers": "read", "release": "released",
	"dump": "dumped", "erase": "erased", "erasures": "erased", "pause": "paused", "resume": "resumed",
	"cancel": "cancelled", "end": "ended", "reopen": "reopened", "choose": "chose", "resolve": "resolved",
	"show": "shown", "fetch": "fetched", "export-search": "searched",
}

// worded returns the routes with the words of the log.
func worded(routes []rest.Route) []rest.Route {
	for n, r := range routes {
		segments := strings.Split(r.Path, "/")
		last := segments[len(segments)-1]
		thing, verb := "", verbs[r.Method]
		for _, segment := range slices.Backward(segments) {
			if thing = things[segment]; thing == "" {
				continue
			}
			if segment == last && strings.HasSuffix(segment, "s") && r.Method != http.MethodPost {
				thing += "s"
			}
			break
		}
		if said, ok := verbs[last]; ok && r.Method == http.MethodPost {
			verb = said
		}
		routes[n].Thing, routes[n].Verb = thing, verb
	}
	return routes
}
