package relay

import (
	"context"
	"errors"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
)

// Examine signs in at a service, and keeps nothing. The error is a sentence for people: what to correct.
func Examine(ctx context.Context, guard *egress.Guard, u *model.ApplyUpstream) error {
	c := applyclient.New(u.URL, u.User, guard.Client())
	c.Password = func() (string, error) { return u.Password.Reveal(), nil }
	if _, err := c.SignIn(ctx); err != nil {
		return errors.New(failure(err))
	}
	return nil
}
