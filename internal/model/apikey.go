package model

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// Role says what the holder of an API key may do. Each may do what those before it may.
type Role string

// The roles, the least first.
const (
	Viewer   Role = "viewer"   // look at everything but API keys
	Operator Role = "operator" // work with candidates, jobs, steps, job applications and exports
	Admin    Role = "admin"    // and with tenants, integrations and API keys
)

// Compliance is the role that reads the report on the compliance groups, and nothing else. Of the others, Admin alone
// may do so as well, who could make such a key.
const Compliance Role = "compliance"

// Roles are all roles, the least first.
var Roles = []Role{Viewer, Operator, Admin}

// May reports whether a role is enough for what least is needed for.
func (r Role) May(least Role) bool {
	if least == Compliance {
		return r == Compliance || r == Admin
	}
	return r.rank() >= least.rank()
}

func (r Role) rank() int {
	for n, one := range Roles {
		if one == r {
			return n + 1
		}
	}
	return 0
}

// APIKey opens the management API. The key itself is shown once, when it is made; its hash is kept.
type APIKey struct {
	ID         string
	Label      string // for people
	Tenant     string // the only one it opens; empty: all of them
	Role       Role
	CreatedAt  time.Time
	RevokedAt  time.Time // zero: it is not revoked
	ExpiresAt  time.Time // it is good until then; zero: until it is revoked
	LastUsedAt time.Time // to the minute; zero: never
	MadeBy     Author    // empty: it is not known
}

// Expired reports whether a key has ended by itself.
func (k *APIKey) Expired(now time.Time) bool {
	return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt)
}

// NewAPIKey makes a key, hgk_ and 32 random bytes in base64url, and the hash it is found by.
func NewAPIKey() (key string, hash [sha256.Size]byte) {
	var random [32]byte
	rand.Read(random[:])
	key = "hgk_" + base64.RawURLEncoding.EncodeToString(random[:])
	return key, HashAPIKey(key)
}

// HashAPIKey returns the hash under which a key is stored. A key has 256 random bits: a slow hash would add nothing.
func HashAPIKey(key string) [sha256.Size]byte { return sha256.Sum256([]byte(key)) }

// ValidateLabel says what is wrong with the label of an API key, or nil.
func (k *APIKey) ValidateLabel() error {
	var c checker
	c.id("label", k.Label)
	return c.err()
}
