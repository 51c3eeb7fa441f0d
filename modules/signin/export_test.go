package signin

import (
	"time"

	"github.com/hiregate/hiregate/internal/identity"
)

// Generate makes a key, so that the tests need not make one each.
func (r *Ring) Generate(a identity.Algorithm, at time.Time) (*identity.Key, error) {
	return r.generate(a, 1, at, at)
}

// Purposes are all that something is sealed for.
var Purposes = []string{forSigningKeys, forFactors, forFactor, forOwnFactor, forChoice, forRecovery, forConsent, forVisits, forRequests}
