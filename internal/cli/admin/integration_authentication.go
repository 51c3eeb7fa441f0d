package admin

import (
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
)

// authenticationOf lists which credentials an integration has; empty: none.
func authenticationOf(a *api.AuthenticationSet) string {
	if a == nil {
		return ""
	}
	all := slices.Clone(a.Headers)
	if a.Scheme != "" {
		all = append(all, a.Scheme)
	}
	if !a.CertificateEndsAt.IsZero() {
		all = append(all, "client certificate")
	}
	if a.CA {
		all = append(all, "own authorities")
	}
	return strings.Join(all, ", ")
}

func certificateEnd(a *api.AuthenticationSet) (at time.Time) {
	if a != nil {
		at = a.CertificateEndsAt
	}
	return at
}
