package signin

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
)

// Generate makes a key, so that the tests need not make one each.
func (r *Ring) Generate(a identity.Algorithm, at time.Time) (*identity.Key, error) {
	return r.generate(a, 1, at, at)
}

// Purposes are all that something is sealed for.
var Purposes = []string{forSigningKeys, forFactors, forPassed, forVisits, forRequests}

// Discovered gives the address of the metadata where people are sent.
func (u *Upstream) Discovered(ctx context.Context) (string, error) {
	found, err := u.discovered(ctx)
	if err != nil {
		return "", err
	}
	return found.Endpoint().AuthURL, nil
}

// Ticket and Read are for the tests of what is sealed.
func (v *Vault) Ticket(purpose, owner string, content any) (string, error) {
	return v.ticket(purpose, owner, content)
}

func (v *Vault) Read(purpose, owner, ticket string, into any) bool {
	return v.read(purpose, owner, ticket, into)
}
