package accounts

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

func apiKeyOf(k *model.APIKey) api.APIKey {
	shown := api.APIKey{ID: k.ID, Label: k.Label, Tenant: k.Tenant, Role: k.Role, CreatedAt: k.CreatedAt,
		RevokedAt: k.RevokedAt, ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt}
	if k.MadeBy.Actor != "" {
		shown.MadeBy = &k.MadeBy
	}
	return shown
}

// apiKeys serves the API keys that the caller sees. A revoked key stays in the list, so that it is known whose it was.
var apiKeys = rest.Resource[*model.APIKey]{
	Path: "/v1/api-keys", ID: "id", Kind: "api-key", Reader: model.Admin, Writer: model.Admin,
	Filters: []string{"tenant"},
	List: func(r *rest.Request) ([]*model.APIKey, string, error) {
		of := r.Query.Get("tenant")
		if of != "" && !r.Caller.Sees(of) {
			return nil, "", rest.NoTenant(of)
		}
		return r.DB.ListAPIKeys(r.Context(), cmp.Or(of, r.Caller.Tenant), r.Page.Rows())
	},
	Find: findAPIKey, View: rest.ViewAs(apiKeyOf), Add: addAPIKey,
	Repeat: func(_ *rest.Request, location string) (any, error) {
		return nil, rest.ShownOnce("key", "revoke it, "+location+", and make another with a new Idempotency-Key")
	},
	Drop: rest.Change(findAPIKey, func(r *rest.Request, tx *store.Tx, k *model.APIKey) error {
		_, err := tx.RevokeAPIKey(k.ID, r.Gateway.Now())
		return err
	}, nil),
}

// findAPIKey returns the key that the path names.
func findAPIKey(r *rest.Request) (*model.APIKey, error) {
	k, err := r.DB.APIKey(r.Context(), r.PathValue("id"))
	if err == nil && !r.Caller.Sees(k.Tenant) {
		return nil, noAPIKey
	}
	return k, rest.NotFound(err, noAPIKey)
}

var noAPIKey = problem.New(http.StatusNotFound, "there is no API key of that id")

// addAPIKey makes a key. A key that opens one tenant makes keys only for that tenant.
func addAPIKey(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.APIKeyInput](r)
	if err != nil {
		return nil, err
	}
	k := &model.APIKey{ID: uuid.NewString(), Label: in.Label, Tenant: in.Tenant, Role: in.Role, CreatedAt: r.Now(),
		ExpiresAt: in.ExpiresAt, MadeBy: r.Caller.Author().Bounded()}
	if err := rest.Invalid(k.ValidateLabel()); err != nil {
		return nil, err
	}
	if !slices.Contains(model.Roles, k.Role) && k.Role != model.Compliance {
		return nil, problem.New(http.StatusUnprocessableEntity,
			"role is missing or unknown: use viewer, operator, admin or compliance")
	}
	if k.Expired(r.Now()) {
		return nil, problem.New(http.StatusUnprocessableEntity, "expiresAt is in the past: name a time to come, or leave it out")
	}
	if k.Tenant == "" && r.Caller.Tenant != "" {
		return nil, problem.Newf(http.StatusForbidden,
			"this API key opens one tenant, and so do those that it makes: name it, as \"tenant\":%q", r.Caller.Tenant)
	}
	if _, known := r.Gateway.Config.Tenant(k.Tenant); k.Tenant != "" && (!known || !r.Caller.Sees(k.Tenant)) {
		return nil, rest.NoTenant(k.Tenant)
	}
	key, hash := model.NewAPIKey()
	r.Created("/v1/api-keys", k.ID)
	err = r.Update(func(tx *store.Tx) error {
		if err := tx.InsertAPIKey(k, hash); err != nil {
			return err
		}
		return r.Note(tx, r.Location)
	})
	shown := apiKeyOf(k)
	shown.Key = key
	return shown, err
}
