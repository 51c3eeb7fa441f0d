package manage

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// apiKey is a key of this API, as it is shown.
type apiKey struct {
	ID         string      `json:"id"`
	Label      string      `json:"label"`
	Tenant     string      `json:"tenant"` // the only one it opens; empty: all of them
	Role       hiring.Role `json:"role"`
	Key        string      `json:"key,omitempty"` // in the answer that makes it, and never again
	CreatedAt  time.Time   `json:"createdAt"`
	RevokedAt  time.Time   `json:"revokedAt,omitzero"`
	LastUsedAt time.Time   `json:"lastUsedAt,omitzero"` // to the minute
}

func apiKeyOf(k *hiring.APIKey) apiKey {
	return apiKey{ID: k.ID, Label: k.Label, Tenant: k.Tenant, Role: k.Role, CreatedAt: k.CreatedAt, RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt}
}

// addAPIKey makes a key. Whoever is let into one tenant makes keys for that one alone.
func (r *request) addAPIKey() (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	in, err := decode[struct {
		Label  string      `json:"label"`
		Tenant string      `json:"tenant"`
		Role   hiring.Role `json:"role"`
	}](r)
	if err != nil {
		return nil, err
	}
	now := r.gateway.Now().UTC().Truncate(time.Microsecond)
	k := &hiring.APIKey{ID: uuid.NewString(), Label: in.Label, Tenant: in.Tenant, Role: in.Role, CreatedAt: now}
	if err := invalid(k.CheckLabel()); err != nil {
		return nil, err
	}
	if !slices.Contains(hiring.Roles, k.Role) && k.Role != hiring.Compliance {
		return nil, problem.New(http.StatusUnprocessableEntity, "role is missing or unknown: use viewer, operator, admin or compliance")
	}
	if k.Tenant == "" && r.caller.tenant != "" {
		return nil, problem.Newf(http.StatusForbidden, "this API key opens one tenant, and so do those that it makes: name it, as \"tenant\":%q", r.caller.tenant)
	}
	if _, known := r.gateway.Config.Tenant(k.Tenant); k.Tenant != "" && (!known || !r.caller.sees(k.Tenant)) {
		return nil, noTenant()
	}
	key, hash := hiring.NewAPIKey()
	if id := r.done(); id != "" {
		return r.renewAPIKey(id, key, hash)
	}
	err = r.write(func(tx *store.Tx) error {
		if err := tx.AddAPIKey(k, hash); err != nil {
			return err
		}
		return r.note(tx, k.ID)
	})
	if err != nil {
		return nil, err
	}
	return r.madeAPIKey(k, key), nil
}

// renewAPIKey answers for a key that an earlier try of the request made. Nobody has seen what it was; it is another from now on.
func (r *request) renewAPIKey(id, key string, hash [sha256.Size]byte) (any, error) {
	k, err := r.db.APIKey(r.Context(), id)
	if err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error {
		renewed, err := tx.RenewAPIKey(id, hash)
		if err == nil && !renewed {
			return endedMeanwhile()
		}
		if err != nil {
			return err
		}
		return r.note(tx, id)
	})
	if err != nil {
		return nil, err
	}
	return r.madeAPIKey(k, key), nil
}

func (r *request) madeAPIKey(k *hiring.APIKey, key string) apiKey {
	r.location = "/v1/api-keys/" + url.PathEscape(k.ID)
	shown := apiKeyOf(k)
	shown.Key = key
	return shown
}

func (r *request) listAPIKeys() (any, error) {
	_, page, err := r.page("api-key")
	if err != nil {
		return nil, err
	}
	rows, next, err := r.db.APIKeys(r.Context(), r.caller.tenant, page.rows())
	if err != nil {
		return nil, err
	}
	return listed(page, rows, next, apiKeyOf), nil
}

// apiKey is the key that the path names.
func (r *request) apiKey() (*hiring.APIKey, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	k, err := r.db.APIKey(r.Context(), r.PathValue("id"))
	if errors.Is(err, store.ErrNotFound) || err == nil && !r.caller.sees(k.Tenant) {
		return nil, problem.New(http.StatusNotFound, "there is no API key of that id")
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

func (r *request) showAPIKey() (any, error) {
	k, err := r.apiKey()
	if err != nil {
		return nil, err
	}
	return apiKeyOf(k), nil
}

// revokeAPIKey ends a key. It stays in the list, so that it can be told who it was.
func (r *request) revokeAPIKey() (any, error) {
	k, err := r.apiKey()
	if err != nil {
		return nil, err
	}
	return nil, r.write(func(tx *store.Tx) error {
		_, err := tx.RevokeAPIKey(k.ID, r.gateway.Now())
		return err
	})
}
