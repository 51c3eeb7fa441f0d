package accounts

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

func apiUserOf(u *model.APIUser) api.APIUser {
	return api.APIUser{ID: u.ID, Tenant: u.Tenant, UserName: u.Name, CreatedAt: u.CreatedAt, DisabledAt: u.DisabledAt}
}

// apiUsers serves the users of the Apply API of a tenant. A disabled user stays in the list, so that it is known who
// applied.
var apiUsers = rest.Resource[*model.APIUser]{
	Path: rest.InTenant + "/api-users", ID: "id", Kind: "api-user", Reader: model.Viewer, Writer: model.Admin,
	Personal: true, Filters: []string{"userName"},
	List: listAPIUsers, Find: findAPIUser, View: rest.ViewAs(apiUserOf), Add: addAPIUser, Repeat: repeatedAPIUser,
	Drop: rest.Change(findAPIUser, func(r *rest.Request, tx *store.Tx, u *model.APIUser) error {
		_, err := tx.DisableAPIUser(u.Tenant, u.ID, r.Gateway.Now())
		return err
	}, nil),
}

// listAPIUsers lists the users of a tenant, or finds the one with a name.
func listAPIUsers(r *rest.Request) ([]*model.APIUser, string, error) {
	if name := r.Query.Get("userName"); name != "" {
		u, err := r.DB.APIUserByName(r.Context(), r.Tenant.Name, name)
		if errors.Is(err, store.ErrNotFound) {
			return nil, "", nil
		}
		return []*model.APIUser{u}, "", err
	}
	return r.DB.ListAPIUsers(r.Context(), r.Tenant.Name, r.Page.Rows())
}

// findAPIUser returns the user that the path names.
func findAPIUser(r *rest.Request) (*model.APIUser, error) { return apiUserByID(r, r.PathValue("id")) }

func apiUserByID(r *rest.Request, id string) (*model.APIUser, error) {
	u, err := r.DB.APIUser(r.Context(), r.Tenant.Name, id)
	return u, rest.NotFound(err, noAPIUser)
}

var noAPIUser = problem.New(http.StatusNotFound, "this tenant has no API user of that id")

// addAPIUser makes a user, with the password that is sent, or with one that is made here and shown this once.
func addAPIUser(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.APIUserInput](r)
	if err != nil {
		return nil, err
	}
	u := &model.APIUser{ID: uuid.NewString(), Tenant: r.Tenant.Name, Name: in.UserName, CreatedAt: r.Now()}
	if err := rest.Invalid(u.ValidateName()); err != nil {
		return nil, err
	}
	made, err := hashPassword(r, in.Password, &u.Password)
	if err != nil {
		return nil, err
	}
	r.Created("/v1/tenants", u.Tenant, "api-users", u.ID)
	err = r.Update(func(tx *store.Tx) error {
		err := tx.InsertAPIUser(u)
		if errors.Is(err, store.ErrTaken) {
			return problem.New(http.StatusConflict,
				"this user name is taken: give its user another password, or take another name")
		}
		if err != nil {
			return err
		}
		return r.Note(tx, r.Location)
	})
	shown := apiUserOf(u)
	shown.Password = made
	return shown, err
}

// repeatedAPIUser answers the repeat of a request that made a user, or gave one a password that was sent.
func repeatedAPIUser(r *rest.Request, location string) (any, error) {
	if err := passwordShownOnce(r, "hiregate api-user set … --new-password"); err != nil {
		return nil, err
	}
	u, err := apiUserByID(r, r.Repeated(location))
	if err != nil {
		return nil, err
	}
	return apiUserOf(u), nil
}

// enableAPIUser lets a user in again, with the password they have. Their earlier tokens stay revoked.
func enableAPIUser(_ *rest.Request, tx *store.Tx, u *model.APIUser) error {
	u.DisabledAt = time.Time{}
	_, err := tx.EnableAPIUser(u.Tenant, u.ID)
	return err
}

// resetAPIUser gives a user another password, and revokes their tokens. One who is disabled stays so.
func resetAPIUser(r *rest.Request) (any, error) {
	u, err := findAPIUser(r)
	if err != nil {
		return nil, err
	}
	made, err := sentOrMadePassword(r, &u.Password)
	if err != nil {
		return nil, err
	}
	err = r.Update(func(tx *store.Tx) error {
		if _, err := tx.ResetAPIUser(u.Tenant, u.ID, u.Password); err != nil {
			return err
		}
		return r.Note(tx, rest.PathOf("/v1/tenants", u.Tenant, "api-users", u.ID))
	})
	shown := apiUserOf(u)
	shown.Password = made
	return shown, err
}
