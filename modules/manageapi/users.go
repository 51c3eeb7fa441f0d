package manageapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

func userOf(u *identity.User) api.User {
	totp := "off"
	switch {
	case u.TOTPRequired && u.TOTP == nil:
		totp = "pending"
	case u.TOTPRequired:
		totp = "on"
	}
	return api.User{ID: u.ID, CreatedAt: u.CreatedAt, DisabledAt: u.DisabledAt, TOTP: totp,
		UserProfile: api.UserProfile{Email: u.Email, EmailVerified: u.EmailVerified, Name: u.Name,
			GivenName: u.GivenName, FamilyName: u.FamilyName}}
}

// users sign in. One that is disabled stays in the list: their id is in other people's hands.
var users = resource[*identity.User]{
	path: "/v1/users", id: "id", kind: "user", scope: shared, reader: model.Viewer, writer: model.Admin, personal: true,
	filters: []string{"email"},
	list:    listUsers, find: findUser, view: as(userOf), add: addUser, repeat: repeatedUser,
	put: putUser,
	drop: change(findUser, func(r *request, tx *store.Tx, u *identity.User) error {
		_, err := tx.DisableUser(u.ID, r.gateway.Now())
		return err
	}, nil),
}

// listUsers lists the users, or finds the one with an e-mail address.
func listUsers(r *request) ([]*identity.User, string, error) {
	if email := r.query.Get("email"); email != "" {
		u, err := r.db.UserByEmail(r.Context(), email)
		if errors.Is(err, store.ErrNotFound) {
			return nil, "", nil
		}
		return []*identity.User{u}, "", err
	}
	return r.db.ListUsers(r.Context(), r.page.rows())
}

// findUser returns the user that the path names.
func findUser(r *request) (*identity.User, error) { return r.user(r.PathValue("id")) }

func (r *request) user(id string) (*identity.User, error) {
	u, err := r.db.User(r.Context(), id)
	return u, notFound(err, problem.New(http.StatusNotFound, "there is no user of that id"))
}

// withProfile returns a user with the profile of a request.
func withProfile(u identity.User, p api.UserProfile) *identity.User {
	u.Email, u.EmailVerified = p.Email, p.EmailVerified
	u.Name, u.GivenName, u.FamilyName = p.Name, p.GivenName, p.FamilyName
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
func addUser(r *request) (any, error) {
	in, err := decode[api.UserInput](r)
	if err != nil {
		return nil, err
	}
	u := withProfile(identity.User{ID: uuid.NewString(), CreatedAt: r.now()}, in.UserProfile)
	if err := invalid(u.Validate()); err != nil {
		return nil, err
	}
	made, err := r.hashPassword(in.Password, &u.Password)
	if err != nil {
		return nil, err
	}
	r.created("/v1/users", u.ID)
	err = r.write(func(tx *store.Tx) error {
		if err := addressTaken(tx.InsertUser(u)); err != nil {
			return err
		}
		return r.note(tx, r.location)
	})
	shown := userOf(u)
	shown.Password = made
	return shown, err
}

// putUser changes a user's address and names. What they are signed in to goes on: applications know them by their id.
func putUser(r *request) (any, error) {
	u, err := findUser(r)
	if err != nil {
		return nil, err
	}
	in, err := decode[api.UserProfile](r)
	if err != nil {
		return nil, err
	}
	u = withProfile(*u, in)
	if err := invalid(u.Validate()); err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error { return addressTaken(tx.UpdateUser(u)) })
	if err != nil {
		return nil, err
	}
	return userOf(u), nil
}

// enableUser lets a user sign in again, with the password that they had.
func enableUser(_ *request, tx *store.Tx, u *identity.User) error {
	u.DisabledAt = time.Time{}
	_, err := tx.EnableUser(u.ID)
	return err
}

// repeatedUser answers the repeat of a request that made a user, or gave one a password that was sent.
func repeatedUser(r *request, location string) (any, error) {
	if err := r.passwordShownOnce("hiregate user set … --new-password"); err != nil {
		return nil, err
	}
	u, err := r.user(r.repeated(location))
	if err != nil {
		return nil, err
	}
	return userOf(u), nil
}

// resetUser gives a user another password, and ends what they are signed in to. One who was disabled may sign in again.
func resetUser(r *request) (any, error) {
	u, err := findUser(r)
	if err != nil {
		return nil, err
	}
	made, err := r.sentOrMadePassword(&u.Password)
	if err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error {
		if _, err := tx.ResetUser(u.ID, u.Password, r.gateway.Now()); err != nil {
			return err
		}
		return r.note(tx, pathOf("/v1/users", u.ID))
	})
	u.DisabledAt = time.Time{}
	shown := userOf(u)
	shown.Password = made
	return shown, err
}

// setTOTP makes a user set up a second factor at the next sign-in, another one where there was one; or lets them sign
// in without one. What they are signed in to ends.
func setTOTP(required bool) func(*request, *store.Tx, *identity.User) error {
	return func(r *request, tx *store.Tx, u *identity.User) error {
		u.TOTPRequired, u.TOTP = required, nil
		_, err := tx.RequireTOTP(u.ID, required, r.gateway.Now())
		return err
	}
}

// upstreamAccounts are a user's accounts at other providers: at most one of each.
var upstreamAccounts = resource[*identity.UpstreamAccount]{
	path: aUser + "/upstream-accounts", kind: "account", scope: shared, reader: model.Viewer, personal: true,
	list: func(r *request) ([]*identity.UpstreamAccount, string, error) {
		u, err := findUser(r)
		if err != nil {
			return nil, "", err
		}
		all, err := r.db.ListUpstreamAccounts(r.Context(), u.ID)
		rows, next := part(r.page, all, func(a *identity.UpstreamAccount) string { return a.Issuer })
		return rows, next, err
	},
	view: func(a *identity.UpstreamAccount) any { return api.UpstreamAccount(*a) },
}

// unlinkUpstream takes a user's accounts at other providers from them, and ends what they are signed in to.
func unlinkUpstream(r *request, tx *store.Tx, u *identity.User) error {
	_, err := tx.DeleteUpstreamAccounts(u.ID, r.gateway.Now())
	return err
}

// signIns are the log of sign-ins, the latest first.
var signIns = resource[api.SignIn]{
	path: "/v1/sign-ins", kind: "sign-in", scope: shared, reader: model.Admin, personal: true,
	list: func(r *request) ([]api.SignIn, string, error) {
		before, err := r.page.number()
		if err != nil {
			return nil, "", err
		}
		rows, next, err := r.db.ListSigninEntries(r.Context(), before, r.page.limit)
		all := make([]api.SignIn, len(rows))
		for n, e := range rows {
			all[n] = api.SignIn{ID: e.ID, At: e.At, Event: e.Event, Result: e.Result, Issuer: e.Issuer, Client: e.Client,
				User: e.UserID, Address: e.Address}
		}
		return all, numbered(next), err
	},
	view: itself[api.SignIn],
}
