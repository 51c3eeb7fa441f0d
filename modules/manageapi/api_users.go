package manageapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

func apiUserOf(u *model.APIUser) api.APIUser {
	return api.APIUser{ID: u.ID, Tenant: u.Tenant, UserName: u.Name, CreatedAt: u.CreatedAt, DisabledAt: u.DisabledAt}
}

// apiUsers are a tenant's. One that is disabled stays in the list, so that it is known who applied.
var apiUsers = resource[*model.APIUser]{
	path: inTenant + "/api-users", id: "id", kind: "api-user", reader: model.Viewer, writer: model.Admin,
	personal: true, filters: []string{"userName"},
	list: listAPIUsers, find: findAPIUser, view: as(apiUserOf), add: addAPIUser, repeat: repeatedAPIUser,
	drop: change(findAPIUser, func(r *request, tx *store.Tx, u *model.APIUser) error {
		_, err := tx.DisableAPIUser(u.Tenant, u.ID, r.gateway.Now())
		return err
	}, nil),
}

// listAPIUsers lists the users of a tenant, or finds the one with a name.
func listAPIUsers(r *request) ([]*model.APIUser, string, error) {
	if name := r.query.Get("userName"); name != "" {
		u, err := r.db.APIUserByName(r.Context(), r.tenant.Name, name)
		if errors.Is(err, store.ErrNotFound) {
			return nil, "", nil
		}
		return []*model.APIUser{u}, "", err
	}
	return r.db.ListAPIUsers(r.Context(), r.tenant.Name, r.page.rows())
}

// findAPIUser returns the user that the path names.
func findAPIUser(r *request) (*model.APIUser, error) { return r.apiUser(r.PathValue("id")) }

func (r *request) apiUser(id string) (*model.APIUser, error) {
	u, err := r.db.APIUser(r.Context(), r.tenant.Name, id)
	return u, notFound(err, noAPIUser)
}

var noAPIUser = problem.New(http.StatusNotFound, "this tenant has no API user of that id")

// addAPIUser makes a user, with the password that is sent, or with one that is made here and shown this once.
func addAPIUser(r *request) (any, error) {
	in, err := decode[api.APIUserInput](r)
	if err != nil {
		return nil, err
	}
	u := &model.APIUser{ID: uuid.NewString(), Tenant: r.tenant.Name, Name: in.UserName, CreatedAt: r.now()}
	if err := invalid(u.ValidateName()); err != nil {
		return nil, err
	}
	made, err := r.hashPassword(in.Password, &u.Password)
	if err != nil {
		return nil, err
	}
	r.created("/v1/tenants", u.Tenant, "api-users", u.ID)
	err = r.write(func(tx *store.Tx) error {
		err := tx.InsertAPIUser(u)
		if errors.Is(err, store.ErrTaken) {
			return problem.New(http.StatusConflict,
				"this user name is taken: give its user another password, or take another name")
		}
		if err != nil {
			return err
		}
		return r.note(tx, r.location)
	})
	shown := apiUserOf(u)
	shown.Password = made
	return shown, err
}

// repeatedAPIUser answers the repeat of a request that made a user, or gave one a password that was sent.
func repeatedAPIUser(r *request, location string) (any, error) {
	if err := r.passwordShownOnce("hiregate api-user set … --new-password"); err != nil {
		return nil, err
	}
	u, err := r.apiUser(r.repeated(location))
	if err != nil {
		return nil, err
	}
	return apiUserOf(u), nil
}

// enableAPIUser lets a user in again, with the password they have. Their earlier tokens stay revoked.
func enableAPIUser(_ *request, tx *store.Tx, u *model.APIUser) error {
	u.DisabledAt = time.Time{}
	_, err := tx.EnableAPIUser(u.Tenant, u.ID)
	return err
}

// resetAPIUser gives a user another password, and revokes their tokens. One who is disabled stays so.
func resetAPIUser(r *request) (any, error) {
	u, err := findAPIUser(r)
	if err != nil {
		return nil, err
	}
	made, err := r.sentOrMadePassword(&u.Password)
	if err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error {
		if _, err := tx.ResetAPIUser(u.Tenant, u.ID, u.Password); err != nil {
			return err
		}
		return r.note(tx, pathOf("/v1/tenants", u.Tenant, "api-users", u.ID))
	})
	shown := apiUserOf(u)
	shown.Password = made
	return shown, err
}
