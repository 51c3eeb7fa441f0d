package oidcclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Logout is a valid logout token: a session at the provider has ended. It has Subject, SID or both.
type Logout struct {
	ID      string // the claim jti: a token is good once
	Subject string
	SID     string
	At      time.Time
}

// The time of a logout token may differ from now by this much. Its jti has to be remembered for as long.
const (
	LogoutAge  = 10 * time.Minute
	logoutSkew = time.Minute
)

// LogoutEvent is the member of the claim events that makes a token a logout token.
const LogoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// ErrLogoutToken means that a logout token is not valid. Other errors say that it could not be checked.
var ErrLogoutToken = errors.New("the logout token is not valid")

// ReadLogout checks a logout token (OpenID Connect Back-Channel Logout 1.0 section 2.6), but not whether it was used
// before.
func (p *Provider) ReadLogout(ctx context.Context, raw string) (*Logout, error) {
	found, err := p.Discover(ctx)
	if err != nil {
		return nil, err
	}
	token, err := found.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.late}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLogoutToken, err)
	}
	var c claims
	var events map[string]json.RawMessage
	if token.Claims(&c) != nil || json.Unmarshal(c["events"], &events) != nil {
		return nil, fmt.Errorf("%w: it is none of a logout (events)", ErrLogoutToken)
	}
	l := &Logout{ID: c.text("jti"), Subject: c.text("sub"), SID: c.text("sid"), At: time.Unix(c.seconds("iat"), 0)}
	_, nonce := c["nonce"]
	text := func(s string) bool { return len(s) <= maxSubject && !strings.ContainsFunc(s, unicode.IsControl) }
	switch now := p.Now(); {
	case !strings.HasPrefix(string(events[LogoutEvent]), "{"):
		return nil, fmt.Errorf("%w: it is none of a logout (events)", ErrLogoutToken)
	case nonce:
		return nil, fmt.Errorf("%w: it is of a sign-in (nonce)", ErrLogoutToken)
	case l.At.Before(now.Add(-LogoutAge)) || l.At.After(now.Add(logoutSkew)):
		return nil, fmt.Errorf("%w: its time is missing, or too far from now (iat)", ErrLogoutToken)
	case l.ID == "":
		return nil, fmt.Errorf("%w: it has no id (jti)", ErrLogoutToken)
	case l.Subject == "" && l.SID == "" || !text(l.Subject) || !text(l.SID):
		return nil, fmt.Errorf("%w: it does not name who signed out (sub, sid)", ErrLogoutToken)
	}
	return l, nil
}
