package app

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/retention"
	"github.com/hiregate/hiregate/internal/scan"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/internal/webhook"
)

// Allow allows egress to addresses: plain http, and the named ports; all ports if none is named.
type Allow struct {
	CIDR  string   `json:"cidr"`
	Ports []string `json:"ports,omitempty"`
}

func (a Allow) parse() (egress.Allowance, error) {
	return egress.ParseAllow(append([]string{a.CIDR}, a.Ports...))
}

// policyOf returns a policy that allows all that the lines allow.
func policyOf(all []Allow) (policy egress.Policy, err error) {
	for _, allow := range all {
		allowance, err := allow.parse()
		if err != nil {
			return policy, err
		}
		policy.Allow = append(policy.Allow, allowance)
	}
	return policy, nil
}

// Tenant is a declared tenant.
type Tenant struct {
	Name string `json:"name"`
	// Secrets are the active inbound signing secrets: placeholders such as {env.ACME_SECRET} or {file./run/secrets/acme}.
	// Two during a rotation.
	Secrets []string `json:"secrets"`
	// Rate limits the exports of the tenant. Default: no limit.
	Rate *Rate `json:"rate,omitempty"`
	// Invalid is the treatment of exports that break the schema: refuse (default) or quarantine.
	Invalid string `json:"invalid,omitempty"`
	// Deviations is the treatment of exports that differ from the schema by listed deviations only: accept (default), refuse
	// or quarantine.
	Deviations string `json:"deviations,omitempty"`
	// OpenApplications is how many open job applications a candidate has at most that enter steps by themselves. Default: 100.
	OpenApplications int `json:"open_applications,omitempty"`
	// RetentionApplications is how long job applications are kept: a number of days, such as 180d, or forever. Default: as the
	// app says.
	RetentionApplications string `json:"retention_applications,omitempty"`
	// Zone is the IANA name of the time zone in which the tenant's days begin. Default: UTC.
	Zone string `json:"zone,omitempty"`
	// Labels are words by which tenants are grouped, such as region=north. Default: none.
	Labels []string `json:"labels,omitempty"`
	// Notify lists the addresses that are notified of events of this tenant's integrations and exports.
	Notify       []Notify      `json:"notify,omitempty"`
	Integrations []Integration `json:"integrations,omitempty"`
	// ApplyUpstream is the Apply API of a service that the tenant's applications are relayed to. Default: they are taken here.
	ApplyUpstream *ApplyUpstream `json:"apply_upstream,omitempty"`
	// Source is the file and the line of the Caddyfile where the tenant stands. Default: it is not known.
	Source string `json:"source,omitempty"`
}

// Rate is a limit of what comes from a tenant, or goes to an integration.
type Rate struct {
	PerSecond float64 `json:"per_second"`
	Burst     int     `json:"burst"`
}

// Integration is a declared integration: where a tenant's exports go.
type Integration struct {
	Name string `json:"name"`
	// URL is the webhook's address. It must hold an identifier: a path segment, or a query parameter's value.
	URL string `json:"url"`
	// Secret signs the requests: a placeholder.
	Secret string `json:"secret"`
	// FormerSecret is the previous secret during a rotation: a placeholder. Default: there is none.
	FormerSecret string `json:"former_secret,omitempty"`
	// Documents is rehost (default), passthrough or inline.
	Documents string `json:"documents,omitempty"`
	// Retry has the gaps between attempts, as Go durations; the last one repeats. Default: 5s 30s 2m 5m 15m 30m 1h.
	Retry []string `json:"retry,omitempty"`
	// InFlight limits the concurrent attempts. Default: 16.
	InFlight int `json:"in_flight,omitempty"`
	// Rate limits the attempts. Default: no limit.
	Rate *Rate `json:"rate,omitempty"`
	// VerifyOff leaves out the VERIFY event: for a system of the operator's own.
	VerifyOff bool `json:"verify_off,omitempty"`
	// StandardWebhooks adds the signature set of Standard Webhooks to the contract's.
	StandardWebhooks bool `json:"standard_webhooks,omitempty"`
	// Traceparent sends the trace of each attempt in the header traceparent (W3C Trace Context).
	Traceparent bool `json:"traceparent,omitempty"`
	// Authentication proves to the receiver who calls it. Default: the signature alone.
	Authentication *Authentication `json:"authentication,omitempty"`

	authorizedBy string // the option of a Caddyfile that makes the header Authorization
}

const (
	defaultService   = "Service"
	defaultTemporal  = "127.0.0.1:7233"
	defaultNamespace = "default"
)

type resolve func(string) (string, error)

// build builds the configuration from the settings, resolves placeholders and fills in defaults.
func (a *App) build(resolve resolve) (*config.Config, error) {
	if !strings.Contains(a.Database, "{") && a.Database != "" {
		if err := checkDatabase(a.Database, a.Dev); err != nil {
			return nil, err
		}
	}
	for _, one := range []struct {
		option string
		text   *string
	}{
		{"service_name", &a.ServiceName}, {"public_url", &a.PublicURL}, {"database", &a.Database},
		{"documents", &a.Documents},
		{"temporal", &a.Temporal.Address}, {"namespace", &a.Temporal.Namespace}, {"temporal_ui", &a.TemporalUI},
		{"erasures", &a.Erasures},
	} {
		text, err := resolve(*one.text)
		if err != nil {
			return nil, Unset(one.option, err)
		}
		*one.text = text
	}
	candidateURL, err := resolveAround([]string{candidatePlace, tenantPlace}, a.CandidateURL, resolve)
	if err != nil {
		return nil, Unset("candidate_url", err)
	}
	a.CandidateURL = candidateURL
	if err := a.complete(); err != nil {
		return nil, err
	}
	orDefault(&a.ServiceName, defaultService)
	orDefault(&a.Temporal.Address, defaultTemporal)
	orDefault(&a.Temporal.Namespace, defaultNamespace)
	if a.Documents != "" || a.PublicURL != "" {
		if err := checkPublicURL(a.PublicURL, a.Dev); err != nil {
			return nil, err
		}
	}
	if a.Documents != "" {
		if err := cmp.Or(checkTemporal(a.Temporal.Address), checkDocuments(a.Documents, a.Dev)); err != nil {
			return nil, err
		}
		orDefault(&a.CandidateURL, defaultCandidateURL(trimSlash(a.PublicURL)))
		if err := checkCandidateURL(a.CandidateURL); err != nil {
			return nil, err
		}
	}
	if a.Erasures != "" {
		if err := checkErasures(a.Erasures); err != nil {
			return nil, err
		}
		if folder, err := documents.Identity(a.Documents); err == nil && !documents.IsBucket(a.Documents) &&
			strings.HasPrefix(a.Erasures, folder+string(filepath.Separator)) {
			return nil, fmt.Errorf("erasures: %s is among the documents, and would be put back with them: name a file elsewhere, "+
				"such as %s", a.Erasures, exampleErasures)
		}
	}
	if a.bucket, err = a.Bucket.build(a.Documents, resolve, a.Dev); err != nil {
		return nil, err
	}
	workflows := ""
	if a.TemporalUI != "" {
		if err := checkTemporalUI(a.TemporalUI); err != nil {
			return nil, err
		}
		workflows = fmt.Sprintf("%s/namespaces/%s/workflows/", trimSlash(a.TemporalUI),
			url.PathEscape(a.Temporal.Namespace))
	}
	names, err := webhook.NamesFor(a.ServiceName)
	if err != nil {
		return nil, err
	}
	policy, err := policyOf(a.Egress)
	if err != nil {
		return nil, err
	}
	policy.Log = a.log
	if err := checkTakeOver(a.Temporal.TakeOver, a.Dev); err != nil {
		return nil, err
	}
	if a.security, err = a.Temporal.security(resolve, a.Dev); err != nil {
		return nil, err
	}
	scanner, err := a.scanner(resolve)
	if err != nil {
		return nil, err
	}
	var kept time.Duration
	if a.Retention != "" {
		if kept, err = retention.Parse(a.Retention); err != nil {
			return nil, err
		}
	}
	rowsKept, err := retention.ParseRows(a.RetentionRows, kept)
	if err != nil {
		return nil, err
	}
	keptApplications := time.Duration(0)
	if a.RetentionApplications != "" {
		if keptApplications, err = retention.ParseApplications(a.RetentionApplications); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(checkTenantLabels(a.TenantLabels), checkLogDeliveries(a.LogDeliveries)); err != nil {
		return nil, err
	}
	if err := checkBodies(a.BodyMemory, time.Duration(a.BodyTime)); err != nil {
		return nil, err
	}
	c := &config.Config{Scanner: scanner, Retention: kept, RetentionRows: rowsKept, RetentionApplications: keptApplications,
		Names: names, Egress: egress.New(policy),
		PublicURL: trimSlash(a.PublicURL), CandidateURL: a.CandidateURL, Workflows: workflows, Dev: a.Dev,
		TakeOver: a.Temporal.TakeOver,
		Tenants:  map[string]*model.Tenant{}}
	c.TenantLabels, c.LogFailuresOnly = metrics.DefaultLabels, a.LogDeliveries == logFailures
	if a.TenantLabels != nil {
		c.TenantLabels = *a.TenantLabels
	}
	c.BodyMemory = cmp.Or(a.BodyMemory, bodies.DefaultMemory)
	c.BodyTime = cmp.Or(time.Duration(a.BodyTime), bodies.DefaultTime)
	for _, t := range a.Tenants {
		if _, ok := c.Tenants[t.Name]; ok {
			return nil, fmt.Errorf("tenant %s is there twice: give each a name of its own", t.Name)
		}
		tenant, err := t.build(resolve, a.Dev, c)
		if err != nil {
			return nil, fmt.Errorf("tenant %s: %w", t.Name, err)
		}
		c.Tenants[t.Name] = tenant
		if err := a.subscribe(c, t.Name, t.Notify, resolve); err != nil {
			return nil, fmt.Errorf("tenant %s: %w", t.Name, err)
		}
	}
	return c, a.subscribe(c, "", a.Notify, resolve)
}

// vault builds the vault of seal_key; nil without one.
func (a *App) vault(resolve resolve) (*vault.Vault, error) {
	if len(a.SealKey) == 0 {
		return new(vault.Vault), nil
	}
	return sealKey.Vault(a.SealKey, a.Dev, resolve)
}

// scanner builds the scanner of the option scan; nil without one.
func (a *App) scanner(resolve resolve) (scan.Scanner, error) {
	if len(a.Scan) == 0 {
		return nil, nil
	}
	args := make([]string, len(a.Scan))
	for n, written := range a.Scan {
		var err error
		if args[n], err = resolve(written); err != nil {
			return nil, Unset("scan", err)
		}
	}
	return scan.New(args)
}

// Unset returns the error of an option whose placeholder has no value.
func Unset(option string, err error) error {
	return fmt.Errorf("%s: %w: use {env.NAME} or {file./path}, and set it before the gateway starts", option, err)
}

// resolveAround resolves the placeholders of a text except ours.
func resolveAround(ours []string, text string, resolve resolve) (string, error) {
	if len(ours) == 0 {
		return resolve(text)
	}
	parts := strings.Split(text, ours[0])
	for n, part := range parts {
		var err error
		if parts[n], err = resolveAround(ours[1:], part, resolve); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, ours[0]), nil
}

func orDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

func (t Tenant) build(resolve resolve, dev bool, c *config.Config) (*model.Tenant, error) {
	if err := cmp.Or(model.ValidateTenantName(t.Name), t.complete()); err != nil {
		return nil, err
	}
	quarantine, err := model.ParseInvalid(t.Invalid)
	if err != nil {
		return nil, err
	}
	deviations, err := model.ParseDeviations(t.Deviations)
	if err != nil {
		return nil, err
	}
	if t.OpenApplications != 0 {
		if err := model.ValidateOpenApplications(t.OpenApplications); err != nil {
			return nil, err
		}
	}
	tenant := &model.Tenant{Name: t.Name, Quarantine: quarantine, Deviations: deviations, Rate: t.Rate.limit(),
		OpenApplications: t.OpenApplications, KeepApplications: c.RetentionApplications, Zone: t.Zone,
		Source: t.Source}
	if t.RetentionApplications != "" {
		if tenant.KeepApplications, err = retention.ParseApplications(t.RetentionApplications); err != nil {
			return nil, err
		}
	}
	if len(t.Labels) > 0 {
		if tenant.Labels, err = model.ParseLabels(t.Labels); err != nil {
			return nil, err
		}
	}
	for _, written := range t.Secrets {
		secret, err := secretFrom(written, dev, resolve)
		if err != nil {
			return nil, err
		}
		tenant.Secrets = append(tenant.Secrets, secret)
	}
	if tenant.ApplyUpstream, err = t.ApplyUpstream.build(resolve, dev, c.Egress); err != nil {
		return nil, fmt.Errorf("apply_upstream: %w", err)
	}
	if err := tenant.Validate(); err != nil {
		return nil, err
	}
	for _, i := range t.Integrations {
		if _, ok := tenant.Integration(i.Name); ok {
			return nil, fmt.Errorf("integration %s is there twice: give each a name of its own", i.Name)
		}
		integration, err := i.build(t.Name, resolve, dev, c)
		if err != nil {
			return nil, fmt.Errorf("integration %s: %w", i.Name, err)
		}
		tenant.Integrations = append(tenant.Integrations, *integration)
	}
	return tenant, nil
}

func secretFrom(written string, dev bool, resolve resolve) (model.Secret, error) {
	if err := checkSecret(written, dev); err != nil {
		return "", err
	}
	if !placeholder.MatchString(written) { // in dev mode it may be the secret itself
		return model.Secret(written), nil
	}
	secret, err := resolve(written)
	secret = strings.TrimRight(secret, "\r\n") // of a file
	if err != nil || secret == "" {
		return "", fmt.Errorf("the secret %s has no value%s: set it before the gateway starts", written, forbidden(written))
	}
	return model.Secret(secret), nil
}

func (i Integration) build(tenant string, resolve resolve, dev bool, c *config.Config) (*model.Integration, error) {
	if err := cmp.Or(model.ValidateIntegrationName(i.Name), i.complete()); err != nil {
		return nil, err
	}
	address, err := resolve(i.URL)
	if err != nil {
		return nil, Unset("url", err)
	}
	if err := c.Egress.ValidateURL(address); err != nil {
		return nil, err
	}
	secret, err := secretFrom(i.Secret, dev, resolve)
	if err != nil {
		return nil, err
	}
	var former model.Secret
	if i.FormerSecret != "" {
		if former, err = secretFrom(i.FormerSecret, dev, resolve); err != nil {
			return nil, err
		}
	}
	integration := &model.Integration{Tenant: tenant, Name: i.Name, URL: address, Secret: secret, FormerSecret: former,
		Options: model.Options{Documents: model.DocumentMode(i.Documents), InFlight: i.InFlight, Rate: i.Rate.limit(),
			StandardWebhooks: i.StandardWebhooks, Traceparent: i.Traceparent}.WithDefaults(),
		Verify: !i.VerifyOff}
	if integration.Authentication, err = i.Authentication.build(resolve, dev, c.Egress); err != nil {
		return nil, err
	}
	if err := cmp.Or(integration.Validate(), c.Names.ValidateAuthentication(integration.Authentication)); err != nil {
		return nil, err
	}
	if i.StandardWebhooks {
		if err := webhook.ValidateStandardSecrets(integration); err != nil {
			return nil, err
		}
	}
	if len(i.Retry) > 0 {
		if integration.Retry, err = model.ParseSchedule(i.Retry); err != nil {
			return nil, err
		}
	}
	return integration, nil
}
