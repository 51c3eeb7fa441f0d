package accounts

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// sentOrMadePassword hashes the password that is sent into a user; without one it makes one, which it gives.
func sentOrMadePassword(r *rest.Request, into *string) (made string, err error) {
	in, err := rest.DecodeAny[api.PasswordInput](r)
	if err != nil {
		return "", err
	}
	return hashPassword(r, in.Password, into)
}

// hashPassword hashes a password into a user; without one it makes one, which it gives.
func hashPassword(r *rest.Request, plain string, into *string) (made string, err error) {
	if plain == "" {
		made, _ = identity.NewSecret()
		plain = made
	}
	if err := rest.Invalid(password.Validate(plain)); err != nil {
		return "", err
	}
	hash, err := password.Hash(r.Context(), plain)
	switch {
	case errors.Is(err, password.ErrBusy):
		return "", problem.New(http.StatusTooManyRequests,
			"too many passwords are being hashed: ask again in a moment").RetryAfter(time.Second)
	case err != nil:
		return "", err
	}
	*into = hash
	return made, nil
}

// passwordShownOnce refuses the repeat of a request that sent no password, so that one was made. command makes another.
func passwordShownOnce(r *rest.Request, command string) error {
	var in api.PasswordInput
	_ = json.Unmarshal(r.Content, &in) // the request was done with this body: it is JSON, or empty
	if in.Password != "" {
		return nil
	}
	return rest.ShownOnce("password", "make another with POST …/reset ("+command+")")
}
