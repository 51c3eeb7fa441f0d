package manage

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// user is somebody who signs in, as they are shown.
type user struct {
	ID            string    `json:"id"` // the claim sub
	Email         string    `json:"email"`
	EmailVerified bool      `json:"emailVerified"`
	Name          string    `json:"name"`
	GivenName     string    `json:"givenName"`
	FamilyName    string    `json:"familyName"`
	Password      string    `json:"password,omitempty"` // one that was made here, in the answer that makes it, and never again
	CreatedAt     time.Time `json:"createdAt"`
	DisabledAt    time.Time `json:"disabledAt,omitzero"`
	TOTP          string    `json:"totp"` // off, pending: it is set up at the next sign-in, or on
}

func userOf(u *identity.User) user {
	totp := "off"
	switch {
	case u.TOTPRequired && u.TOTP == nil:
		totp = "pending"
	case u.TOTPRequired:
		totp = "on"
	}
	return user{ID: u.ID, Email: u.Email, EmailVerified: u.EmailVerified, Name: u.Name, GivenName: u.GivenName, FamilyName: u.FamilyName,
		CreatedAt: u.CreatedAt, DisabledAt: u.DisabledAt, TOTP: totp}
}

// forAll lets through whoever may work with what belongs to no tenant: sign-in is the same for all of them.
func (r *request) forAll() error {
	if r.caller.tenant != "" {
		return problem.New(http.StatusNotFound, "this API key opens one tenant, and sign-in belongs to none: ask with a key that opens all")
	}
	return nil
}

func (r *request) listUsers() (any, error) {
	_, page, err := r.page("user")
	if err == nil {
		err = r.forAll()
	}
	if err != nil {
		return nil, err
	}
	rows, next, err := r.db.Users(r.Context(), page.rows())
	if err != nil {
		return nil, err
	}
	return listed(page, rows, next, userOf), nil
}

// addUser makes a user, with the password that is sent, or with one that is made here and shown this once.
func (r *request) addUser() (any, error) {
	if err := r.own(); err != nil {
		return nil, err
	}
	in, err := decode[struct {
		Email         string `json:"email"`
		EmailVerified bool   `json:"emailVerified"`
		Name          string `json:"name"`
		GivenName     string `json:"givenName"`
		FamilyName    string `json:"familyName"`
		Password      string `json:"password"`
	}](r)
	if err != nil {
		return nil, err
	}
	u := &identity.User{ID: uuid.NewString(), Email: in.Email, EmailVerified: in.EmailVerified, Name: in.Name, GivenName: in.GivenName, FamilyName: in.FamilyName,
		CreatedAt: r.gateway.Now().UTC().Truncate(time.Microsecond)}
	if err := invalid(u.Check()); err != nil {
		return nil, err
	}
	made, err := r.hashed(in.Password, &u.Password)
	if err != nil {
		return nil, err
	}
	if id := r.done(); id != "" {
		return r.renewUser(id, made, u.Password)
	}
	err = r.write(func(tx *store.Tx) error {
		err := tx.AddUser(u)
		if errors.Is(err, store.ErrTaken) {
			return problem.New(http.StatusConflict, "there is a user with this e-mail address: reset their password, or take another address")
		}
		if err != nil {
			return err
		}
		return r.note(tx, u.ID)
	})
	if err != nil {
		return nil, err
	}
	return r.madeUser(u, made), nil
}

// renewUser is to users what renewAPIUser is to those of the Apply API.
func (r *request) renewUser(id, made, hash string) (any, error) {
	u, err := r.db.User(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if !u.DisabledAt.IsZero() {
		return nil, endedMeanwhile()
	}
	if made != "" {
		err := r.write(func(tx *store.Tx) error {
			if _, err := tx.ResetUser(id, hash, r.gateway.Now()); err != nil {
				return err
			}
			return r.note(tx, id)
		})
		if err != nil {
			return nil, err
		}
	}
	return r.madeUser(u, made), nil
}

func (r *request) madeUser(u *identity.User, password string) user {
	r.location = "/v1/users/" + url.PathEscape(u.ID)
	shown := userOf(u)
	shown.Password = password
	return shown
}

// own is the beginning of all that takes no query and a caller who opens all tenants.
func (r *request) own() error {
	if _, err := r.query(); err != nil {
		return err
	}
	return r.forAll()
}

// user is whom the path names, for what takes no query.
func (r *request) user() (*identity.User, error) {
	if err := r.own(); err != nil {
		return nil, err
	}
	return r.found()
}

// found is whom the path names.
func (r *request) found() (*identity.User, error) {
	if err := r.forAll(); err != nil {
		return nil, err
	}
	u, err := r.db.User(r.Context(), r.PathValue("id"))
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem.New(http.StatusNotFound, "there is no user of that id")
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

func (r *request) showUser() (any, error) {
	u, err := r.user()
	if err != nil {
		return nil, err
	}
	return userOf(u), nil
}

// disableUser keeps a user from signing in. They stay in the list: their id is in other people's hands.
func (r *request) disableUser() (any, error) {
	u, err := r.user()
	if err != nil {
		return nil, err
	}
	return nil, r.write(func(tx *store.Tx) error {
		_, err := tx.DisableUser(u.ID, r.gateway.Now())
		return err
	})
}

// resetUser gives a user another password, and ends what they are signed in to. One who was disabled may sign in again.
func (r *request) resetUser() (any, error) {
	u, err := r.user()
	if err != nil {
		return nil, err
	}
	made, err := r.anotherPassword(&u.Password)
	if err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error {
		_, err := tx.ResetUser(u.ID, u.Password, r.gateway.Now())
		return err
	})
	if err != nil {
		return nil, err
	}
	u.DisabledAt = time.Time{}
	shown := userOf(u)
	shown.Password = made
	return shown, nil
}

// requireTOTP makes a user set up a second factor at the next sign-in, another one where there was one, and ends what they are signed
// in to.
func (r *request) requireTOTP() (any, error) {
	u, err := r.setTOTP(true)
	if err != nil {
		return nil, err
	}
	return userOf(u), nil
}

// endTOTP lets a user sign in without a second factor.
func (r *request) endTOTP() (any, error) {
	_, err := r.setTOTP(false)
	return nil, err
}

func (r *request) setTOTP(required bool) (*identity.User, error) {
	u, err := r.user()
	if err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error {
		_, err := tx.RequireTOTP(u.ID, required, r.gateway.Now())
		return err
	})
	if err != nil {
		return nil, err
	}
	u.TOTPRequired, u.TOTP = required, nil
	return u, nil
}

// upstreamAccount is an account at another provider, as it is shown.
type upstreamAccount struct {
	Issuer   string    `json:"issuer"`
	Subject  string    `json:"subject"`
	JoinedAt time.Time `json:"joinedAt"`
}

// listUpstreamAccounts lists a user's accounts at other providers: at most one of each.
func (r *request) listUpstreamAccounts() (any, error) {
	_, page, err := r.page("account")
	if err != nil {
		return nil, err
	}
	u, err := r.found()
	if err != nil {
		return nil, err
	}
	all, err := r.db.UpstreamAccounts(r.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	rows, next := part(page, all, func(a *identity.UpstreamAccount) string { return a.Issuer })
	return listed(page, rows, next, func(a *identity.UpstreamAccount) upstreamAccount { return upstreamAccount(*a) }), nil
}

// unjoinUpstream takes a user's accounts at other providers from them, and ends what they are signed in to.
func (r *request) unjoinUpstream() (any, error) {
	u, err := r.user()
	if err != nil {
		return nil, err
	}
	return nil, r.write(func(tx *store.Tx) error {
		_, err := tx.UnjoinUpstream(u.ID, r.gateway.Now())
		return err
	})
}

// signIn is an entry of the log of sign-ins.
type signIn struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Event   string    `json:"event"`
	Result  string    `json:"result"`
	Issuer  string    `json:"issuer"`
	Client  string    `json:"client"`
	User    string    `json:"user"`
	Address string    `json:"address"`
}

func (r *request) listSignIns() (any, error) {
	_, page, err := r.page("sign-in")
	if err == nil {
		err = r.forAll()
	}
	if err != nil {
		return nil, err
	}
	before, err := page.number()
	if err != nil {
		return nil, err
	}
	rows, next, err := r.db.SigninLog(r.Context(), before, page.limit)
	if err != nil {
		return nil, err
	}
	l := list[signIn]{Items: make([]signIn, len(rows)), Next: page.numbered(next)}
	for n, e := range rows {
		l.Items[n] = signIn{e.ID, e.At, e.Event, e.Result, e.Issuer, e.Client, e.UserID, e.Address}
	}
	return l, nil
}
