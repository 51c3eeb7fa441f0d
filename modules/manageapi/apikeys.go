package manageapi

import (
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

func apiKeyOf(k *model.APIKey) api.APIKey {
	return api.APIKey{ID: k.ID, Label: k.Label, Tenant: k.Tenant, Role: k.Role, CreatedAt: k.CreatedAt,
		RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt}
}

// apiKeys are the keys that the caller sees. One that is revoked stays in the list, so that it is known whose it was.
var apiKeys = resource[*model.APIKey]{
	path: "/v1/api-keys", id: "id", kind: "api-key", reader: model.Admin, writer: model.Admin,
	list: func(r *request) ([]*model.APIKey, string, error) {
		return r.db.ListAPIKeys(r.Context(), r.caller.tenant, r.page.rows())
	},
	find: findAPIKey, view: as(apiKeyOf), add: addAPIKey,
	repeat: func(_ *request, location string) (any, error) {
		return nil, shownOnce("key", "revoke it, "+location+", and make another with a new Idempotency-Key")
	},
	drop: change(findAPIKey, func(r *request, tx *store.Tx, k *model.APIKey) error {
		_, err := tx.RevokeAPIKey(k.ID, r.gateway.Now())
		return err
	}, nil),
}

// findAPIKey returns the key that the path names.
func findAPIKey(r *request) (*model.APIKey, error) {
	k, err := r.db.APIKey(r.Context(), r.PathValue("id"))
	if err == nil && !r.caller.sees(k.Tenant) {
		return nil, noAPIKey
	}
	return k, notFound(err, noAPIKey)
}

var noAPIKey = problem.New(http.StatusNotFound, "there is no API key of that id")

// addAPIKey makes a key. A key that opens one tenant makes keys for that one alone.
func addAPIKey(r *request) (any, error) {
	in, err := decode[api.APIKeyInput](r)
	if err != nil {
		return nil, err
	}
	k := &model.APIKey{ID: uuid.NewString(), Label: in.Label, Tenant: in.Tenant, Role: in.Role, CreatedAt: r.now()}
	if err := invalid(k.ValidateLabel()); err != nil {
		return nil, err
	}
	if !slices.Contains(model.Roles, k.Role) && k.Role != model.Compliance {
		return nil, problem.New(http.StatusUnprocessableEntity,
			"role is missing or unknown: use viewer, operator, admin or compliance")
	}
	if k.Tenant == "" && r.caller.tenant != "" {
		return nil, problem.Newf(http.StatusForbidden,
			"this API key opens one tenant, and so do those that it makes: name it, as \"tenant\":%q", r.caller.tenant)
	}
	if _, known := r.gateway.Config.Tenant(k.Tenant); k.Tenant != "" && (!known || !r.caller.sees(k.Tenant)) {
		return nil, noTenant(k.Tenant)
	}
	key, hash := model.NewAPIKey()
	r.created("/v1/api-keys", k.ID)
	err = r.write(func(tx *store.Tx) error {
		if err := tx.InsertAPIKey(k, hash); err != nil {
			return err
		}
		return r.note(tx, r.location)
	})
	shown := apiKeyOf(k)
	shown.Key = key
	return shown, err
}
