package manageapi

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// addTenantSecret gives a tenant another inbound secret, beside those it has: one of the request, or one that is made here
// and shown in the answer alone.
func addTenantSecret(r *rest.Request) (any, error) {
	in, err := rest.DecodeAny[api.TenantSecretInput](r)
	if err != nil {
		return nil, err
	}
	made := api.TenantSecret{}
	if in.Secret == "" {
		made.Secret = rand.Text() + rand.Text()
	}
	secret := model.Secret(cmp.Or(in.Secret, made.Secret))
	if err := rest.Invalid(secret.ValidateNew()); err != nil {
		return nil, err
	}
	t, err := storedTenant(r)
	if err != nil {
		return nil, err
	}
	next := *t
	next.Secrets = append(slices.Clone(t.Secrets), secret)
	made.Number = len(next.Secrets)
	location := fmt.Sprintf("/v1/tenants/%s/secrets/%d", t.Name, made.Number)
	if err := rest.Invalid(next.Validate()); err != nil {
		return nil, err
	}
	if err := putSecrets(r, &next, location); err != nil {
		return nil, err
	}
	r.Location = location
	return made, nil
}

// deleteTenantSecret ends an inbound secret of a tenant: what is signed with it is refused from then on.
func deleteTenantSecret(r *rest.Request) (any, error) {
	t, err := storedTenant(r)
	if err == nil {
		err = r.Expect(rest.Tag(&t.Row)) // the numbers of the others change with each
	}
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 1 || number > len(t.Secrets) {
		return nil, problem.New(http.StatusNotFound, "this tenant has no secret of that number")
	}
	next := *t
	next.Secrets = slices.Delete(slices.Clone(t.Secrets), number-1, number)
	return nil, putSecrets(r, &next, fmt.Sprintf("/v1/tenants/%s/secrets/%d", t.Name, number))
}

// putSecrets stores the secrets of a tenant, of which the one at a location is new or gone.
func putSecrets(r *rest.Request, t *model.Tenant, location string) error {
	err := r.Update(func(tx *store.Tx) error {
		next := *t
		if err := tx.UpsertTenant(&next, r.Gateway.Now()); err != nil {
			return err
		}
		return r.Note(tx, location)
	})
	if err == nil {
		err = r.Refresh()
	}
	return err
}
