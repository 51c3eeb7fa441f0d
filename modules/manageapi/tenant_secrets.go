package manageapi

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

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
	next := t.WithoutEnded(r.Now())
	next.Secrets = append(next.Secrets, secret)
	made.Number = len(next.Secrets)
	location := fmt.Sprintf("/v1/tenants/%s/secrets/%d", t.Name, made.Number)
	if err := rest.Invalid(next.Validate()); err != nil {
		return nil, err
	}
	if err := putSecrets(r, next, location); err != nil {
		return nil, err
	}
	r.Location = location
	return made, nil
}

// namedSecret returns the tenant and the number of its secret that the path names.
func namedSecret(r *rest.Request) (t *model.Tenant, number int, err error) {
	t, err = storedTenant(r)
	if err == nil {
		err = r.Expect(rest.Tag(&t.Row)) // the numbers of the others change with each
	}
	if err != nil {
		return nil, 0, err
	}
	number, err = strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 1 || number > len(t.Secrets) {
		return nil, 0, problem.New(http.StatusNotFound, "this tenant has no secret of that number")
	}
	return t, number, nil
}

// putTenantSecret sets when an inbound secret of a tenant ends.
func putTenantSecret(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.TenantSecretEnd](r)
	if err == nil {
		err = rest.Invalid(model.ValidateSecretEnd(in.EndsAt, r.Now()))
	}
	if err != nil {
		return nil, err
	}
	t, number, err := namedSecret(r)
	if err != nil {
		return nil, err
	}
	r.Detail = "It goes on."
	if !in.EndsAt.IsZero() {
		r.Detail = "It ends at " + in.EndsAt.UTC().Format(time.RFC3339) + "."
	}
	next := t.WithSecretEnd(t.Secrets[number-1], in.EndsAt)
	if err := putSecrets(r, next, fmt.Sprintf("/v1/tenants/%s/secrets/%d", t.Name, number)); err != nil {
		return nil, err
	}
	return in, nil
}

// deleteTenantSecret ends an inbound secret of a tenant: what is signed with it is refused from then on.
func deleteTenantSecret(r *rest.Request) (any, error) {
	t, number, err := namedSecret(r)
	if err != nil {
		return nil, err
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
