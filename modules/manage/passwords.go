package manage

import (
	"errors"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
)

// anotherPassword hashes the password that is sent into a user; without one it makes one, which it gives.
func (r *request) anotherPassword(into *string) (made string, p *problem.Problem) {
	in, p := decodeAny[struct {
		Password string `json:"password"`
	}](r)
	if p != nil {
		return "", p
	}
	return r.hashed(in.Password, into)
}

// hashed hashes a password into a user; without one it makes one, which it gives.
func (r *request) hashed(plain string, into *string) (made string, p *problem.Problem) {
	if plain == "" {
		made, _ = identity.NewSecret()
		plain = made
	}
	if p := invalid(password.Check(plain)); p != nil {
		return "", p
	}
	hash, err := password.Hash(r.Context(), plain)
	switch {
	case errors.Is(err, password.ErrBusy):
		return "", problem.New(http.StatusTooManyRequests, "too many passwords are being hashed: ask again in a moment").RetryAfter(time.Second)
	case err != nil:
		return "", r.storeAway(err)
	}
	*into = hash
	return made, nil
}
