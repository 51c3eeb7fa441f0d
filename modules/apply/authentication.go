package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/jsonstream"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	maxCredentials = 16 << 10     // bytes of the body
	bodyName       = "/apply_api" // beside the names of tenants, which have no slash
)

type credentials struct{ userName, password string }

// authenticate answers a user name and a password with a token.
func (a *API) authenticate(w http.ResponseWriter, r *http.Request) error {
	if err := checkJSON(r); err != nil {
		return err
	}
	c, err := a.credentials(w, r)
	if err != nil {
		return err
	}
	token, err := a.issue(r, c)
	if err != nil {
		refused := a.problemOf(w, r, err)
		metrics.TokenRefused(refused.Status)
		return refused
	}
	metrics.TokenIssued()
	return writeJSON(w, struct {
		Token string `json:"token"`
	}{token})
}

func (a *API) credentials(w http.ResponseWriter, r *http.Request) (c credentials, err error) {
	body, err := a.Gateway.Runtime.Unverified.Read(w, r, bodies.Sender{Tenant: bodyName, Address: a.Address(r)},
		maxCredentials)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return c, problem.New(http.StatusRequestEntityTooLarge, "the body is larger than 16 KiB").Closing()
	case errors.Is(err, bodies.ErrBusy):
		return c, problem.New(http.StatusServiceUnavailable,
			"too many ask for a token at this moment: wait as long as the header Retry-After says").RetryAfter(
			5 * time.Second).Closing()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c, problem.New(http.StatusRequestTimeout,
			"the body came too slowly, or stood still: send it again, without pauses").Closing()
	case err != nil:
		return c, errBrokeOff
	}
	defer body.Release()
	in := jsonstream.NewReader(bytes.NewReader(body.Bytes()))
	has := map[string]bool{}
	err = in.Object(func(name string) (err error) {
		has[name] = true
		switch name {
		case "userName":
			c.userName, err = in.String(maxCredentials)
		case "password":
			c.password, err = in.String(maxCredentials)
		default:
			err = in.Skip()
		}
		return err
	})
	if err == nil {
		err = in.End()
	}
	if err != nil || !has["userName"] || !has["password"] {
		return c, problem.New(http.StatusBadRequest, "send a JSON object with the strings userName and password")
	}
	return c, nil
}

// issue checks the password, and stores a token. An unknown user takes as long as a wrong password, and gets the same
// answer.
func (a *API) issue(r *http.Request, c credentials) (token string, err error) {
	attempt, wait := a.Guards.Failures.Try(identity.Fold(c.userName), a.Address(r))
	if wait > 0 {
		return "", problem.New(http.StatusTooManyRequests,
			"too many wrong passwords came from your address: wait as long as the header Retry-After says").RetryAfter(wait)
	}
	defer func() {
		if err != nil && !errors.Is(err, errWrongPassword) {
			attempt.Withdraw()
		}
	}()
	namesakes, err := a.db().ListAPIUsersByName(r.Context(), c.userName)
	if err != nil {
		return "", err
	}
	user, err := a.userWith(r.Context(), attempt, namesakes, c.password)
	if errors.Is(err, password.ErrBusy) {
		return "", problem.New(http.StatusTooManyRequests,
			"too many ask for a token at this moment: wait as long as the header Retry-After says").RetryAfter(time.Second)
	}
	if err != nil {
		return "", fmt.Errorf("checking a password: %w", err)
	}
	token, hash := identity.NewSecret()
	issued := false
	if user != nil {
		now := a.Gateway.Now()
		err = a.db().Write(r.Context(), func(tx *store.Tx) (err error) {
			issued, err = tx.InsertAPIToken(user, hash, now) // not to a user who is disabled
			return err
		})
		if err != nil {
			return "", err
		}
	}
	if !issued {
		return "", errWrongPassword
	}
	attempt.Succeed()
	return token, nil
}

// userWith returns the user among namesakes with a password; nil if there is none. A partner may have the same name
// with several tenants, and the password distinguishes them: one that is right for two of them is refused.
func (a *API) userWith(ctx context.Context, attempt *password.Attempt, namesakes []*model.APIUser,
	plain string) (user *model.APIUser, err error) {
	namesakes = slices.DeleteFunc(namesakes, func(u *model.APIUser) bool { return !a.serves(u.Tenant) })
	if len(namesakes) == 0 { // to take as long as for one
		_, err := attempt.Verify(ctx, "", plain)
		return nil, err
	}
	found := 0
	for _, one := range namesakes {
		right, err := attempt.Verify(ctx, one.Password, plain)
		if err != nil {
			return nil, err
		}
		if right && one.DisabledAt.IsZero() {
			found++
			user = one
		}
	}
	if found > 1 {
		a.Log.Warn(
			"a user of the Apply API has the same password with several tenants, and gets no token: change one of them",
			zap.String("tenant", user.Tenant), zap.String("user", user.ID))
		return nil, nil
	}
	return user, nil
}
