package signin

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// sessionsPath is where people see where they are signed in.
const sessionsPath = "/sessions"

// sessionsForm lists where a user is signed in.
type sessionsForm struct {
	Sessions []listedSession
	Others   bool // there is more than this one
}

// listedSession is a place where a user is signed in.
type listedSession struct {
	Browser, Address, Clients, Since, Used, SID string
	Here                                        bool // it is this browser
}

// sessions shows people where they are signed in.
func (p *Provider) sessions(w http.ResponseWriter, r *http.Request) {
	p.own(w, r, func(s *identity.Session) error {
		all, err := p.db().ListSessions(r.Context(), p.Issuer, s.UserID, p.now())
		if err != nil {
			return err
		}
		u, err := p.db().User(r.Context(), s.UserID)
		if err != nil {
			return err
		}
		t := textsFor(locales(r), r)
		f := &sessionsForm{Others: len(all) > 1}
		for _, one := range all {
			clients, err := p.db().ListClientsOfSession(r.Context(), one.SID)
			if err != nil {
				return err
			}
			shown := listedSession{Browser: one.Browser, Address: one.Address, Clients: strings.Join(clients, ", "), SID: one.SID,
				Since: strings.ReplaceAll(t.Since, "{time}", one.SignedInAt.Format(time.DateTime)), Here: one.Hash == s.Hash}
			if !one.UsedAt.IsZero() {
				shown.Used = strings.ReplaceAll(t.Used, "{time}", one.UsedAt.Format(time.DateTime))
			}
			if shown.Browser == "" {
				shown.Browser = t.SomeBrowser
			}
			f.Sessions = append(f.Sessions, shown)
		}
		title := strings.ReplaceAll(t.SessionsTitle, "{number}", strconv.Itoa(len(all)))
		if !f.Others {
			title = t.OneSessionTitle
		}
		p.render(w, r, http.StatusOK, &page{Text: t, Title: title, Lead: p.fill(t.Sessions, ""), Who: u.Email, Sessions: f})
		return nil
	})
}

// endSessions ends one of a user's sessions, or all but this one.
func (p *Provider) endSessions(w http.ResponseWriter, r *http.Request) {
	p.own(w, r, func(s *identity.Session) error {
		err := p.db().Write(r.Context(), func(tx *store.Tx) error {
			ended, err := 0, error(nil)
			if sid := r.PostForm.Get("sid"); sid != "" {
				var found bool
				if found, err = tx.EndSessionOf(s.UserID, p.Issuer, sid, p.now()); found {
					ended = 1
				}
			} else {
				ended, err = tx.EndOtherSessions(s.UserID, p.Issuer, s.Hash, p.now())
			}
			if err != nil || ended == 0 {
				return err
			}
			return tx.InsertSigninEntry(p.entry(r, "sign-out", "ended_by_user", "", s.UserID))
		})
		if err == nil {
			redirect(w, http.StatusSeeOther, p.Issuer+sessionsPath)
		}
		return err
	})
}

// own serves a page of whoever is signed in. It tells others to sign in first, which begins at an application.
func (p *Provider) own(w http.ResponseWriter, r *http.Request, serve func(s *identity.Session) error) {
	s, err := p.session(r)
	switch {
	case err != nil:
	case s == nil:
		p.message(w, r, http.StatusForbidden, func(t *texts) (string, string) { return t.NotInTitle, t.NotIn })
	default:
		err = serve(s)
	}
	if err != nil {
		p.failedPage(w, r, err)
	}
}

// browsers and systems are what a User-Agent names them by, the more special ones first.
var (
	browsers = [][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systems = [][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"},
		{"CrOS", "ChromeOS"}, {"Linux", "Linux"}}
)

// browserOf returns the browser and the system of a User-Agent, such as Firefox, Linux; empty: neither is known.
func browserOf(agent string) string {
	var found []string
	for _, known := range [][][2]string{browsers, systems} {
		for _, one := range known {
			if strings.Contains(agent, one[0]) {
				found = append(found, one[1])
				break
			}
		}
	}
	return strings.Join(found, ", ")
}
