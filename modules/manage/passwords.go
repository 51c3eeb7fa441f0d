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
func (r *request) anotherPassword(into *string) (made string, err error) {
	in, err := decodeAny[struct {
		Password string `json:"password"`
	}](r)
	if err != nil {
		return "", err
	}
	return r.hashed(in.Password, into)
}

// hashed hashes a password into a user; without one it makes one, which it gives.
func (r *request) hashed(plain string, into *string) (made string, err error) {
	if plain == "" {
		made, _ = identity.NewSecret()
		plain = made
	}
	if err := invalid(password.Check(plain)); err != nil {
		return "", err
	}
	hash, err := password.Hash(r.Context(), plain)
	switch {
	case errors.Is(err, password.ErrBusy):
		return "", problem.New(http.StatusTooManyRequests, "too many passwords are being hashed: ask again in a moment").RetryAfter(time.Second)
	case err != nil:
		return "", err
	}
	*into = hash
	return made, nil
}
