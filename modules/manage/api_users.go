package manage

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// apiUser is a user of the Apply API, as it is shown.
type apiUser struct {
	ID         string    `json:"id"`
	Tenant     string    `json:"tenant"`
	UserName   string    `json:"userName"`
	Password   string    `json:"password,omitempty"` // one that was made here, in the answer that makes it, and never again
	CreatedAt  time.Time `json:"createdAt"`
	DisabledAt time.Time `json:"disabledAt,omitzero"`
}

func apiUserOf(u *hiring.APIUser) apiUser {
	return apiUser{ID: u.ID, Tenant: u.Tenant, UserName: u.Name, CreatedAt: u.CreatedAt, DisabledAt: u.DisabledAt}
}

// listAPIUsers lists the users of a tenant, or looks for the one of a name.
func (r *request) listAPIUsers() (any, error) {
	q, page, err := r.page("api-user", "userName")
	if err != nil {
		return nil, err
	}
	t, err := r.tenant()
	if err != nil {
		return nil, err
	}
	if q.Get("userName") != "" {
		u, err := r.db.APIUserByName(r.Context(), t.Name, q.Get("userName"))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return list[apiUser]{Items: []apiUser{}}, nil
		case err != nil:
			return nil, err
		}
		return list[apiUser]{Items: []apiUser{apiUserOf(u)}}, nil
	}
	rows, next, err := r.db.APIUsers(r.Context(), t.Name, page.rows())
	if err != nil {
		return nil, err
	}
	return listed(page, rows, next, apiUserOf), nil
}

// addAPIUser makes a user, with the password that is sent, or with one that is made here and shown this once.
func (r *request) addAPIUser() (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	t, err := r.tenant()
	if err != nil {
		return nil, err
	}
	in, err := decode[struct {
		UserName string `json:"userName"`
		Password string `json:"password"`
	}](r)
	if err != nil {
		return nil, err
	}
	u := &hiring.APIUser{ID: uuid.NewString(), Tenant: t.Name, Name: in.UserName, CreatedAt: r.gateway.Now().UTC().Truncate(time.Microsecond)}
	if err := invalid(u.CheckName()); err != nil {
		return nil, err
	}
	made, err := r.hashed(in.Password, &u.Password)
	if err != nil {
		return nil, err
	}
	if id := r.done(); id != "" {
		return r.renewAPIUser(t.Name, id, made, u.Password)
	}
	err = r.write(func(tx *store.Tx) error {
		err := tx.AddAPIUser(u)
		if errors.Is(err, store.ErrTaken) {
			return problem.New(http.StatusConflict, "this user name is taken: give its user another password, or take another name")
		}
		if err != nil {
			return err
		}
		return r.note(tx, u.ID)
	})
	if err != nil {
		return nil, err
	}
	return r.madeAPIUser(u, made), nil
}

// renewAPIUser answers for a user whom an earlier try of the request made. The password that it made nobody has seen; another, given with
// its hash, takes its place. One that was sent stays.
func (r *request) renewAPIUser(tenant, id, made, hash string) (any, error) {
	u, err := r.db.APIUser(r.Context(), tenant, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !u.DisabledAt.IsZero() {
		return nil, endedMeanwhile()
	}
	if err != nil {
		return nil, err
	}
	if made != "" {
		err := r.write(func(tx *store.Tx) error {
			if _, err := tx.ResetAPIUser(tenant, id, hash); err != nil {
				return err
			}
			return r.note(tx, id)
		})
		if err != nil {
			return nil, err
		}
	}
	return r.madeAPIUser(u, made), nil
}

func (r *request) madeAPIUser(u *hiring.APIUser, password string) apiUser {
	r.location = "/v1/tenants/" + u.Tenant + "/api-users/" + url.PathEscape(u.ID)
	shown := apiUserOf(u)
	shown.Password = password
	return shown
}

// apiUser is whom the path names.
func (r *request) apiUser() (*hiring.APIUser, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	t, err := r.tenant()
	if err != nil {
		return nil, err
	}
	u, err := r.db.APIUser(r.Context(), t.Name, r.PathValue("id"))
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem.New(http.StatusNotFound, "this tenant has no API user of that id")
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

func (r *request) showAPIUser() (any, error) {
	u, err := r.apiUser()
	if err != nil {
		return nil, err
	}
	return apiUserOf(u), nil
}

// disableAPIUser keeps a user out, and ends their tokens. They stay in the list, so that it can be told who applied.
func (r *request) disableAPIUser() (any, error) {
	u, err := r.apiUser()
	if err != nil {
		return nil, err
	}
	return nil, r.write(func(tx *store.Tx) error {
		_, err := tx.DisableAPIUser(u.Tenant, u.ID, r.gateway.Now())
		return err
	})
}

// enableAPIUser lets a user in again, with the password they have. Their tokens of before stay ended.
func (r *request) enableAPIUser() (any, error) {
	u, err := r.apiUser()
	if err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error {
		_, err := tx.EnableAPIUser(u.Tenant, u.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	u.DisabledAt = time.Time{}
	return apiUserOf(u), nil
}

// resetAPIUser gives a user another password, and ends their tokens. One who is disabled stays so.
func (r *request) resetAPIUser() (any, error) {
	u, err := r.apiUser()
	if err != nil {
		return nil, err
	}
	made, err := r.anotherPassword(&u.Password)
	if err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error {
		_, err := tx.ResetAPIUser(u.Tenant, u.ID, u.Password)
		return err
	})
	if err != nil {
		return nil, err
	}
	shown := apiUserOf(u)
	shown.Password = made
	return shown, nil
}
