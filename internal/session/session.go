// Package session signs people in at a site: it leads their browser to an OpenID provider and back, and stores who they
// are. Each request looks its session up, so that what ends one is in force at the next request, on each node.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

// Site is where people are signed in.
type Site struct {
	Address  string // by which it is known: a session of another site is none here
	Callback string // where people come back to from the provider
	Cookie   string // the name of the session's cookie, with the prefix __Host-; those of visits begin with it
	Domain   string // whose hosts share the session's cookie, then with the prefix __Secure-; empty: one host has it
	Life     time.Duration
	Provider *oidcclient.Provider
	Vault    *vault.Vault // seals the cookies
	Store    func() *store.DB
	Now      func() time.Time
	From     func(*http.Request) string // the address that a request comes from
	// Named reports whether the configuration names a group. Of other groups a bounded number is stored, which the next
	// configuration may name.
	Named func(group string) bool
	// Refresh has sessions refreshed at their provider, and end when they ended there.
	Refresh bool
	Log     *zap.Logger
}

// forPeople is older than other sites than the console.
const forPeople = "hiregate people who are signed in to the console"

// Session is somebody who is signed in.
type Session struct {
	Hash    identity.Hash // of the cookie's value
	Issuer  string
	Subject string
	// SignIn is the session at our own sign-in; zero: they signed in at another provider.
	SignIn identity.Hash
	Person
}

// Person holds the identity of a person who is signed in. It is stored, sealed.
type Person struct {
	Name    string
	Email   string // verified by the provider; empty: none is
	Groups  []string
	Role    string // that the site gave them when they signed in
	IDToken string // empty: it was too long to sign out with
}

// How much is stored of what a provider says.
const (
	maxName    = 255 // bytes; longer ones are left out
	maxGroups  = 500 // that the configuration does not name
	maxGroup   = 255 // bytes
	maxIDToken = 6 << 10
)

// Ours reports whether the person signed in at our own sign-in. Their subject is the id of a user.
func (s *Session) Ours() bool { return s.SignIn != identity.Hash{} }

// Find returns the session of a request; nil: there is none, or it has ended.
func (s *Site) Find(r *http.Request) (*Session, error) {
	hash, ok := s.hash(r)
	if !ok {
		return nil, nil
	}
	return s.Lookup(r.Context(), hash)
}

// Lookup returns the session of a cookie's value; nil: there is none, or it has ended.
func (s *Site) Lookup(ctx context.Context, hash identity.Hash) (*Session, error) {
	row, err := s.row(ctx, hash)
	if err == nil && row != nil {
		row, err = s.refreshed(ctx, row)
	}
	if err != nil || row == nil {
		return nil, err
	}
	s.use(ctx, row)
	found := &Session{Hash: hash, Issuer: row.Issuer, Subject: row.Subject, SignIn: row.SignIn}
	plain, err := s.Vault.Open(forPeople, s.Address, row.Person)
	if err != nil || json.Unmarshal(plain, &found.Person) != nil { // of a key that is not configured any more
		return nil, nil
	}
	if found.Ours() {
		found.Email = row.Email
	}
	return found, nil
}

// usedEvery is how often is noted that a session is used.
const usedEvery = 15 * time.Minute

// use notes that a session is used. It is looked up without that as well.
func (s *Site) use(ctx context.Context, row *identity.ConsoleSession) {
	now := s.now()
	if now.Sub(row.UsedAt) < usedEvery {
		return
	}
	if err := s.Store().Write(ctx, func(tx *store.Tx) error {
		return tx.UseConsoleSession(row.Hash, now, now.Add(-usedEvery))
	}); err != nil && ctx.Err() == nil {
		s.Log.Warn("the use of a session can't be noted", zap.String("site", s.Address), zap.Error(err))
	}
}

// row returns the row of a session; nil: there is none, or it has ended.
func (s *Site) row(ctx context.Context, hash identity.Hash) (*identity.ConsoleSession, error) {
	row, err := s.Store().ConsoleSession(ctx, s.Address, hash, s.now())
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return row, err
}

func (s *Site) hash(r *http.Request) (identity.Hash, bool) {
	cookie, err := r.Cookie(s.sessionCookie())
	if err != nil || cookie.Value == "" {
		return identity.Hash{}, false
	}
	return identity.HashSecret(cookie.Value), true
}

// Begin starts a session of a person who has just signed in with a code, and ends the one that their browser had. role
// gives the person a role; nil: there are none.
func (s *Site) Begin(w http.ResponseWriter, r *http.Request, them *oidcclient.Account, code string,
	role func(*Session) string) error {
	begun := Session{Issuer: s.Provider.Issuer, Subject: them.Subject}
	s.describe(&begun.Person, them)
	switch session, email, err := s.Store().SignInOfCode(r.Context(), begun.Issuer, identity.HashSecret(code)); {
	case err == nil:
		begun.SignIn, begun.Email, begun.IDToken = session, email, ""
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	if role != nil {
		begun.Role = role(&begun)
	}
	plain, err := json.Marshal(begun.Person)
	if err != nil {
		return err
	}
	sealed, err := s.Vault.Seal(forPeople, s.Address, plain)
	if err != nil {
		return err
	}
	cookie, hash := identity.NewSecret()
	now := s.now()
	row := &identity.ConsoleSession{Hash: hash, Console: s.Address, Issuer: begun.Issuer, Subject: begun.Subject,
		SID: them.SID, SignIn: begun.SignIn, Person: sealed, CreatedAt: now, UsedAt: now, Till: now.Add(s.Life)}
	if s.Refresh {
		if err := s.confirm(row, them); err != nil {
			return err
		}
	}
	before, _ := s.hash(r)
	if err := s.Store().Write(r.Context(), func(tx *store.Tx) error {
		return tx.InsertConsoleSession(before, row)
	}); err != nil {
		return err
	}
	s.SetCookie(w, s.sessionCookie(), cookie, s.Life)
	s.SetCookie(w, s.askAgain(), "", 0)
	return nil
}

// describe gives a person what a provider says of them. What it leaves out stays, but for groups.
func (s *Site) describe(p *Person, them *oidcclient.Account) {
	p.Groups = s.groups(them.Groups)
	if them.Name != "" && len(them.Name) <= maxName {
		p.Name = them.Name
	}
	switch {
	case them.EmailVerified:
		p.Email = them.Email
	case them.Email != "":
		p.Email = ""
	}
	if them.IDToken != "" && len(them.IDToken) <= maxIDToken {
		p.IDToken = them.IDToken
	}
}

// groups returns the groups of a person that are stored.
func (s *Site) groups(all []string) (kept []string) {
	others := 0
	for _, group := range all {
		if !s.Named(group) {
			if others++; others > maxGroups || len(group) > maxGroup {
				continue
			}
		}
		kept = append(kept, group)
	}
	return kept
}

// Delete ends a session without a word to the provider.
func (s *Site) Delete(r *http.Request, ended *Session) error {
	return s.Store().Write(r.Context(), func(tx *store.Tx) error { return tx.DeleteConsoleSession(ended.Hash) })
}

func (s *Site) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// The prefixes with which browsers keep the cookies of a host from others, and let those of a domain be set by https alone.
const (
	ofHost   = "__Host-"
	ofDomain = "__Secure-"
)

// sessionCookie returns the name of the session's cookie. A visit ends at the host where it began, so that its cookie keeps
// to that: what another host of the domain could set would sign people in as somebody else.
func (s *Site) sessionCookie() string {
	if s.Domain == "" {
		return s.Cookie
	}
	return ofDomain + strings.TrimPrefix(s.Cookie, ofHost)
}

// SetCookie sets a cookie of the site; no time: it removes it.
func (s *Site) SetCookie(w http.ResponseWriter, name, value string, lasts time.Duration) {
	age := int(lasts / time.Second)
	if lasts == 0 {
		age = -1
	}
	c := &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode}
	if strings.HasPrefix(name, ofDomain) {
		c.Domain = s.Domain
	}
	http.SetCookie(w, c)
}

// RemoveCookies takes cookies of sites out of a request, those whose names begin so after __Host- or __Secure-. It leaves the
// others as they came.
func RemoveCookies(r *http.Request, begin string) {
	lines := r.Header["Cookie"]
	if len(lines) == 0 {
		return
	}
	var kept []string
	for _, line := range lines {
		for one := range strings.SplitSeq(line, ";") {
			if one = strings.TrimSpace(one); one != "" && !strings.HasPrefix(one, ofHost+begin) && !strings.HasPrefix(one, ofDomain+begin) {
				kept = append(kept, one)
			}
		}
	}
	if len(kept) == 0 {
		r.Header.Del("Cookie")
		return
	}
	r.Header.Set("Cookie", strings.Join(kept, "; "))
}
