package accounts

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var (
	noSignIn = problem.New(http.StatusConflict,
		"this gateway has no sign-in that the link could lead to: mount the directive signin in its Caddyfile")
	signsInElsewhere = problem.New(http.StatusConflict, "this person signs in at their company's provider (upstream_oidc), "+
		"not with a password: have them recover their account there")
	recoversDisabled = problem.New(http.StatusConflict, "this person is disabled: enable them first (POST …/enable)")
)

// makeRecovery makes a link with which a user who can't sign in chooses a password.
func makeRecovery(r *rest.Request) (any, error) {
	u, err := findUser(r)
	if err != nil {
		return nil, err
	}
	in, err := rest.DecodeAny[api.RecoveryInput](r)
	switch {
	case err != nil:
		return nil, err
	case !u.DisabledAt.IsZero():
		return nil, recoversDisabled
	case len(r.Gateway.RecoveryLinks) == 0:
		return nil, noSignIn
	}
	made := api.Recovery{ResetTOTP: in.ResetTOTP, ExpiresAt: r.Now().Add(gateway.RecoveryTime)}
	for _, link := range r.Gateway.RecoveryLinks {
		if made.URL, err = link(u, in.ResetTOTP, made.ExpiresAt); err != nil {
			return nil, err
		}
		if made.URL != "" {
			return made, r.AuditAlone()
		}
	}
	return nil, signsInElsewhere
}
