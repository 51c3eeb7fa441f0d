package accounts

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// sessions serves the sessions at consoles and at applications behind signin_gate.
var sessions = rest.Resource[*identity.ConsoleSession]{
	Path: "/v1/sessions", Kind: "session", Scope: rest.Shared, Reader: model.Admin, Personal: true,
	Filters: []string{"site", "provider", "person"}, View: rest.ViewAs(sessionOf),
	List: func(r *rest.Request) ([]*identity.ConsoleSession, string, error) {
		after, err := sessionID(r.Page.After)
		if err != nil && r.Page.After != "" {
			return nil, "", rest.NoCursor()
		}
		of, err := sessionsOf(r, api.SessionsToEnd{Site: r.Query.Get("site"), Provider: r.Query.Get("provider"),
			Person: r.Query.Get("person")})
		if err != nil {
			return nil, "", err
		}
		page, next, err := r.DB.ListConsoleSessions(r.Context(), of, after, r.Page.Limit, r.Now())
		if next == (identity.Hash{}) {
			return page, "", err
		}
		return page, hex.EncodeToString(next[:]), err
	},
}

func sessionOf(s *identity.ConsoleSession) api.Session {
	shown := api.Session{ID: hex.EncodeToString(s.Hash[:]), Site: s.Site(), Provider: s.Issuer, Person: s.Subject, Email: s.Email,
		CreatedAt: s.CreatedAt, UsedAt: s.UsedAt, EndsAt: s.Till}
	if shown.UsedAt.IsZero() {
		shown.UsedAt = s.CreatedAt
	}
	return shown
}

var errNoSession = problem.New(http.StatusNotFound, "there is no session of that id, or it has ended")

func sessionID(s string) (id identity.Hash, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || copy(id[:], raw) != len(id) || len(raw) != len(id) {
		return id, errNoSession
	}
	return id, nil
}

// sessionsOf returns what a request chooses. A person may be named by the e-mail address of a user here.
func sessionsOf(r *rest.Request, in api.SessionsToEnd) (access.SessionsOf, error) {
	of := access.SessionsOf{Site: strings.TrimSuffix(in.Site, "/"), Issuer: in.Provider, Subject: in.Person}
	if strings.Contains(in.Person, "@") {
		switch u, err := r.DB.UserByEmail(r.Context(), in.Person); {
		case err == nil:
			of.Subject = u.ID
		case !errors.Is(err, store.ErrNotFound):
			return of, err
		}
	}
	return of, nil
}

// endSessionsOf ends a session, or all of a site, a provider or a person. The audit has which.
func endSessionsOf(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.SessionsToEnd](r)
	if err != nil {
		return nil, err
	}
	many := in
	many.ID = ""
	if (in.ID == "") == (many == api.SessionsToEnd{}) {
		return nil, problem.New(http.StatusUnprocessableEntity, "which sessions are to end? name one by its id, or all of a site, "+
			"a provider or a person")
	}
	end := (*store.Tx).EndSiteSessions
	if in.ID != "" {
		id, err := sessionID(in.ID)
		if err != nil {
			return nil, err
		}
		r.Object = "sessions/" + in.ID
		end = func(tx *store.Tx, _ access.SessionsOf, now time.Time) (int64, error) {
			return tx.EndSiteSession(id, now)
		}
	}
	of, err := sessionsOf(r, many)
	if err != nil {
		return nil, err
	}
	for _, part := range [][2]string{{"at", of.Site}, {"of the provider", of.Issuer}, {"of", of.Subject}} {
		if part[1] != "" {
			r.Detail = strings.TrimSpace(r.Detail + " " + part[0] + " " + part[1])
		}
	}
	var ended int64
	err = r.Update(func(tx *store.Tx) (err error) {
		if ended, err = end(tx, of, r.Now()); err == nil && ended == 0 && in.ID != "" {
			return errNoSession
		}
		return err
	})
	return api.EndedSessions{Ended: ended}, err
}
