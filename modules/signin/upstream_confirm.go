package signin

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

const (
	// confirmEvery is how old the upstream's word may be that a user is still there, when their session is used.
	confirmEvery = time.Hour
	// confirmLock is longer than the upstream may take to answer.
	confirmLock = 30 * time.Second
	// confirmPause is how long the upstream is not asked again about a session after it failed to answer.
	confirmPause = time.Minute
	// confirmPoll is how often is looked whether another request, perhaps of another node, has the answer.
	confirmPoll = 100 * time.Millisecond
)

// errNoUpstream means that the provider where a session began is not configured any more.
var errNoUpstream = errors.New("the provider where the session began is not configured any more")

// confirmed reports whether a session that began upstream, and what was granted in it, may still be used. An hour after
// the upstream last said that its user is there it is asked with its refresh token; when it refuses that, the session
// has ended there, and ends here. While it does not answer, the session goes on until identity.UnconfirmedLife. found
// is the session as read, with the error of that.
func (p *Provider) confirmed(r *http.Request, found *identity.UpstreamSession, err error) (bool, error) {
	if errors.Is(err, store.ErrNotFound) { // it began with a password
		return true, nil
	}
	now := p.now()
	if err != nil || len(found.Refresh) == 0 || now.Sub(found.AskedAt) < confirmEvery {
		return err == nil, err
	}
	if now.Before(found.PausedTill) {
		return p.within(found), nil
	}
	// Whoever waits for the answer may leave: the refresh token that comes with it must be stored.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), confirmLock)
	defer cancel()
	var ours bool
	err = p.db().Write(ctx, func(tx *store.Tx) (err error) {
		ours, err = tx.LockUpstreamSession(found, now, now.Add(confirmLock))
		return err
	})
	switch {
	case err != nil:
		return false, err
	case ours:
		return p.askUpstream(ctx, r, found)
	default:
		return p.awaitUpstream(r.Context(), found)
	}
}

// within reports whether a session may go on without the upstream's word.
func (p *Provider) within(s *identity.UpstreamSession) bool {
	return p.now().Sub(s.AskedAt) < identity.UnconfirmedLife
}

// askUpstream asks the upstream whether the user of a session is still there, and stores the answer.
func (p *Provider) askUpstream(ctx context.Context, r *http.Request, s *identity.UpstreamSession) (bool, error) {
	err := p.refreshUpstream(ctx, s)
	now := p.now()
	if err == nil {
		return true, p.db().Write(ctx, func(tx *store.Tx) error { return tx.ConfirmUpstreamSession(s.Hash, s.Refresh, now) })
	}
	gone := errors.Is(err, oidcclient.ErrRefused)
	if !gone && p.within(s) {
		p.Log.Warn("the upstream does not say whether a user is still there; it is asked again in a minute",
			zap.String("user", s.UserID), zap.Error(err))
		return true, p.db().Write(ctx, func(tx *store.Tx) error {
			return tx.PauseUpstreamSession(s.Hash, now.Add(confirmPause))
		})
	}
	result := "upstream_gone"
	if !gone {
		result = "upstream_silent"
	}
	e := p.entry(r, "sign-out", result, "", s.UserID)
	p.Log.Info("a session ends because of the upstream", zap.String("user", s.UserID), zap.Error(err))
	return false, p.db().Write(ctx, func(tx *store.Tx) error {
		if err := tx.EndUpstreamSession(s.Hash, now); err != nil {
			return err
		}
		return tx.InsertSigninEntry(e)
	})
}

// refreshUpstream asks the upstream with the refresh token of a session, and gives the session the next one.
func (p *Provider) refreshUpstream(ctx context.Context, s *identity.UpstreamSession) error {
	u := p.upstreamAt(s.Issuer)
	if u == nil {
		return errNoUpstream
	}
	token, err := p.Vault.Open(forUpstream, hex.EncodeToString(s.Hash[:]), s.Refresh)
	if err != nil {
		return err
	}
	account, err := u.Refresh(ctx, string(token), s.Subject)
	if err != nil {
		return err
	}
	if u.WantsGroups && account.Groups != nil && len(account.Groups) <= identity.MaxUpstreamGroups {
		user, err := p.db().User(ctx, s.UserID)
		if err != nil {
			return err
		}
		if _, err := p.updated(ctx, u, user, account); err != nil {
			return err
		}
	}
	return p.sealUpstream(s, account.RefreshToken)
}

// sealUpstream gives a session the upstream's refresh token, if there is one.
func (p *Provider) sealUpstream(s *identity.UpstreamSession, token string) (err error) {
	if token != "" {
		s.Refresh, err = p.Vault.Seal(forUpstream, hex.EncodeToString(s.Hash[:]), []byte(token))
	}
	return err
}

// maxUpstreamToken is the longest refresh token that is kept, in bytes: a form of ours carries it, sealed, while the
// second factor is asked for.
const maxUpstreamToken = 8 << 10

// boundedToken returns a refresh token of the upstream that is kept; empty: it is too long, as if there were none.
func boundedToken(token string) string {
	if len(token) > maxUpstreamToken {
		return ""
	}
	return token
}

// awaitUpstream waits for the answer of the upstream that another request asked. It goes on without one when that takes
// too long, as when the upstream does not answer.
func (p *Provider) awaitUpstream(ctx context.Context, s *identity.UpstreamSession) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, confirmLock)
	defer cancel()
	for {
		now, err := p.db().UpstreamSession(ctx, s.Hash)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return false, nil
		case ctx.Err() == nil && err != nil:
			return false, err
		case ctx.Err() != nil, now.AskedAt.After(s.AskedAt), now.PausedTill.After(s.PausedTill):
			return p.within(s), nil
		}
		wait.For(ctx, confirmPoll)
	}
}
