// Package gateway holds what all handlers of one configuration share: the database, the documents, the connection to
// Temporal and the configuration itself. It knows nothing of Caddy; modules/app makes gateways from Caddy's
// configuration.
package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/tracing"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/schemas"
)

// Gateway gives handlers one configuration and the parts that serve it.
type Gateway struct {
	Config    *config.Config
	Validator *schemas.Validator
	Runtime   *Runtime
	Now       func() time.Time
	// Vault seals the secrets of stored tenants and integrations, and data keys. It may hold no key. Nil: stored secrets
	// are not checked.
	Vault *vault.Vault
	// PortalLink makes the address at which the console lets a partner look. Nil: there is no console.
	PortalLink func(Portal) (string, error)
	// RecoveryLinks make the address at which a user chooses a password until a time, one for each sign-in; see
	// signin.Provider.RecoveryLink.
	RecoveryLinks []func(u *identity.User, resetsTOTP bool, till time.Time) (string, error)
	// InboundURL returns the address at which the exports of a tenant come in; empty: the sites do not tell. Nil: nobody
	// looked for it.
	InboundURL func(tenant string) string
	// Exiting reports whether the process is about to end. Nil: it is not.
	Exiting func() bool
}

// RecoveryTime is the life of a recovery link.
const RecoveryTime = 24 * time.Hour

// PortalTime is the life of a link to a portal.
const PortalTime = time.Hour

// Portal lets a partner see parts of its tenant without signing in.
type Portal struct {
	ID     string // a UUID
	Tenant string
	Bodies bool // those of the exports as well
	Till   time.Time
}

// ErrNotOpen says that the database is not open.
var ErrNotOpen = errors.New("the database is not open")

// inForce holds the gateways of the configurations that are running.
var inForce config.Running[Gateway]

// Current is the gateway of the configuration in force; nil when there is none.
func Current() *Gateway { return inForce.Current() }

// Push puts the gateway's configuration in force.
func (g *Gateway) Push() {
	g.Runtime.noteArrivals(g.Runtime.InForce.Current(), g.Config)
	g.Runtime.InForce.Push(g.Config)
	g.Runtime.boundBodies()
	inForce.Push(g)
}

// Drop takes the gateway's configuration out of force. The store stays open: requests are still being answered.
func (g *Gateway) Drop() {
	inForce.Drop(g)
	g.Runtime.InForce.Drop(g.Config)
	g.Runtime.boundBodies()
}

// Start opens what is shared, unless it is open. It refuses a configuration whose keys do not open every stored
// secret: tenants and integrations made through the management API would not work under it.
func (g *Gateway) Start(ctx context.Context) error {
	if err := g.Runtime.startFor(ctx, g.Config); err != nil {
		return err
	}
	if g.Vault == nil {
		return nil
	}
	return g.Runtime.database.unseal(ctx, g.Vault, g.Runtime.now())
}

// Hold keeps the store open while a request uses it, even when the configuration is replaced meanwhile. It reports
// false when the store is not open.
func (g *Gateway) Hold(w http.ResponseWriter) (release func(), ok bool) {
	g.CloseWhenReplaced(w) // again: reading the body may have taken long
	// A request may arrive before the app is started: apps start in no order.
	if err := g.Start(context.Background()); err != nil {
		return nil, false
	}
	return g.Runtime.Store().Acquire()
}

// CloseWhenReplaced makes an answer end its connection once the configuration is replaced, or the process ends:
// net/http drops kept connections then, and with them a request that is on its way. HTTP/2 says GOAWAY. A handler
// calls it before it answers anything. A connection that modules/listener can hand to the next configuration is handed
// over before it comes here.
func (g *Gateway) CloseWhenReplaced(w http.ResponseWriter) {
	if g.leaving() {
		w.Header().Set("Connection", "close")
	}
}

// leaving reports whether another configuration is in force, or the process is about to end.
func (g *Gateway) leaving() bool {
	now := Current()
	return now != nil && now != g || g.Exiting != nil && g.Exiting()
}

// Trigger makes the exports that a request triggers, in its trace. The store must be held.
func (g *Gateway) Trigger(r *http.Request) *trigger.Trigger {
	return &trigger.Trigger{Config: g.Config, Validator: g.Validator, Now: g.Now,
		Traceparent: tracing.Traceparent(tracing.FromRequest(r))}
}
