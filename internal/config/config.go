// Package config holds what the configuration in force says to the parts that outlive a configuration: the store's
// clients, the workers and the dispatcher are shared across reloads, what they may do changes with each.
package config

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/scan"
	"github.com/hiregate/hiregate/internal/webhook"
)

// Config is one configuration. It does not change once it is made.
type Config struct {
	Names     webhook.Names
	Egress    *egress.Guard
	PublicURL string // where the world reaches us, without a slash at the end
	// CandidateURL is a candidate's profile in the service, with {candidate} in the place of their id, and maybe {tenant}.
	CandidateURL string
	// Workflows is the URL of Temporal's UI to which a workflow's escaped ID is appended. Empty: unknown.
	Workflows string
	// TakeOver is the id of the database whose namespace of Temporal this one takes over; empty: of none.
	TakeOver    string
	Dev         bool                     // what a laptop needs and a server must not have is allowed
	Tenants     map[string]*model.Tenant // the declared ones
	Stored      Tenants                  // the others; nil: there are none
	Subscribers []model.Subscriber       // are notified of what happens to integrations and exports
	Scanner     scan.Scanner             // looks through the documents of job applications; nil: they are not scanned
	// Logouts sign what tells applications of ended sessions, by issuer: those at which people sign in here.
	Logouts    map[string]LogoutSigner
	BodyMemory int64         // bytes that unverified bodies may take at once
	BodyTime   time.Duration // for which such a body may come in
	// how long the content of finished exports is kept; 0: as long as their rows
	Retention time.Duration
	// how long the rows of finished exports, and the audit, are kept; 0: for ever
	RetentionRows time.Duration
	// how long job applications of tenants that say nothing else are kept; 0: for ever
	RetentionApplications time.Duration
	// how many tenants have a label of their own in metrics
	TenantLabels int
	// attempts that were received leave no line in the log
	LogFailuresOnly bool
}

// LogoutSigner signs what tells an application now that a session has ended, and returns where it goes; empty: the
// application wants none.
type LogoutSigner func(ctx context.Context, client string, ended identity.EndedSession) (uri, token string, err error)

// SignLogouts has what tells applications of ended sessions at an issuer signed.
func (c *Config) SignLogouts(issuer string, signer LogoutSigner) {
	if c.Logouts == nil {
		c.Logouts = map[string]LogoutSigner{}
	}
	c.Logouts[issuer] = signer
}

// Client returns the client for requests to an integration: through egress, with the integration's authentication.
func (c *Config) Client(i *model.Integration) *http.Client { return webhook.ClientFor(c.Egress, i) }

// ClientOnce is Client for a setting that is not saved. Close its idle connections after use.
func (c *Config) ClientOnce(i *model.Integration) *http.Client {
	return webhook.ClientOnce(c.Egress, i)
}

// Tenants are tenants that come from elsewhere than the configuration.
type Tenants interface {
	Tenant(name string) (*model.Tenant, bool)
	All() iter.Seq[*model.Tenant]
}

// Tenant finds a tenant by name, declared or stored.
func (c *Config) Tenant(name string) (*model.Tenant, bool) {
	if t, ok := c.Tenants[name]; ok || c.Stored == nil {
		return t, ok
	}
	return c.Stored.Tenant(name)
}

// KeepApplications returns for how long job applications of a tenant are kept; 0: for ever.
func (c *Config) KeepApplications(t *model.Tenant) time.Duration {
	if _, declared := c.Tenants[t.Name]; declared {
		return t.KeepApplications
	}
	return c.RetentionApplications
}

// All are all tenants, the declared ones first, each by name. A stored one whose name was declared since is not among
// them.
func (c *Config) All() iter.Seq[*model.Tenant] {
	return func(yield func(*model.Tenant) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.Tenants)) {
			if !yield(c.Tenants[name]) {
				return
			}
		}
		if c.Stored == nil {
			return
		}
		for t := range c.Stored.All() {
			if _, ok := c.Tenants[t.Name]; !ok && !yield(t) {
				return
			}
		}
	}
}

// Integration finds an integration of a tenant by name.
func (c *Config) Integration(tenant, name string) (*model.Integration, bool) {
	t, ok := c.Tenant(tenant)
	if !ok {
		return nil, false
	}
	return t.Integration(name)
}
