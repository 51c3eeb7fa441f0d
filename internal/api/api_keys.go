package api

import (
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// APIKey is a key of this API.
type APIKey struct {
	ID     string     `json:"id" schema:"ref=Id"`
	Label  string     `json:"label"`  // its holder, for people
	Tenant string     `json:"tenant"` // the only tenant it opens; empty: all of them
	Role   model.Role `json:"role"`
	// the key itself, only in the answer that makes it
	Key        string    `json:"key,omitempty" schema:"once pattern=^hgk_[A-Za-z0-9_-]{43}$"`
	CreatedAt  time.Time `json:"createdAt"`
	RevokedAt  time.Time `json:"revokedAt,omitzero"`  // absent: it is valid
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`  // it is refused from then on; absent: it is good until it is revoked
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"` // to the minute
	// who made it; absent: it is not known
	MadeBy *model.Author `json:"madeBy,omitempty"`
}

// APIKeyInput makes an API key.
type APIKeyInput struct {
	Label string `json:"label" schema:"minLength=1 maxLength=255"` // its holder, for people
	// the only tenant it opens; empty or left out: all of them
	Tenant    string     `json:"tenant,omitzero"`
	Role      model.Role `json:"role"`
	ExpiresAt time.Time  `json:"expiresAt,omitzero"` // it is refused from then on; left out or null: it is good until it is revoked
}
