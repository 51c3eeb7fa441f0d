package app

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/modeltest"
)

// app is the least that a configuration may say, with one tenant and one integration.
func app() *App {
	return &App{
		Dev: true, PublicURL: "https://gate.example.com", Database: "sqlite:///var/lib/hiregate.db",
		Documents: "file:///var/lib/documents",
		Tenants: []Tenant{{Name: "acme", Secrets: []string{"hunter2"}, Integrations: []Integration{
			{Name: "hris", URL: "https://hr.acme.example/inbound/acme", Secret: "hunter3"},
		}}},
	}
}

func build(a *App) (*config.Config, error) {
	replacer := caddy.NewReplacer()
	return a.build(func(s string) (string, error) { return replacer.ReplaceOrErr(s, true, true) })
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	a := app()
	a.PublicURL += "/"
	c, err := build(a)
	require.NoError(t, err)
	require.Equal(t, "X-Service-Signature", c.Names.Signature)
	require.Zero(t, c.Retention, "content is kept for as long as rows")
	require.Equal(t, 400*24*time.Hour, c.RetentionRows)
	require.EqualValues(t, 64<<20, c.BodyMemory)
	require.Equal(t, 2*time.Minute, c.BodyTime)
	require.Equal(t, "https://gate.example.com", c.PublicURL, "a slash would be there twice in addresses of documents")
	require.Equal(t, Temporal{Address: "127.0.0.1:7233", Namespace: "default"}, a.Temporal)
	require.Equal(t, map[string]*model.Tenant{"acme": {Name: "acme", Secrets: []model.Secret{"hunter2"},
		Integrations: []model.Integration{{
			Tenant: "acme", Name: "hris", URL: "https://hr.acme.example/inbound/acme", Secret: "hunter3",
			Options: model.Options{Documents: model.Rehost, InFlight: 16}, Verify: true,
		}}}}, c.Tenants)
}

func TestDocumentsFolders(t *testing.T) {
	t.Parallel()
	for address, dev := range map[string]bool{"file:///var/lib/documents": false, "file:/var/lib/documents": false,
		"FILE:///a%20b": false, "file:.hiregate/documents": true} {
		require.NoError(t, checkDocuments(address, dev), address)
	}
}

func TestEverySettingArrives(t *testing.T) {
	t.Parallel()
	a := app()
	a.ServiceName, a.Retention, a.RetentionRows = "Hire", "90d", "forever"
	a.RetentionApplications, a.Tenants[0].RetentionApplications = "180d", "30d"
	a.BodyMemory, a.BodyTime = 1<<30, caddy.Duration(time.Minute)
	a.Egress = []Allow{{CIDR: "10.20.0.0/16", Ports: []string{"8080"}}}
	a.Tenants[0].Rate = &Rate{PerSecond: 50, Burst: 200}
	a.Tenants[0].Secrets = []string{"old", "new"}
	a.Tenants[0].Integrations = []Integration{{Name: "importer", URL: "http://10.20.30.40:8080/import", Secret: "s",
		FormerSecret: "before", Documents: "passthrough",
		Retry: []string{"1s", "1m"}, InFlight: 1000, VerifyOff: true, StandardWebhooks: true}}
	a.Tenants[0].Invalid, a.Tenants[0].Deviations = "quarantine", "refuse"
	c, err := build(a)
	require.NoError(t, err)
	require.Equal(t, "X-Hire-UUID", c.Names.UUID)
	require.Equal(t, 90*24*time.Hour, c.Retention)
	require.Zero(t, c.RetentionRows)
	require.EqualValues(t, 1<<30, c.BodyMemory)
	require.Equal(t, time.Minute, c.BodyTime)
	tenant, ok := c.Tenant("acme")
	require.True(t, ok)
	require.Equal(t, []string{"old", "new"}, tenant.SigningKeys())
	require.Equal(t, 30*24*time.Hour, c.KeepApplications(tenant))
	require.Equal(t, 180*24*time.Hour, c.KeepApplications(&model.Tenant{Name: "of-the-database"}))
	require.Equal(t, &model.Rate{PerSecond: 50, Burst: 200}, tenant.Rate)
	i, ok := c.Integration("acme", "importer")
	require.True(t, ok)
	require.Equal(t, &model.Integration{Tenant: "acme", Name: "importer", URL: "http://10.20.30.40:8080/import",
		Secret: "s", FormerSecret: "before",
		Options: model.Options{Documents: model.Passthrough, Retry: []time.Duration{time.Second, time.Minute}, InFlight: 1000, StandardWebhooks: true}}, i)
	require.True(t, tenant.Quarantine)
	require.Equal(t, model.RefuseDeviations, tenant.Deviations)
	require.NoError(t, c.Egress.ValidateURL("http://10.20.1.1:8080/x"))
	require.Error(t, c.Egress.ValidateURL("http://10.20.1.1:8081/x"))
}

// What a configuration of Caddy says of an integration reaches it.
func TestOptionsOfAnIntegrationArrive(t *testing.T) {
	t.Parallel()
	want := modeltest.Options()
	a := app()
	i := &a.Tenants[0].Integrations[0]
	written := reflect.ValueOf(i).Elem()
	for field, option := range reflect.ValueOf(want).Fields() {
		to := written.FieldByName(field.Name)
		require.True(t, to.IsValid(), "no option of the Caddyfile sets %s", field.Name)
		switch from := option.Interface().(type) {
		case *model.Rate:
			i.Rate = &Rate{PerSecond: from.PerSecond, Burst: from.Burst}
		case model.Schedule:
			i.Retry = from.Words()
		default:
			to.Set(option.Convert(to.Type()))
		}
	}
	c, err := build(a)
	require.NoError(t, err)
	require.Equal(t, want, c.Tenants["acme"].Integrations[0].Options)
}

func TestPlaceholders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("of the file\r\n"), 0o600))
	t.Setenv("GATEWAY_TEST_SECRET", "of the environment")
	t.Setenv("GATEWAY_TEST_HOST", "example.com")
	a := app()
	a.Dev = false
	a.PublicURL, a.Database = "https://{env.GATEWAY_TEST_HOST}", "sqlite:///{env.GATEWAY_TEST_HOST}.db"
	a.Tenants[0].Secrets = []string{"{env.GATEWAY_TEST_SECRET}", "{file." + file + "}"}
	a.Tenants[0].Integrations[0].Secret = "{file." + file + "}"
	a.Tenants[0].Integrations[0].URL = "https://{env.GATEWAY_TEST_HOST}/inbound"
	c, err := build(a)
	require.NoError(t, err)
	require.Equal(t, "https://example.com", c.PublicURL)
	require.Equal(t, "sqlite:///example.com.db", a.Database)
	require.Equal(t, []string{"of the environment", "of the file"}, c.Tenants["acme"].SigningKeys())
	i, _ := c.Integration("acme", "hris")
	require.Equal(t, "of the file", i.Secret.Reveal())
	require.Equal(t, "https://example.com/inbound", i.URL)
}

// What is written out in dev mode is the secret, to the letter.
func TestSecretsInDevMode(t *testing.T) {
	t.Parallel()
	a := app()
	a.Tenants[0].Secrets = []string{"{not a placeholder}", ` \{ `}
	c, err := build(a)
	require.NoError(t, err)
	require.Equal(t, []string{"{not a placeholder}", ` \{ `}, c.Tenants["acme"].SigningKeys())
}

// A configuration need not come from a Caddyfile: whatever is checked there is checked here.
func TestSettingsAreChecked(t *testing.T) {
	t.Setenv("GATEWAY_TEST_EMPTY", "")
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	tenant := func(change func(*Tenant)) func(*App) { return func(a *App) { change(&a.Tenants[0]) } }
	integration := func(change func(*Integration)) func(*App) {
		return func(a *App) { change(&a.Tenants[0].Integrations[0]) }
	}
	for want, change := range map[string]func(*App){
		"add `public_url https://gate.example.com`":                                            func(a *App) { a.PublicURL = "" },
		"add `database sqlite:///var/lib/hiregate/hiregate.db` and `documents file:///var/lib": func(a *App) { a.Database, a.Documents = "", "" },
		`public_url "gate"`:                                                      func(a *App) { a.PublicURL = "gate" },
		"is not encrypted: write an https address":                               func(a *App) { a.Dev, a.PublicURL, a.Tenants = false, "http://gate.example.com", nil },
		"its port is none":                                                       func(a *App) { a.PublicURL = "https://gate.example.com:0" },
		`documents "file:documents": write file:// and the absolute`:             func(a *App) { a.Dev, a.Documents, a.Tenants = false, "file:documents", nil },
		`documents "/var/lib/documents": write file://`:                          func(a *App) { a.Documents = "/var/lib/documents" },
		`documents "file:///var/.." is all of the disk`:                          func(a *App) { a.Documents = "file:///var/.." },
		`service name "A B"`:                                                     func(a *App) { a.ServiceName = "A B" },
		`temporal "temporal.internal"`:                                           func(a *App) { a.Temporal.Address = "temporal.internal" },
		`temporal "temporal.internal:grpc"`:                                      func(a *App) { a.Temporal.Address = "temporal.internal:grpc" },
		"database: evaluated placeholder {env.GATEWAY_TEST_EMPTY} is empty: use": func(a *App) { a.Database = "sqlite://{env.GATEWAY_TEST_EMPTY}" },
		"documents: unrecognized placeholder {x}":                                func(a *App) { a.Documents = "file:///{x}" },
		"body_memory is 1048575 bytes: give a number from 1048576":               func(a *App) { a.BodyMemory = 1<<20 - 1 },
		"body_time is 2h0m0s: give a duration from 1s to 1h":                     func(a *App) { a.BodyTime = caddy.Duration(2 * time.Hour) },
		"tenant_labels \"-1\": write a number from 0 to 10000":                   func(a *App) { a.TenantLabels = new(-1) },
		`retention "3d": give a number of days, 4 at least`:                      func(a *App) { a.Retention = "3d" },
		"rows 90d is shorter than the 91d for which content":                     func(a *App) { a.Retention, a.RetentionRows = "91d", "90d" },
		`log_deliveries "none": write all, or failures to`:                       func(a *App) { a.LogDeliveries = "none" },
		`egress allow: "private"`:                                                func(a *App) { a.Egress = []Allow{{CIDR: "private"}} },
		`tenant acme: invalid "accept" is unknown: write refuse or quarantine`: tenant(
			func(t *Tenant) { t.Invalid = "accept" }),
		"the secret begins with whsec_, but what follows is not standard base64": integration(
			func(i *Integration) { i.Secret, i.StandardWebhooks = "whsec_*", true }),
		"tenant acme is there twice": func(a *App) { a.Tenants = append(a.Tenants, a.Tenants[0]) },
		`tenant name "Acme"`:         tenant(func(t *Tenant) { t.Name = "Acme" }),
		`a tenant can't be called "receipts"`: tenant(
			func(t *Tenant) { t.Name = "receipts" }),
		`a tenant can't be called "unknown": the metrics count under that name`: tenant(
			func(t *Tenant) { t.Name = "unknown" }),
		"tenant acme is not complete: add `secret {env": tenant(func(t *Tenant) { t.Secrets = nil }),
		"tenant acme: a secret is empty": tenant(
			func(t *Tenant) { t.Secrets = []string{"hunter2", ""} }),
		"tenant acme: the secret {env.GATEWAY_TEST_EMPTY} has no value": tenant(
			func(t *Tenant) { t.Secrets = []string{"{env.GATEWAY_TEST_EMPTY}"} }),
		"tenant acme: the secret {file." + empty +
			"} has no value": tenant(func(t *Tenant) { t.Secrets = []string{"{file." + empty + "}"} }),
		"tenant acme: a rate is": tenant(
			func(t *Tenant) { t.Rate = &Rate{PerSecond: 1} }),
		"integration hris is there twice": tenant(
			func(t *Tenant) { t.Integrations = append(t.Integrations, t.Integrations[0]) }),
		`integration name "HRIS"`: integration(
			func(i *Integration) { i.Name = "HRIS" }),
		"integration hris is not complete: add `url": integration(
			func(i *Integration) { i.URL = "" }),
		"integration hris is not complete: add `secret": integration(
			func(i *Integration) { i.Secret = "" }),
		"tenant acme: integration hris: the URL is plain http": integration(
			func(i *Integration) { i.URL = "http://hr.acme.example/inbound" }),
		"tenant acme: integration hris: url: evaluated placeholder": integration(
			func(i *Integration) { i.URL = "https://{env.GATEWAY_TEST_EMPTY}/inbound" }),
		`document mode "mail"`: integration(
			func(i *Integration) { i.Documents = "mail" }),
		`retry gap "soon"`: integration(
			func(i *Integration) { i.Retry = []string{"soon"} }),
		"hris: in_flight (inFlight) is": integration(
			func(i *Integration) { i.InFlight = -1 }),
		"hris: in_flight (inFlight)": integration(
			func(i *Integration) { i.InFlight = 1001 }),
		"acme: a secret must be a placeholder": func(a *App) { a.Dev = false },
		"hris: a secret must be a placeholder": func(a *App) { a.Dev, a.Tenants[0].Secrets = false, []string{"{env.PATH}"} },
	} {
		a := app()
		change(a)
		_, err := build(a)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter", "the error shows a secret")
	}
}

// Caddy shows what is written out, wherever in the address it stands.
func TestPasswordOfADatabaseIsNotWrittenOut(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{
		":hunter2@db/hiregate", ":@db/hiregate", "@db/hiregate?password=hunter2",
		"@db/hiregate?sslmode=disable&sslpassword=hunter2",
		"@db/hiregate?pass%77ord=hunter2", "@db/hiregate?password=hunter2;x",
		"@db/hiregate?application_name=x#&password=hunter2",
		"@db/hiregate?application_name=x& password=hunter2",
	} {
		require.ErrorContains(t, checkDatabase("postgres://hiregate"+rest, false), "the database's address holds a password",
			rest)
		require.NoError(t, checkDatabase("postgres://hiregate"+rest, true), rest)
	}
	for _, rest := range []string{"", "?sslmode=verify-full", "?application_name=password",
		"?passfile=/run/secrets/pgpass"} {
		require.NoError(t, checkDatabase("postgres://hiregate@db/hiregate"+rest, false), rest)
	}
}

func TestRateIsRead(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]Rate{
		"50/s":              {50, 50},
		"50/s burst 200":    {50, 200},
		"30/m":              {.5, 30},
		"3600/h burst 1":    {1, 1},
		"0.5/s":             {.5, 1},
		"1000000/s burst 7": {1e6, 7},
	} {
		rate, err := ParseRate(strings.Fields(args))
		require.NoError(t, err, args)
		require.Equal(t, &want, rate, args)
	}
	for _, args := range []string{"", "50", "50/", "/s", "50/d", "50/s 200", "50/s burst", "50/s burst 0",
		"50/s burst -1", "50/s burst 1.5",
		"50/s burst 2 3", "50/s at 200", "0/s", "-1/s", "NaN/s", "Inf/s", "1000001/s", "50/s/s", "1e400/s",
		"50/s burst 2000000"} {
		_, err := ParseRate(strings.Fields(args))
		require.ErrorContains(t, err, "how many may come in a second, and how many at once", args)
	}
	require.Error(t, Rate{PerSecond: math.NaN(), Burst: 1}.Validate())
}

func TestWorkflowsHaveLinksWhereTheUIIsKnown(t *testing.T) {
	t.Setenv("GATEWAY_TEST_HOST", "temporal-ui.example.com")
	a := app()
	c, err := build(a)
	require.NoError(t, err)
	require.Empty(t, c.Workflows)
	a.TemporalUI, a.Temporal.Namespace = "https://{env.GATEWAY_TEST_HOST}/ui/", "hiregate"
	c, err = build(a)
	require.NoError(t, err)
	require.Equal(t, "https://temporal-ui.example.com/ui/namespaces/hiregate/workflows/", c.Workflows)
	a.TemporalUI = "temporal-ui.example.com"
	_, err = build(a)
	require.ErrorContains(t, err, "temporal_ui")
}

func TestCandidateURLKeepsItsPlace(t *testing.T) {
	t.Setenv("GATEWAY_TEST_HOST", "recruiting.example.com")
	a := app()
	c, err := build(a)
	require.NoError(t, err)
	require.Equal(t, "https://gate.example.com/console/candidates/{tenant}/{candidate}", c.CandidateURL)
	a.CandidateURL = "https://{env.GATEWAY_TEST_HOST}/{tenant}/{candidate}?from=export"
	c, err = build(a)
	require.NoError(t, err)
	require.Equal(t, "https://recruiting.example.com/{tenant}/{candidate}?from=export", c.CandidateURL)
	a.CandidateURL = "https://recruiting.example.com/{id}"
	_, err = build(a)
	require.ErrorContains(t, err, "candidate_url")
}
