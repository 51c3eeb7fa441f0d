// Package app is Caddy's app module for the global option hiregate. It builds an internal/gateway for each
// configuration, and gives it to the handlers.
package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddytls"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/platform"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// App is the global option hiregate: what all handlers share. Databases, documents and the connection to Temporal
// outlive a reload; tenants, egress and names are those of the configuration.
type App struct {
	// Dev allows secrets written out in the configuration: for a laptop, never for a server.
	Dev bool `json:"dev,omitempty"`
	// ServiceName is the maker's name in headers, scheme ids and fixed strings. Default: Service.
	ServiceName string `json:"service_name,omitempty"`
	// PublicURL is the address of this gateway for the world, such as https://gate.example.com. Required with Documents.
	PublicURL string `json:"public_url,omitempty"`
	// CandidateURL is a candidate's profile in the service, for the Link header of the exports triggered here;
	// {candidate} stands for their id, {tenant} for the tenant's name. Default: their page in the console,
	// <public_url>/console/candidates/{tenant}/{candidate}.
	CandidateURL string `json:"candidate_url,omitempty"`
	// Database is the address of the database: sqlite:///absolute/path, or postgres://user@host/name; with a password
	// in it, a placeholder. Required.
	Database string `json:"database,omitempty"`
	// Documents is where the candidates' documents are: file:///absolute/path or s3://bucket/prefix. Required, except for
	// sign-in alone, which needs Database and nothing else.
	Documents string `json:"documents,omitempty"`
	// Bucket says how the bucket of documents is reached. Default: at Amazon's, as the environment or the machine.
	Bucket Bucket `json:"bucket,omitzero"`
	// Temporal is the server that runs the workflows. Default: 127.0.0.1:7233, namespace default.
	Temporal Temporal `json:"temporal,omitzero"`
	// TemporalUI is the address of Temporal's UI, for links to workflows. Default: there are none.
	TemporalUI string `json:"temporal_ui,omitempty"`
	// Egress allows addresses that are otherwise refused: private networks, other ports, plain http.
	Egress []Allow `json:"egress,omitempty"`
	// SealKey lists placeholders of the keys that seal the secrets of stored tenants and integrations, and the content
	// of exports: the first key seals, the others open what was sealed before the key was changed. Default: nothing is
	// sealed.
	SealKey []string `json:"seal_key,omitempty"`
	// Scan names the scanner of documents of job applications: exec, a program and its arguments; or clamd, and its
	// host:port. Default: documents are not scanned.
	Scan []string `json:"scan,omitempty"`
	// Retention is the time after which the content of finished exports is erased: a number of days, such as 90d.
	// Default: with the rows.
	Retention string `json:"retention,omitempty"`
	// RetentionRows is the time after which finished exports, with their deliveries, and entries of the audit are deleted:
	// a number of days, or forever. Default: 400d, or retention where that is longer.
	RetentionRows string `json:"retention_rows,omitempty"`
	// RetentionApplications is how long job applications are kept after they ended, of tenants that say nothing else: a number
	// of days, such as 180d, or forever. Default: forever.
	RetentionApplications string `json:"retention_applications,omitempty"`
	// Erasures is the absolute path of the list of erasures, a file outside of the database and of what is backed up with
	// it. Default: there is no list.
	Erasures string `json:"erasures,omitempty"`
	// BodyMemory is the memory, in bytes, that the bodies of requests may take at once before their senders are known.
	// Default: 64 MiB.
	BodyMemory int64 `json:"body_memory,omitempty"`
	// BodyTime limits the time in which such a body arrives. Default: 2 minutes.
	BodyTime caddy.Duration `json:"body_time,omitempty"`
	// TenantLabels is how many tenants have a label of their own in metrics. Default: 200.
	TenantLabels *int `json:"tenant_labels,omitempty"`
	// LogDeliveries is all (default), or failures: attempts that were received are not logged.
	LogDeliveries string `json:"log_deliveries,omitempty"`
	// Notify lists the addresses that are notified of events of integrations and exports, of all tenants.
	Notify []Notify `json:"notify,omitempty"`
	// Tenants are declared in the configuration.
	Tenants []Tenant `json:"tenants,omitempty"`

	gateway    gateway.Gateway
	places     known // in the Caddyfile, as far as known
	ctx        caddy.Context
	security   gateway.Security // of the connection to Temporal
	bucket     documents.Bucket
	databaseID string
	database   *gateway.Database
	runtimeID  *gateway.Settings // references to the pools; nil and "": none
	admin      string            // address of the admin endpoint
	claimed    bool              // whether its pool was asked for it
	log        *zap.Logger
}

// CaddyModule implements caddy.Module.
func (App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "hiregate", New: func() caddy.Module { return new(App) }}
}

// Configurations share these, each by its own identity: two writers on one database must not exist.
var (
	databases = caddy.NewUsagePool()
	runtimes  = caddy.NewUsagePool()
)

// Provision validates the configuration and takes references to the shared parts. It changes no file and opens no
// connection.
func (a *App) Provision(ctx caddy.Context) error {
	a.log, a.ctx = ctx.Logger(), ctx
	if err := metrics.Register(ctx.GetMetricsRegistry()); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	if err := checkChallenges(ctx); err != nil {
		return err
	}
	var err error
	if a.admin, err = adminAddress(ctx); err != nil {
		return err
	}
	resolve := resolved()
	a.places = takePlaces()
	if err := unresolved(a.places, a, resolve); err != nil {
		return err
	}
	c, err := a.build(resolve)
	if err != nil {
		return err
	}
	v, err := a.vault(resolve)
	if err != nil {
		return err
	}
	validator, err := schemas.New(c.Names.Service)
	if err != nil {
		return err
	}
	a.gateway = gateway.Gateway{Config: c, Validator: validator, Now: time.Now, Vault: v, Exiting: caddy.Exiting}
	a.gateway.InboundURL = a.findInbound()
	return a.take()
}

// checkChallenges refuses a configuration with which no certificate could be obtained. Caddy answers the challenges of
// certificate authorities at the first address of default_bind, or of bind if the issuer is named (tls, cert_issuer),
// and takes a network in front of it for a part of a host's name.
func checkChallenges(ctx caddy.Context) error {
	app, err := ctx.AppIfConfigured("tls")
	if errors.Is(err, caddy.ErrNotConfigured) {
		return nil
	} else if err != nil {
		return err
	}
	automation := app.(*caddytls.TLS).Automation
	if automation == nil {
		return nil
	}
	for _, policy := range automation.Policies {
		for _, issuer := range policy.Issuers {
			acme, ok := issuer.(*caddytls.ACMEIssuer)
			if !ok || acme.Challenges == nil || acme.Challenges.DNS != nil ||
				!strings.HasPrefix(acme.Challenges.BindHost, "shared/") {
				continue
			}
			return fmt.Errorf("no certificate would come, since Caddy can't answer those who issue them at %[1]s: write "+
				"`bind %[1]s` into each site instead of default_bind, and name the issuer with the global options email and "+
				"acme_ca instead of tls or cert_issuer", acme.Challenges.BindHost)
		}
	}
	return nil
}

// resolved returns a function that resolves placeholders.
func resolved() resolve {
	replacer := caddy.NewReplacer()
	return func(s string) (string, error) { return replacer.ReplaceOrErr(s, true, true) }
}

// CheckPlaceholders returns an error that names all placeholders of the Caddyfile without a value, each with its line,
// if one of needed is among them.
func CheckPlaceholders(ctx caddy.Context, written ...string) error {
	a, err := appOf(ctx)
	if err != nil {
		return err
	}
	return unresolved(a.places, written, resolved())
}

// take gets the database and the runtime from their pools, or creates them.
func (a *App) take() error {
	id, err := store.Identity(a.Database)
	if err != nil {
		return err
	}
	documentsID := "" // of none
	if a.Documents != "" {
		if documentsID, err = documents.Identity(a.Documents); err != nil {
			return err
		}
	}
	// Pooled values outlive this configuration, and log to the one in force.
	log := latestLog(caddy.Log).Named("hiregate")
	shared, _, err := databases.LoadOrNew(id,
		func() (caddy.Destructor, error) { return &gateway.Database{Address: a.Database}, nil })
	if err != nil {
		return err
	}
	a.databaseID, a.database = id, shared.(*gateway.Database)
	a.database.AddVault(a.gateway.Vault)
	settings := gateway.Settings{Database: id, Documents: documentsID, Bucket: a.bucket, Temporal: a.Temporal.Address,
		Namespace: a.Temporal.Namespace, Security: a.security, Erasures: a.Erasures}
	running, _, err := runtimes.LoadOrNew(settings, func() (caddy.Destructor, error) {
		return gateway.NewRuntime(settings, a.database, log)
	})
	if err != nil {
		return err
	}
	a.runtimeID = &settings
	a.gateway.Runtime = running.(*gateway.Runtime)
	a.gateway.Config.Stored = a.gateway.Runtime.Directory
	return nil
}

// adminAddress returns the address of a configuration's admin endpoint; empty: there is none, or nothing listens there,
// as during a validation. No exported field of the context has the configuration.
func adminAddress(ctx caddy.Context) (string, error) {
	config := reflect.ValueOf(ctx).FieldByName("cfg")
	if !config.IsValid() || config.IsNil() {
		return "", nil
	}
	admin := config.Elem().FieldByName("Admin")
	if admin.IsNil() || admin.Elem().FieldByName("Disabled").Bool() {
		return "", nil
	}
	written, err := caddy.NewReplacer().ReplaceOrErr(admin.Elem().FieldByName("Listen").String(), true, true)
	if err != nil {
		return "", fmt.Errorf("reading the address of the admin endpoint: %w", err)
	}
	address, err := caddy.ParseNetworkAddress(cmp.Or(written, caddy.DefaultAdminListen))
	if err != nil {
		return "", fmt.Errorf("reading the address of the admin endpoint: %w", err)
	}
	if address.Host == "localhost" {
		address.Host = "127.0.0.1"
	}
	return address.String(), nil
}

// admins has the addresses of this process's admin endpoints.
var admins = caddy.NewUsagePool()

// claim reserves the address of an admin endpoint for this process. Caddy opens its sockets so that several processes
// can listen at one address, and a command would reach any of them.
type claim struct{ io.Closer }

// Destruct implements caddy.Destructor.
func (c claim) Destruct() error { return c.Close() }

func claimAdmin(address string) error {
	_, _, err := admins.LoadOrNew(address, func() (caddy.Destructor, error) {
		sum := sha256.Sum256([]byte(address))
		held, err := platform.Exclusive("hiregate-admin-" + hex.EncodeToString(sum[:16]))
		return claim{held}, err
	})
	if err != nil {
		return fmt.Errorf("another gateway has the admin endpoint at %s: stop it, or give this one an address of its own "+
			"with the global option admin (%w)", address, err)
	}
	return nil
}

// Start opens the shared parts, unless they are open, and puts this configuration in force.
func (a *App) Start() error {
	if a.admin != "" {
		if err := claimAdmin(a.admin); err != nil {
			return err
		}
		a.claimed = true
	}
	if err := a.gateway.Start(context.Background()); err != nil {
		return err
	}
	a.gateway.Push()
	a.warnOfLosses(a.ctx)
	a.noteSharedURLs()
	a.noteShortSecrets()
	for _, t := range a.gateway.Config.Tenants {
		if len(t.Integrations) == 0 {
			a.log.Warn("a tenant has no integration: its exports are stored and delivered to nobody",
				zap.String("tenant", t.Name))
		}
	}
	return nil
}

// Stop takes this configuration out of force. The store stays open: requests are still being answered.
func (a *App) Stop() error {
	a.gateway.Drop()
	return nil
}

// Cleanup releases the references of Provision.
func (a *App) Cleanup() error {
	var errs []error
	a.warnAfterValidation(a.ctx)
	if a.claimed {
		_, err := admins.Delete(a.admin)
		errs = append(errs, err)
		a.claimed = false
	}
	if a.gateway.Config != nil {
		a.gateway.Config.Egress.Close()
	}
	// The gateway keeps its runtime: a late request may still ask it, and gets an error.
	if a.runtimeID != nil {
		_, err := runtimes.Delete(*a.runtimeID)
		errs = append(errs, err)
		a.runtimeID = nil
	}
	if a.databaseID != "" {
		a.database.RemoveVault(a.gateway.Vault)
		_, err := databases.Delete(a.databaseID)
		errs = append(errs, err)
		a.databaseID = ""
	}
	return errors.Join(errs...)
}

// appOf returns the app of a configuration. Errors: caddy.ErrNotConfigured.
func appOf(ctx caddy.Context) (*App, error) {
	app, err := ctx.AppIfConfigured("hiregate")
	if err != nil {
		return nil, err
	}
	return app.(*App), nil
}

// ofSignIn has the directives that need a database, and neither documents nor Temporal.
var ofSignIn = []string{"signin", "signin_gate", "healthz"}

// Of returns the gateway of a handler's configuration.
func Of(ctx caddy.Context, directive string) (*gateway.Gateway, error) {
	app, err := appOf(ctx)
	if errors.Is(err, caddy.ErrNotConfigured) {
		return nil, fmt.Errorf("%s needs the global option hiregate: add hiregate { … } to the block at the "+
			"head of the Caddyfile", directive)
	}
	if err != nil {
		return nil, err
	}
	if app.Documents == "" && !slices.Contains(ofSignIn, directive) {
		return nil, fmt.Errorf("%s is not for a gateway that signs people in, and does nothing else: add `public_url %s` and "+
			"`documents %s` to the global option hiregate%s", directive, examplePublicURL, exampleDocuments, app.places.of(directive))
	}
	if server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server); ok {
		// Caddy would read the leftmost address of X-Forwarded-For, where a client can write anything.
		server.TrustedProxiesStrict = 1
		server.RegisterConnState(passState)
		server.RegisterConnContext(boundStreams)
	}
	return &app.gateway, nil
}

// passState passes the state of a connection to the connection, if it has a method for it, as those of modules/listener
// have.
func passState(c net.Conn, state http.ConnState) {
	if c, ok := c.(interface{ ConnState(http.ConnState) }); ok {
		c.ConnState(state)
	}
}

// Prepare opens the store of a configuration's gateway before the configuration starts: apps start in no order, and a
// configuration whose gateway can't start must not take connections meanwhile. Without a gateway it does nothing.
func Prepare(ctx caddy.Context) error {
	app, err := appOf(ctx)
	if errors.Is(err, caddy.ErrNotConfigured) {
		return nil
	}
	if err != nil {
		return err
	}
	return app.gateway.Start(context.Background())
}

func trimSlash(s string) string { return strings.TrimRight(s, "/") }

var (
	_ caddy.App          = (*App)(nil)
	_ caddy.Provisioner  = (*App)(nil)
	_ caddy.CleanerUpper = (*App)(nil)
)
