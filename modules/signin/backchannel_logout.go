package signin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
)

// logoutTokenLife is how long a logout token is valid: as long as the specification recommends at most.
const logoutTokenLife = 2 * time.Minute

// SignLogout signs the logout token that tells an application that a session has ended (OpenID Connect Back-Channel
// Logout 1.0 section 2.4), and returns where it goes; empty: the application wants none.
func (p *Provider) SignLogout(ctx context.Context, client string, ended identity.EndedSession) (uri, token string, err error) {
	c, err := p.db().Client(ctx, client)
	if errors.Is(err, store.ErrNotFound) || err == nil && (!c.DisabledAt.IsZero() || c.BackchannelLogoutURI == "") {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	k, err := p.Ring.current(ctx, c.Algorithm)
	if err != nil {
		return "", "", err
	}
	now := p.now()
	claims, err := json.Marshal(map[string]any{"iss": p.Issuer, "aud": client, "sub": ended.Subject, "sid": ended.SID,
		"iat": now.Unix(), "exp": now.Add(logoutTokenLife).Unix(), "jti": rand.Text(),
		"events": map[string]any{oidcclient.LogoutEvent: struct{}{}}})
	if err != nil {
		return "", "", err
	}
	token, err = k.sign(claims, "logout+jwt")
	return c.BackchannelLogoutURI, token, err
}
