package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
)

// askTime is how long a browser in which a person signed out has the provider ask who they are.
const askTime = 30 * 24 * time.Hour

// askAgain is the name of the cookie for that. The provider's own session may still be there.
func (s *Site) askAgain() string { return s.sessionCookie() + "-ask" }

// SignedOut says what is left to do for a person who signed out at a site.
type SignedOut struct {
	Ours bool   // from our own sign-in as well
	Next string // the address at which they sign out at their provider; empty: none is known
}

// SignOut ends a session, and the one at our own sign-in in which it began. nil: there is none.
func (s *Site) SignOut(w http.ResponseWriter, r *http.Request, ended *Session) (out SignedOut, err error) {
	if ended != nil {
		row, err := s.row(r.Context(), ended.Hash)
		if err == nil {
			err = s.end(r, ended)
		}
		if err != nil {
			return out, err
		}
		if row != nil && len(row.Refresh) > 0 && !ended.Ours() {
			s.revoke(r.Context(), row)
		}
		if out.Ours = ended.Ours(); !out.Ours {
			if found, err := s.Provider.Discover(r.Context()); err == nil {
				out.Next = found.EndSessionURL(ended.IDToken)
			}
		}
		s.SetCookie(w, s.askAgain(), "1", askTime)
	}
	s.SetCookie(w, s.sessionCookie(), "", 0)
	return out, nil
}

func (s *Site) end(r *http.Request, ended *Session) error {
	return s.Store().Write(r.Context(), func(tx *store.Tx) error {
		if _, err := tx.EndSiteSession(ended.Hash, s.now()); err != nil || !ended.Ours() {
			return err
		}
		if err := tx.DeleteSession(ended.SignIn, s.now()); err != nil {
			return err
		}
		return tx.InsertSigninEntry(&identity.Entry{At: s.now(), Event: "sign-out", Result: "success",
			Issuer: ended.Issuer, Client: s.Provider.ClientID, UserID: ended.Subject, Address: s.From(r)})
	})
}

// revokeWithin is how long a person who signs out waits for their provider.
const revokeWithin = 3 * time.Second

// revoke has the provider end the refresh token of a session that has ended here.
func (s *Site) revoke(ctx context.Context, row *identity.ConsoleSession) {
	ctx, cancel := context.WithTimeout(ctx, revokeWithin)
	defer cancel()
	token, err := s.Vault.Open(forRefresh, hex.EncodeToString(row.Hash[:]), row.Refresh)
	if err == nil {
		err = s.Provider.Revoke(ctx, string(token))
	}
	if err != nil {
		s.Log.Warn("the provider did not end the refresh token of somebody who signed out", zap.String("site", s.Address), zap.Error(err))
	}
}

// BackChannelLogout ends sessions because the provider says that theirs have ended there (OpenID Connect Back-Channel
// Logout 1.0 section 2.5). The provider itself asks: there is no cookie.
func (s *Site) BackChannelLogout(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	l, err := s.Provider.ReadLogout(r.Context(), r.PostFormValue("logout_token"))
	if err == nil {
		var ended int64
		told := access.Logout{Console: s.Address, Issuer: s.Provider.Issuer, Subject: l.Subject, SID: l.SID,
			Token: sha256.Sum256([]byte(s.Address + "\x00" + s.Provider.Issuer + "\x00" + l.ID)),
			Till:  l.At.Add(2 * oidcclient.LogoutAge)}
		err = s.Store().Write(r.Context(), func(tx *store.Tx) (err error) {
			ended, err = tx.EndConsoleSessions(told)
			return err
		})
		if err == nil {
			s.Log.Info("the provider signed somebody out", zap.String("site", s.Address), zap.Int64("sessions", ended))
			return
		}
	}
	if errors.Is(err, store.ErrTaken) {
		err = oidcclient.ErrLogoutToken
	}
	status, description := http.StatusServiceUnavailable, "the logout token can't be checked now: send it again"
	if errors.Is(err, oidcclient.ErrLogoutToken) {
		status, description = http.StatusBadRequest, "the logout token is not valid, or was used before"
	}
	s.Log.Warn("a logout token of the provider is refused", zap.Error(err))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_request", "error_description": description})
}
