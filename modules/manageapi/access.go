package manageapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// caller is whoever sent a request.
type caller struct {
	id      string // of the API key
	name    string // and email, claimed: for the audit alone, see model.Author
	email   string
	claimed bool
	key     string // the key itself, which no answer and no log has
	tenant  string // whose resources exist for them; empty: everybody's
	role    model.Role
}

// sees reports whether a tenant exists for the caller.
func (c caller) sees(tenant string) bool { return c.tenant == "" || c.tenant == tenant }

// The callers without a stored key: at a mount that asks for no key, and in development mode.
var (
	trusted = caller{id: model.AdminEndpoint, role: model.Admin}
	dev     = caller{id: devKey, key: devKey, role: model.Admin}
)

// devKey opens everything in development mode, and nothing elsewhere.
const devKey = "dev-key"

// authorize authenticates the caller and checks that they may use the route. The resources of other tenants do not
// exist for them.
func (r *request) authorize(who func(*request) (caller, error), route route) (err error) {
	if r.caller, err = who(r); err != nil {
		return err
	}
	// no id is like that, and no database would take it
	if !utf8.ValidString(r.URL.Path) || strings.ContainsRune(r.URL.Path, 0) {
		return problem.New(http.StatusNotFound, "there is nothing at this address: it is not text")
	}
	if strings.Contains(route.path, "{tenant}") && !r.caller.sees(r.PathValue("tenant")) {
		r.denied = metrics.KeyOfAnotherTenant
		return noTenant(r.PathValue("tenant"))
	}
	if !r.caller.role.May(route.role) {
		r.denied = metrics.KeyOfAnotherRole
		return problem.Newf(http.StatusForbidden, "you have the role %s, and this takes %s: use an API key with that "+
			"role, or ask an administrator for it", r.caller.role, route.role)
	}
	return nil
}

// authenticate finds the caller by the key in the header Authorization (RFC 6750 section 2.1). The answer to a
// missing, unknown or revoked key is the same.
func (r *request) authenticate() (caller, error) {
	sent := r.Header.Values("Authorization")
	if len(sent) != 1 {
		return caller{}, r.deny(metrics.KeyMissing)
	}
	scheme, key, _ := strings.Cut(sent[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return caller{}, r.deny(metrics.KeyMissing)
	}
	if key == devKey && r.gateway.Config.Dev {
		return dev, nil
	}
	k, err := r.db.APIKeyByHash(r.Context(), model.HashAPIKey(key))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return caller{}, r.deny(metrics.KeyUnknown)
	case err == nil && !k.RevokedAt.IsZero():
		return caller{id: k.ID}, r.deny(metrics.KeyRevoked)
	case err != nil:
		return caller{}, err
	}
	r.touch(k)
	return caller{id: k.ID, name: k.Label, key: key, tenant: k.Tenant, role: k.Role}, nil
}

// person is the caller of a request that the console makes.
func (r *request) person() (caller, error) {
	p, ok := model.PersonOf(r.Context())
	if !ok {
		return caller{}, r.deny(metrics.KeyMissing)
	}
	return caller{id: p.ID, name: p.Name, email: p.Email, tenant: p.Tenant, role: p.Role}, nil
}

// local is the caller of a request at Caddy's admin endpoint. Whoever reaches that may do everything; the command line
// says as whom, in the header Authorization with the scheme Basic and no password: Caddy keeps that out of its log, and
// no other mount of the API believes it.
func (r *request) local() (caller, error) {
	c := trusted
	c.name, _, c.claimed = r.BasicAuth()
	c.claimed = c.claimed && c.name != ""
	return c, nil
}

// author is the caller as the audit has them.
func (c caller) author() model.Author {
	return model.Author{Actor: c.id, Name: c.name, Email: c.email, Claimed: c.claimed}
}

// deny rejects a key. The reason is for the log and the metrics, not for the answer.
func (r *request) deny(reason string) error {
	r.denied = reason
	return problem.New(http.StatusUnauthorized,
		"send an API key that is good, as Authorization: Bearer hgk_…; hiregate api-key set makes one")
}

// stored reports whether the caller's key is one of the database, which may be revoked while a request is on its way.
func (c caller) stored() bool { return c.key != "" && c.key != devKey }

// authenticateAgain looks again at who asks, once the body is there: anybody may take a quarter of an hour to send one.
func (r *request) authenticateAgain() error {
	if !r.caller.stored() {
		return nil
	}
	_, err := r.authenticate()
	return err
}

// checkKey refuses a transaction of a caller whose key was revoked since.
func (r *request) checkKey(tx *store.Tx) error {
	if !r.caller.stored() {
		return nil
	}
	good, err := tx.IsAPIKeyValid(model.HashAPIKey(r.caller.key))
	if err == nil && !good {
		return r.deny(metrics.KeyRevoked)
	}
	return err
}

// used is how often the use of a key is noted at most, and touching how long that may take.
const (
	used     = time.Minute
	touching = time.Second
)

// touch notes that a key was used. A request is not refused because that failed.
func (r *request) touch(k *model.APIKey) {
	now := r.gateway.Now()
	if now.Sub(k.LastUsedAt) < used {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), touching)
	defer cancel()
	if err := r.db.Write(ctx,
		func(tx *store.Tx) error { return tx.UpdateAPIKeyUse(k.ID, now, now.Add(-used)) }); err != nil {
		r.log.Warn("the use of an API key could not be noted", zap.String("key", k.ID), zap.Error(err))
	}
}
