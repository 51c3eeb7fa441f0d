package rest

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

// Access says how a server knows its callers, and what they may do.
type Access int

const (
	// Keyed lets in callers with an API key, each within its tenant and its role.
	Keyed Access = iota
	// People lets in people who are signed in to the console, see model.WithPerson.
	People
	// Local lets everybody in, as Caddy's admin endpoint does: whoever reaches it may do everything.
	Local
)

// Caller identifies the sender of a request.
type Caller struct {
	ID      string // of the API key
	Name    string // and Email, Claimed: only for the audit, see model.Author
	Email   string
	Claimed bool
	Key     string // the key itself, which no answer and no log has
	Tenant  string // whose resources exist for the caller; empty: everybody's
	Role    model.Role
	Person  bool // who is signed in to the console
	// Answers: sees the text of answers to exports, which may repeat data of a candidate.
	Answers bool
	// Signatures: sees the signatures of requests to receivers, where those repeat them in an answer.
	Signatures bool
}

// Sees reports whether a tenant exists for the caller.
func (c Caller) Sees(tenant string) bool { return c.Tenant == "" || c.Tenant == tenant }

// The callers without a stored key: at a mount that asks for no key, and in development mode.
var (
	trusted = Caller{ID: model.AdminEndpoint, Role: model.Admin, Answers: true, Signatures: true}
	dev     = Caller{ID: devKey, Key: devKey, Role: model.Admin, Answers: true, Signatures: true}
)

// devKey opens everything in development mode, and nothing elsewhere.
const devKey = "dev-key"

// authorize authenticates the caller and checks that they may use the route. The resources of other tenants do not
// exist for them.
func (r *Request) authorize(access Access, route Route) (err error) {
	if r.Caller, err = r.callerOf(access); err != nil {
		return err
	}
	// no id is like that, and no database would take it
	if !utf8.ValidString(r.URL.Path) || strings.ContainsRune(r.URL.Path, 0) {
		return problem.New(http.StatusNotFound, "there is nothing at this address: it is not text")
	}
	if strings.Contains(route.Path, "{tenant}") && !r.Caller.Sees(r.PathValue("tenant")) {
		r.denied = metrics.KeyOfAnotherTenant
		return NoTenant(r.PathValue("tenant"))
	}
	return r.Require(route.Role)
}

// Require refuses a caller whose role is less than another.
func (r *Request) Require(role model.Role) error {
	if r.Caller.Role.May(role) {
		return nil
	}
	r.denied = metrics.KeyOfAnotherRole
	return problem.Newf(http.StatusForbidden, "you have the role %s, and this takes %s: use an API key with that "+
		"role, or ask an administrator for it", r.Caller.Role, role)
}

// callerOf returns the caller of a request.
func (r *Request) callerOf(access Access) (Caller, error) {
	switch access {
	case Local:
		return r.local()
	case People:
		return r.person()
	}
	return r.authenticate()
}

// authenticate finds the caller by the key in the header Authorization (RFC 6750 section 2.1). The answer to a
// missing, unknown or revoked key is the same.
func (r *Request) authenticate() (Caller, error) {
	sent := r.Header.Values("Authorization")
	if len(sent) != 1 {
		return Caller{}, r.deny(metrics.KeyMissing)
	}
	scheme, key, _ := strings.Cut(sent[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return Caller{}, r.deny(metrics.KeyMissing)
	}
	if key == devKey && r.Gateway.Config.Dev {
		return dev, nil
	}
	k, err := r.DB.APIKeyByHash(r.Context(), model.HashAPIKey(key))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Caller{}, r.deny(metrics.KeyUnknown)
	case err == nil && !k.RevokedAt.IsZero():
		return Caller{ID: k.ID}, r.deny(metrics.KeyRevoked)
	case err != nil:
		return Caller{}, err
	case k.Expired(r.Gateway.Now()):
		r.denied = metrics.KeyExpired
		return Caller{ID: k.ID}, expired
	}
	r.touch(k)
	return Caller{ID: k.ID, Name: k.Label, Key: key, Tenant: k.Tenant, Role: k.Role,
		Answers: k.Role.May(model.Operator), Signatures: k.Role.May(model.Operator)}, nil
}

// person returns the caller of a request that the console makes.
func (r *Request) person() (Caller, error) {
	p, ok := model.PersonOf(r.Context())
	if !ok {
		return Caller{}, r.deny(metrics.KeyMissing)
	}
	return Caller{ID: p.ID, Name: p.Name, Email: p.Email, Tenant: p.Tenant, Role: p.Role, Person: true,
		Answers: p.Answers, Signatures: p.Signatures}, nil
}

// local returns the caller of a request at Caddy's admin endpoint. Whoever reaches that may do everything; the command
// line names its user in the header Authorization with the scheme Basic and no password: Caddy keeps that out of its
// log, and no other mount of the API believes it.
func (r *Request) local() (Caller, error) {
	c := trusted
	c.Name, _, c.Claimed = r.BasicAuth()
	c.Claimed = c.Claimed && c.Name != ""
	return c, nil
}

// Author returns the caller as the audit has them.
func (c Caller) Author() model.Author {
	return model.Author{Actor: c.ID, Name: c.Name, Email: c.Email, Claimed: c.Claimed}
}

// deny rejects a key. The reason is for the log and the metrics, not for the answer.
func (r *Request) deny(reason string) error {
	r.denied = reason
	return problem.New(http.StatusUnauthorized,
		"send an API key that is good, as Authorization: Bearer hgk_…; hiregate api-key set makes one")
}

// stored reports whether the caller's key is one of the database, which may be revoked while a request is on its way.
func (c Caller) stored() bool { return c.Key != "" && c.Key != devKey }

// expired refuses a key that has ended by itself. Who has it may know that, and whom to ask.
var expired = problem.New(http.StatusUnauthorized,
	"this API key has expired: have whoever gave it to you make another one, with hiregate api-key set")

// AuthenticateAgain looks again at who asks, once the body is there: anybody may take a quarter of an hour to send one.
func (r *Request) AuthenticateAgain() error {
	if !r.Caller.stored() {
		return nil
	}
	_, err := r.authenticate()
	return err
}

// checkKey refuses a transaction of a caller whose key was revoked since, or has expired.
func (r *Request) checkKey(tx *store.Tx) error {
	if !r.Caller.stored() {
		return nil
	}
	good, err := tx.IsAPIKeyValid(model.HashAPIKey(r.Caller.Key), r.Gateway.Now())
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
func (r *Request) touch(k *model.APIKey) {
	now := r.Gateway.Now()
	if now.Sub(k.LastUsedAt) < used {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), touching)
	defer cancel()
	if err := r.DB.Write(ctx,
		func(tx *store.Tx) error { return tx.UpdateAPIKeyUse(k.ID, now, now.Add(-used)) }); err != nil {
		r.Log.Warn("the use of an API key could not be noted", zap.String("key", k.ID), zap.Error(err))
	}
}
