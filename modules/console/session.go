package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	// sessionTime is how long a session lasts. Then the browser goes to the provider once more, which asks nothing while
	// its own session lasts: whoever was disabled there is out within this time, if the provider does not tell us before.
	sessionTime = time.Hour

	forPeople = "hiregate people who are signed in to the console"
)

// session is somebody who is signed in, or came by a link.
type session struct {
	hash    identity.Hash
	issuer  string
	subject string
	// signIn is the session at our own sign-in; zero: they signed in at another provider.
	signIn identity.Hash
	known
	Portal *gateway.Portal // what a link lets its visitors see; they are not signed in
}

// known holds the identity of a person who is signed in. It is stored, sealed.
type known struct {
	Name    string
	Email   string // verified by the provider; empty: none is
	Groups  []string
	Role    string // that they had when they signed in; see roleOf
	IDToken string // empty: it was too long to sign out with
}

// How much is stored of what a provider says.
const (
	maxName    = 255 // bytes; longer ones are left out
	maxGroups  = 500 // that no grant names
	maxGroup   = 255 // bytes
	maxIDToken = 6 << 10
)

// session returns the session of a request; nil: there is none, or it has ended. It is looked up each time, so that
// what ends a session is in force at the next request, on each node.
func (c *Console) session(r *http.Request) (*session, error) {
	hash, ok := c.sessionHash(r)
	if !ok {
		return c.visitorOfPortal(r), nil
	}
	row, err := c.db().ConsoleSession(r.Context(), c.URL, hash, c.now())
	if errors.Is(err, store.ErrNotFound) {
		return c.visitorOfPortal(r), nil
	}
	if err != nil {
		return nil, err
	}
	s := &session{hash: hash, issuer: row.Issuer, subject: row.Subject, signIn: row.SignIn}
	plain, err := c.Vault.Open(forPeople, c.URL, row.Person)
	if err != nil || json.Unmarshal(plain, &s.known) != nil { // of a key that is not configured any more
		return c.visitorOfPortal(r), nil
	}
	if s.ours() {
		s.Email = row.Email
	}
	return s, nil
}

// ours reports whether the person signed in at our own sign-in. Their subject is the id of a user.
func (s *session) ours() bool { return s.signIn != identity.Hash{} }

func (c *Console) sessionHash(r *http.Request) (identity.Hash, bool) {
	cookie, err := r.Cookie(c.cookie)
	if err != nil || cookie.Value == "" {
		return identity.Hash{}, false
	}
	return identity.HashSecret(cookie.Value), true
}

// begin starts a session of a person who has just signed in with a code, and ends the one that their browser had.
func (c *Console) begin(w http.ResponseWriter, r *http.Request, them *oidcclient.Account, code string) error {
	s := session{issuer: c.Issuer.Issuer, subject: them.Subject}
	s.Name, s.Groups = them.Name, c.groups(them.Groups)
	if len(s.Name) > maxName {
		s.Name = ""
	}
	if them.EmailVerified {
		s.Email = them.Email
	}
	if len(them.IDToken) <= maxIDToken {
		s.IDToken = them.IDToken
	}
	switch session, email, err := c.db().SignInOfCode(r.Context(), s.issuer, identity.HashSecret(code)); {
	case err == nil:
		s.signIn, s.Email, s.IDToken = session, email, ""
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	s.Role = c.roleOf(&s)
	plain, err := json.Marshal(s.known)
	if err != nil {
		return err
	}
	sealed, err := c.Vault.Seal(forPeople, c.URL, plain)
	if err != nil {
		return err
	}
	cookie, hash := identity.NewSecret()
	now := c.now()
	row := &identity.ConsoleSession{Hash: hash, Console: c.URL, Issuer: s.issuer, Subject: s.subject, SID: them.SID,
		SignIn: s.signIn, Person: sealed, CreatedAt: now, Till: now.Add(sessionTime)}
	before, _ := c.sessionHash(r)
	if err := c.db().Write(r.Context(), func(tx *store.Tx) error {
		return tx.InsertConsoleSession(before, row)
	}); err != nil {
		return err
	}
	c.setCookie(w, c.cookie, cookie, sessionTime)
	return nil
}

// groups returns the groups of a person that are stored: those that grants name, and a bounded number of others, which
// the next configuration may name.
func (c *Console) groups(all []string) (kept []string) {
	named := func(group string) bool {
		return slices.ContainsFunc(c.Grants, func(g Grant) bool { return slices.Contains(g.Groups, group) })
	}
	others := 0
	for _, group := range all {
		if !named(group) {
			if others++; others > maxGroups || len(group) > maxGroup {
				continue
			}
		}
		kept = append(kept, group)
	}
	return kept
}

// end ends a session of the console, and the one at our own sign-in in which it began.
func (c *Console) end(r *http.Request, s *session) error {
	return c.db().Write(r.Context(), func(tx *store.Tx) error {
		if err := tx.DeleteConsoleSession(s.hash); err != nil || !s.ours() {
			return err
		}
		if err := tx.DeleteSession(s.signIn); err != nil {
			return err
		}
		return tx.InsertSigninEntry(&identity.Entry{At: c.now(), Event: "sign-out", Result: "success", Issuer: s.issuer,
			Client: c.Issuer.ClientID, UserID: s.subject, Address: c.Address(r)})
	})
}

func (c *Console) db() *store.DB  { return c.Gateway.Runtime.Store() }
func (c *Console) now() time.Time { return c.Gateway.Now().UTC().Truncate(time.Microsecond) }

// setCookie sets a cookie of the console; no time: it removes it.
func (c *Console) setCookie(w http.ResponseWriter, name, value string, lasts time.Duration) {
	age := int(lasts / time.Second)
	if lasts == 0 {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
}
