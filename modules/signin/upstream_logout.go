package signin

import (
	"crypto/sha256"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
)

// upstreamLogout ends sessions that began at an upstream, and what was granted in them, because the upstream says that
// theirs have ended (OpenID Connect Back-Channel Logout 1.0 section 2.5). The upstream itself asks: there is no cookie.
func (p *Provider) upstreamLogout(w http.ResponseWriter, r *http.Request, u *Upstream) {
	w.Header().Set("Cache-Control", "no-store")
	sent, ok := form(r)
	if !ok || repeated(sent) {
		refuseClient(w, errNotForm)
		return
	}
	l, err := u.ReadLogout(r.Context(), sent.Get("logout_token"))
	if err == nil {
		told := access.Logout{Console: p.Issuer, Issuer: u.Issuer, Subject: l.Subject, SID: l.SID,
			Token: sha256.Sum256([]byte(p.Issuer + "\x00" + u.Issuer + "\x00" + l.ID)),
			Till:  l.At.Add(2 * oidcclient.LogoutAge)}
		err = p.db().Write(r.Context(), func(tx *store.Tx) error {
			users, err := tx.EndUpstreamSessions(told, p.now())
			for _, user := range users {
				if err == nil {
					err = tx.InsertSigninEntry(p.entry(r, "sign-out", "upstream_logout", "", user))
				}
			}
			return err
		})
	}
	switch {
	case err == nil:
		w.WriteHeader(http.StatusOK)
	case errors.Is(err, oidcclient.ErrLogoutToken), errors.Is(err, store.ErrTaken):
		p.Log.Warn("a logout token of the upstream is refused", zap.Error(err))
		refuseClient(w, invalid("the logout token is not valid, or was used before"))
	default:
		p.storeAway(w, r, err)
	}
}
