package relay

import (
	"context"
	"errors"
	"strings"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
)

// ValidateURL says what is wrong with the address of an Apply API: whether requests may go there is up to egress.
func ValidateURL(raw string, guard *egress.Guard) error {
	if strings.Contains(raw, "?") {
		return errors.New("the URL has a query: name the address that /v2/authentication is below, such as " +
			"https://service.example.com/apply")
	}
	return guard.ValidateURL(strings.TrimRight(raw, "/") + applyclient.SignInPath) // whose path is the identifier it asks for
}

// Examine signs in at a service, and keeps nothing. The error is a sentence for people: what to correct.
func Examine(ctx context.Context, guard *egress.Guard, u *model.ApplyUpstream) error {
	c := applyclient.New(u.URL, u.User, guard.Client())
	c.Password = func() (string, error) { return u.Password.Reveal(), nil }
	if _, err := c.SignIn(ctx); err != nil {
		return errors.New(failure(err))
	}
	return nil
}
