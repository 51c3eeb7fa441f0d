package accounts

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

func userOf(u *identity.User) api.User {
	totp := "off"
	switch {
	case u.TOTPRequired && u.TOTP == nil:
		totp = "pending"
	case u.TOTPRequired:
		totp = "on"
	}
	return api.User{ID: u.ID, CreatedAt: u.CreatedAt, DisabledAt: u.DisabledAt, LastSignInAt: u.SignedInAt, TOTP: totp, MustChange: u.MustChange,
		UserProfile: api.UserProfile{Email: u.Email, EmailVerified: u.EmailVerified, Name: u.Name,
			GivenName: u.GivenName, FamilyName: u.FamilyName, Groups: listed(u.Groups)}, UpstreamGroups: listed(u.UpstreamGroups)}
}

// listed returns a list that is shown as one where it is empty.
func listed(all []string) []string { return append([]string{}, all...) }

// users serves the people who sign in. A disabled user stays in the list: their id is in other people's hands.
var users = rest.Resource[*identity.User]{
	Path: "/v1/users", ID: "id", Kind: "user", Scope: rest.Shared, Reader: model.Viewer, Writer: model.Admin,
	Personal: true, Filters: []string{"email"},
	List: listUsers, Find: findUser, View: rest.ViewAs(userOf), Add: addUser, Repeat: repeatedUser,
	Put: putUser,
	Drop: rest.Change(findUser, func(r *rest.Request, tx *store.Tx, u *identity.User) error {
		_, err := tx.DisableUser(u.ID, r.Gateway.Now())
		return err
	}, nil),
}

// listUsers lists the users, or finds the one with an e-mail address.
func listUsers(r *rest.Request) ([]*identity.User, string, error) {
	if email := r.Query.Get("email"); email != "" {
		u, err := r.DB.UserByEmail(r.Context(), email)
		if errors.Is(err, store.ErrNotFound) {
			return nil, "", nil
		}
		return []*identity.User{u}, "", err
	}
	return r.DB.ListUsers(r.Context(), r.Page.Rows())
}

// findUser returns the user that the path names.
func findUser(r *rest.Request) (*identity.User, error) { return userByID(r, r.PathValue("id")) }

func userByID(r *rest.Request, id string) (*identity.User, error) {
	u, err := r.DB.User(r.Context(), id)
	return u, rest.NotFound(err, problem.New(http.StatusNotFound, "there is no user of that id"))
}

// withProfile returns a user with the profile of a request.
func withProfile(u identity.User, p api.UserProfile) *identity.User {
	u.Email, u.EmailVerified = p.Email, p.EmailVerified
	u.Name, u.GivenName, u.FamilyName, u.Groups = p.Name, p.GivenName, p.FamilyName, p.Groups
	return &u
}

// addressTaken refuses an e-mail address that is another user's.
func addressTaken(err error) error {
	if errors.Is(err, store.ErrTaken) {
		return problem.New(http.StatusConflict,
			"there is a user with this e-mail address: reset their password, or take another address")
	}
	return err
}

// addUser makes a user, with the password that is sent, or with one that is made here and shown this once.
func addUser(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.UserInput](r)
	if err != nil {
		return nil, err
	}
	u := withProfile(identity.User{ID: uuid.NewString(), CreatedAt: r.Now()}, in.UserProfile)
	if err := rest.Invalid(u.Validate()); err != nil {
		return nil, err
	}
	made, err := hashPassword(r, in.Password, &u.Password)
	if err != nil {
		return nil, err
	}
	r.Created("/v1/users", u.ID)
	err = r.Update(func(tx *store.Tx) error {
		if err := addressTaken(tx.InsertUser(u)); err != nil {
			return err
		}
		if err := mustChange(tx, u, in.UserPasswordInput); err != nil {
			return err
		}
		return r.Note(tx, r.Location)
	})
	shown := userOf(u)
	shown.Password = made
	return shown, err
}

// mustChange has a user choose another password at the next sign-in, if the request says so.
func mustChange(tx *store.Tx, u *identity.User, in api.UserPasswordInput) error {
	u.MustChange = in.MustChange
	if !in.MustChange {
		return nil
	}
	return tx.RequirePasswordChange(u.ID)
}

// putUser changes a user's address and names. What they are signed in to goes on: applications know them by their id.
func putUser(r *rest.Request) (any, error) {
	u, err := findUser(r)
	if err != nil {
		return nil, err
	}
	in, err := rest.Decode[api.UserProfile](r)
	if err != nil {
		return nil, err
	}
	u = withProfile(*u, in)
	if err := rest.Invalid(u.Validate()); err != nil {
		return nil, err
	}
	err = r.Update(func(tx *store.Tx) error { return addressTaken(tx.UpdateUser(u)) })
	if err != nil {
		return nil, err
	}
	return userOf(u), nil
}

// enableUser lets a user sign in again, with the password that they had.
func enableUser(_ *rest.Request, tx *store.Tx, u *identity.User) error {
	u.DisabledAt = time.Time{}
	_, err := tx.EnableUser(u.ID)
	return err
}

// repeatedUser answers the repeat of a request that made a user, or gave one a password that was sent.
func repeatedUser(r *rest.Request, location string) (any, error) {
	if err := passwordShownOnce(r, "hiregate user set … --new-password"); err != nil {
		return nil, err
	}
	u, err := userByID(r, r.Repeated(location))
	if err != nil {
		return nil, err
	}
	return userOf(u), nil
}

// resetUser gives a user another password, and ends what they are signed in to. One who was disabled may sign in again.
func resetUser(r *rest.Request) (any, error) {
	u, err := findUser(r)
	if err != nil {
		return nil, err
	}
	in, err := rest.DecodeAny[api.UserPasswordInput](r)
	if err != nil {
		return nil, err
	}
	made, err := hashPassword(r, in.Password, &u.Password)
	if err != nil {
		return nil, err
	}
	err = r.Update(func(tx *store.Tx) error {
		if _, err := tx.ResetUser(u.ID, u.Password, r.Gateway.Now()); err != nil {
			return err
		}
		if err := mustChange(tx, u, in); err != nil {
			return err
		}
		return r.Note(tx, rest.PathOf("/v1/users", u.ID))
	})
	u.DisabledAt = time.Time{}
	shown := userOf(u)
	shown.Password = made
	return shown, err
}

// setTOTP makes a user set up a second factor at the next sign-in, another one where there was one; or lets them sign
// in without one. What they are signed in to ends.
func setTOTP(required bool) func(*rest.Request, *store.Tx, *identity.User) error {
	return func(r *rest.Request, tx *store.Tx, u *identity.User) error {
		u.TOTPRequired, u.TOTP = required, nil
		_, err := tx.RequireTOTP(u.ID, required, r.Gateway.Now())
		return err
	}
}

// userSessions serves where a user is signed in, the latest sign-in first.
var userSessions = rest.Resource[*identity.Session]{
	Path: aUser + "/sessions", Kind: "session", Scope: rest.Shared, Reader: model.Admin, Personal: true,
	List: func(r *rest.Request) ([]*identity.Session, string, error) {
		u, err := findUser(r)
		if err != nil {
			return nil, "", err
		}
		all, err := r.DB.ListSessions(r.Context(), "", u.ID, r.Gateway.Now())
		rows, next := rest.PageOf(r.Page, all, func(s *identity.Session) string {
			return fmt.Sprintf("%019d %s", math.MaxInt64-s.SignedInAt.UnixMicro(), s.SID)
		})
		return rows, next, err
	},
	View: func(s *identity.Session) any {
		return api.UserSession{SID: s.SID, Issuer: s.Issuer, SignedInAt: s.SignedInAt, UsedAt: s.UsedAt, EndsAt: s.Till,
			Address: s.Address, Browser: s.Browser}
	},
}

// endSessions ends what a user is signed in to; they may sign in again.
func endSessions(r *rest.Request, tx *store.Tx, u *identity.User) error {
	_, err := tx.EndSessions(u.ID, r.Gateway.Now())
	return err
}

// upstreamAccounts serves a user's accounts at other providers, at most one of each.
var upstreamAccounts = rest.Resource[*identity.UpstreamAccount]{
	Path: aUser + "/upstream-accounts", Kind: "account", Scope: rest.Shared, Reader: model.Viewer, Personal: true,
	List: func(r *rest.Request) ([]*identity.UpstreamAccount, string, error) {
		u, err := findUser(r)
		if err != nil {
			return nil, "", err
		}
		all, err := r.DB.ListUpstreamAccounts(r.Context(), u.ID)
		rows, next := rest.PageOf(r.Page, all, func(a *identity.UpstreamAccount) string { return a.Issuer })
		return rows, next, err
	},
	View: func(a *identity.UpstreamAccount) any { return api.UpstreamAccount(*a) },
}

// unlinkUpstream takes a user's accounts at other providers from them, and ends what they are signed in to.
func unlinkUpstream(r *rest.Request, tx *store.Tx, u *identity.User) error {
	_, err := tx.DeleteUpstreamAccounts(u.ID, r.Gateway.Now())
	return err
}

// signIns serves the log of sign-ins, the latest first.
var signIns = rest.Resource[api.SignIn]{
	Path: "/v1/sign-ins", Kind: "sign-in", Scope: rest.Shared, Reader: model.Admin, Personal: true,
	List: func(r *rest.Request) ([]api.SignIn, string, error) {
		before, err := r.Page.Number()
		if err != nil {
			return nil, "", err
		}
		rows, next, err := r.DB.ListSigninEntries(r.Context(), before, r.Page.Limit)
		all := make([]api.SignIn, len(rows))
		for n, e := range rows {
			all[n] = api.SignIn{ID: e.ID, At: e.At, Event: e.Event, Result: e.Result, Issuer: e.Issuer, Client: e.Client,
				User: e.UserID, Address: e.Address}
		}
		return all, rest.Numbered(next), err
	},
	View: rest.Identity[api.SignIn],
}
