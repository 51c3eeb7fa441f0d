package session

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/oauth2"

	"github.com/hiregate/hiregate/internal/oidcclient"
)

const (
	visitTime = 15 * time.Minute // how long a person may take to sign in
	// maxVisits is how many a browser has under way, as in several tabs, and maxVisitBytes how long their cookies are
	// together: proxies limit the size of headers. The oldest go.
	maxVisits     = 5
	maxVisitBytes = 8 << 10
	// MaxReturn is the length of the longest address to come back to, in bytes; a longer one is forgotten.
	MaxReturn = 2 << 10

	forVisits = "hiregate tickets of who signs in to the console"
)

// Visit is the content of the cookie of a person who is at the provider.
type Visit struct {
	oidcclient.Visit
	To   string // where they wanted to go
	Till time.Time
}

// ErrNoVisit means that a person did not leave for the provider in this browser, took too long, or came back already. The
// others are causes of it that are known.
var (
	ErrNoVisit  = errors.New("nobody left for the provider with this state in this browser")
	ErrLate     = fmt.Errorf("%w: it took too long", ErrNoVisit)
	ErrOtherKey = fmt.Errorf("%w: the cookie was sealed with another key", ErrNoVisit)
)

// Leave leads the browser to the provider, from where it comes back to go on to an address. mark is added to the state.
func (s *Site) Leave(w http.ResponseWriter, r *http.Request, to, mark string) error {
	found, err := s.Provider.Discover(r.Context())
	if err != nil {
		return err
	}
	v := Visit{Visit: oidcclient.NewVisit(), To: to, Till: s.Now().Add(visitTime)}
	v.State += mark
	ticket, err := s.Vault.SealTicket(forVisits, s.Address, v)
	if err != nil {
		return err
	}
	name := s.visitCookie(v.State)
	for _, old := range s.surplus(r, len(name)+len(ticket)) {
		s.SetCookie(w, old, "", 0)
	}
	s.SetCookie(w, name, ticket, visitTime)
	var options []oauth2.AuthCodeOption
	if s.Refresh {
		options = found.AskToRefresh()
	}
	if _, err := r.Cookie(s.askAgain()); err == nil {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	Redirect(w, r, found.AuthCodeURL(s.Callback, v.Visit, options...))
	return nil
}

// visitCookie returns the name of the cookie of a visit. Each has its own: tabs that open at once don't overwrite each
// other's.
func (s *Site) visitCookie(state string) string {
	return s.Cookie + "-visit-" + state[:min(8, len(state))]
}

// surplus returns the names of cookies of visits that a browser has to forget for a new one of some bytes.
func (s *Site) surplus(r *http.Request, bytes int) (names []string) {
	type held struct {
		name  string
		bytes int
		till  time.Time
	}
	var all []held
	for _, c := range r.Cookies() {
		if strings.HasPrefix(c.Name, s.Cookie+"-visit-") {
			var v Visit
			s.Vault.OpenTicket(forVisits, s.Address, c.Value, &v) // else it is the oldest
			all = append(all, held{c.Name, len(c.Name) + len(c.Value), v.Till})
		}
	}
	slices.SortFunc(all, func(a, b held) int { return cmp.Or(b.till.Compare(a.till), strings.Compare(a.name, b.name)) })
	for n, h := range all {
		if bytes += h.bytes; n >= maxVisits-1 || bytes > maxVisitBytes {
			names = append(names, h.name)
		}
	}
	return names
}

// Visit returns the visit of a browser with a state; nil: there is none.
func (s *Site) Visit(r *http.Request, state string) *Visit {
	v, _ := s.visit(r, state)
	return v
}

func (s *Site) visit(r *http.Request, state string) (*Visit, error) {
	v := new(Visit)
	cookie, err := r.Cookie(s.visitCookie(state))
	switch {
	case err != nil:
		return nil, ErrNoVisit
	case !s.Vault.OpenTicket(forVisits, s.Address, cookie.Value, v):
		return nil, ErrOtherKey
	case !s.Now().Before(v.Till):
		return nil, ErrLate
	case subtle.ConstantTimeCompare([]byte(state), []byte(v.State)) == 0:
		return nil, ErrNoVisit
	}
	return v, nil
}

// Return takes the browser back from the provider: it returns who signed in there, and where they wanted to go, also with an
// error of the provider. Errors: ErrNoVisit.
func (s *Site) Return(w http.ResponseWriter, r *http.Request) (them *oidcclient.Account, to string, err error) {
	q := r.URL.Query()
	v, err := s.visit(r, q.Get("state"))
	if err != nil {
		return nil, "", err
	}
	s.SetCookie(w, s.visitCookie(v.State), "", 0)
	if them, err = s.Provider.Redeem(r.Context(), q, s.Callback, v.Visit); err == nil {
		err = s.Provider.Complete(r.Context(), them)
	}
	return them, v.To, err
}

// Redirect leads a browser on to an address, with a GET.
func Redirect(w http.ResponseWriter, r *http.Request, to string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// OwnPath returns a path below a site's address, with its query, for a browser to be sent to; "/" where it is none:
// //elsewhere, what leads out by dots, and what browsers read like that.
func OwnPath(to string) string {
	u, err := url.Parse(to)
	odd := func(c rune) bool { return c == '\\' || unicode.IsControl(c) }
	dots := func(segment string) bool { return segment == "." || segment == ".." }
	if err != nil || len(to) > MaxReturn || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsFunc(to+u.Path, odd) || slices.ContainsFunc(strings.Split(u.Path, "/"), dots) {
		return "/"
	}
	own := u.RequestURI()
	if u.Fragment != "" {
		own += "#" + u.EscapedFragment()
	}
	return own
}
