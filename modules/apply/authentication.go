package apply

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/inbound"
	"github.com/hiregate/hiregate/internal/jsonstream"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	maxCredentials = 16 << 10     // bytes of the body
	bodyName       = "/apply_api" // shares the memory for bodies with tenants, whose names have no slash
)

type credentials struct{ userName, password string }

// authenticate gives a token for a user name and a password.
func (x *exchange) authenticate() *refusal {
	c, refused := x.credentials()
	if refused != nil {
		return refused
	}
	token, refused := x.issue(c)
	if refused != nil {
		metrics.TokenRefused(refused.status)
		return refused
	}
	metrics.TokenIssued()
	return x.json(struct {
		Token string `json:"token"`
	}{token})
}

func (x *exchange) credentials() (c credentials, refused *refusal) {
	body, err := x.Gateway.Runtime.Unverified.Read(x.w, x.r, bodyName, maxCredentials)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return c, refuse(http.StatusRequestEntityTooLarge, "the body is larger than 16 KiB").closing()
	case errors.Is(err, inbound.ErrBusy):
		return c, refuse(http.StatusServiceUnavailable, "too many ask for a token at this moment: wait as long as the header Retry-After says").after(5 * time.Second).closing()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c, refuse(http.StatusRequestTimeout, "the body came too slowly, or stood still: send it again, without pauses").closing()
	case err != nil:
		return c, refuse(http.StatusBadRequest, "the body broke off: send it again").closing()
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
		return c, refuse(http.StatusBadRequest, "send a JSON object with the strings userName and password")
	}
	return c, nil
}

// issue checks who asks, and keeps a token for them. An unknown user takes as long as a wrong password, and gets the same answer.
func (x *exchange) issue(c credentials) (token string, refused *refusal) {
	attempt, wait := x.Guards.Failures.Try(identity.Fold(c.userName), x.Address(x.r))
	if wait > 0 {
		return "", refuse(http.StatusTooManyRequests, "too many wrong passwords came from your address: wait as long as the header Retry-After says").after(wait)
	}
	namesakes, err := x.db.APIUsersByName(x.r.Context(), c.userName)
	if err != nil {
		attempt.Withdrawn()
		return "", x.away(err)
	}
	user, err := x.whose(attempt, namesakes, c.password)
	switch {
	case errors.Is(err, password.ErrBusy):
		attempt.Withdrawn()
		return "", refuse(http.StatusTooManyRequests, "too many ask for a token at this moment: wait as long as the header Retry-After says").after(time.Second)
	case err != nil && x.r.Context().Err() != nil:
		attempt.Withdrawn()
		return "", storeAway()
	case err != nil:
		attempt.Withdrawn()
		return "", x.broken("a password could not be checked", err)
	}
	token, hash := identity.NewSecret()
	issued := false
	if user != nil {
		now := x.Gateway.Now()
		err = x.db.Write(x.r.Context(), func(tx *store.Tx) (err error) {
			issued, err = tx.IssueAPIToken(user, hash, now) // not to a user who is disabled
			return err
		})
		if err != nil {
			attempt.Withdrawn()
			return "", x.away(err)
		}
	}
	if !issued {
		return "", x.unauthorized(`Bearer realm="apply"`, "user name or password is wrong")
	}
	attempt.Succeeded()
	return token, nil
}

// whose gives that one of the users of a name whose password it is; nil when it is nobody's. A partner may have the same name with several
// tenants, and it is the password that tells which is meant: one that is right for two of them is good for neither.
func (x *exchange) whose(attempt *password.Attempt, namesakes []*hiring.APIUser, plain string) (user *hiring.APIUser, err error) {
	namesakes = slices.DeleteFunc(namesakes, func(u *hiring.APIUser) bool { return !x.serves(u.Tenant) })
	if len(namesakes) == 0 { // to take as long as for one
		_, err := attempt.Verify(x.r.Context(), "", plain)
		return nil, err
	}
	found := 0
	for _, one := range namesakes {
		right, err := attempt.Verify(x.r.Context(), one.Password, plain)
		if err != nil {
			return nil, err
		}
		if right && one.DisabledAt.IsZero() {
			found++
			user = one
		}
	}
	if found > 1 {
		x.Log.Warn("a user of the Apply API has one password with several tenants, and gets no token: have one of them give another password",
			zap.String("tenant", user.Tenant), zap.String("user", user.ID))
		return nil, nil
	}
	return user, nil
}
