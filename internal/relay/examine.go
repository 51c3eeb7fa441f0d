package relay

import (
	"context"
	"errors"
	"fmt"
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

// ValidateFeed says what is wrong with the address of a job feed; empty is none.
func ValidateFeed(raw string, guard *egress.Guard) error {
	if raw == "" {
		return nil
	}
	if err := guard.ValidateURL(raw); err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	return nil
}

// Examine signs in at a service and reads its feed, if there is one, and keeps nothing. The error is a sentence for people: what to correct.
func Examine(ctx context.Context, guard *egress.Guard, u *model.ApplyUpstream) error {
	c := applyclient.New(u.URL, u.User, guard.Client())
	c.Password = func() (string, error) { return u.Password.Reveal(), nil }
	if _, err := c.SignIn(ctx); err != nil {
		return errors.New(failure(err))
	}
	if u.Feed == "" {
		return nil
	}
	_, err := readFeed(ctx, guard, u.Feed)
	return err
}
