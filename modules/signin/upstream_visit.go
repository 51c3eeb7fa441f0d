package signin

import (
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
)

const (
	upstreamVisit = 15 * time.Minute // how long a user may take to sign in upstream
	maxVisits     = 8                // of one browser; the oldest is dropped, because servers limit the bytes of cookies
)

// visit is a ticket of a user who is signing in upstream. Each has a cookie of its own, so that tabs don't overwrite
// each other's. The authorization request can be larger than the 4,096 bytes that browsers store of a cookie, and than
// the state that providers accept: it is stored in the database, sealed.
type visit struct {
	oidcclient.Visit
	Upstream string // its ID
	At       time.Time
}

// beginVisit gives the browser a visit, and stores its authorization request. The visit is nil when too many from the
// same network are not back yet: until is when the first of these ends.
func (p *Provider) beginVisit(w http.ResponseWriter, r *http.Request,
	a *authorization, u *Upstream) (v *visit, until time.Time, err error) {
	v = &visit{Visit: oidcclient.NewVisit(), Upstream: u.ID, At: p.now()}
	ticket, err := p.Vault.SealTicket(forVisits, p.Issuer, v)
	if err != nil {
		return nil, until, err
	}
	sealed, err := p.Vault.Seal(forRequests, v.State, []byte(a.raw))
	if err != nil {
		return nil, until, err
	}
	kept := &access.Visit{Hash: identity.HashSecret(v.State), Request: sealed, Network: password.NetworkOf(p.Address(r)),
		At: v.At, Till: v.At.Add(upstreamVisit)}
	err = p.db().Write(r.Context(), func(tx *store.Tx) (err error) {
		until, err = tx.InsertVisit(kept)
		return err
	})
	if err != nil || !until.IsZero() {
		return nil, until, err
	}
	var begun []string // the oldest comes first (RFC 6265 section 5.4)
	for _, c := range r.Cookies() {
		if strings.HasPrefix(c.Name, p.visitCookie("")) {
			begun = append(begun, c.Name)
		}
	}
	for len(begun) >= maxVisits {
		setCookie(w, begun[0], "", 0)
		begun = begun[1:]
	}
	setCookie(w, p.visitCookie(v.State), ticket, int(upstreamVisit/time.Second))
	return v, until, nil
}

// endVisit ends the visit of an upstream's answer, and returns the authorization request to continue. The visit is nil
// if it was started in another browser or to another upstream, has expired or has ended before. With an error it has not
// ended.
func (p *Provider) endVisit(w http.ResponseWriter, r *http.Request, u *Upstream) (v *visit, request string, err error) {
	state := r.URL.Query().Get("state")
	c, err := r.Cookie(p.visitCookie(state))
	v = new(visit)
	if err != nil || !p.Vault.OpenTicket(forVisits, p.Issuer, c.Value, v) ||
		v.Upstream != u.ID || subtle.ConstantTimeCompare([]byte(state), []byte(v.State)) == 0 {
		return nil, "", nil
	}
	var sealed []byte
	err = p.db().Write(r.Context(), func(tx *store.Tx) error {
		sealed, err = tx.DeleteVisit(identity.HashSecret(v.State), p.now())
		return err
	})
	if err != nil {
		return nil, "", err
	}
	setCookie(w, c.Name, "", 0)
	if sealed == nil {
		return nil, "", nil
	}
	plain, err := p.Vault.Open(forRequests, v.State, sealed)
	return v, string(plain), err
}

// visitCookie returns the name of a visit's cookie, with the first characters of its state.
func (p *Provider) visitCookie(state string) string {
	return p.cookie + "-upstream-" + state[:min(8, len(state))]
}
