package app

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

var placeholder = regexp.MustCompile(`^\{(env|file)\.[^{}]+\}$`)

// checkSecret checks a secret as it is written in the configuration.
func checkSecret(written string, dev bool) error {
	switch {
	case placeholder.MatchString(written):
		return nil
	case written == "":
		return errors.New("a secret is empty: write a placeholder, {env.NAME} or {file./path}")
	case !dev:
		return errors.New("a secret must be a placeholder, {env.NAME} or {file./path}: Caddy shows what is written out " +
			"in its /config and its autosave file ({$NAME} is written out, too)")
	}
	return nil
}

// ValidateClientSecret checks a client's secret at an OpenID provider, as it is written in the configuration. of names
// the option of the client.
func ValidateClientSecret(of, written string, dev bool) error {
	if dev || placeholder.MatchString(written) {
		return nil
	}
	return fmt.Errorf("%s: client_secret must be a placeholder, {env.NAME} or {file./path}: Caddy shows what is written "+
		"out in its /config", of)
}

// checkDatabase checks a database's address as it is written in the configuration.
func checkDatabase(written string, dev bool) error {
	if _, err := store.Identity(written); err != nil {
		return err
	}
	if !dev && holdsPassword(written) {
		return errors.New("the database's address holds a password: write the whole address as a placeholder, {env.NAME} " +
			"or {file./path}, since Caddy shows what is written out in its /config and its autosave file")
	}
	return nil
}

// holdsPassword reports whether a database's address has a password before its host or among its parameters.
// PostgreSQL's driver has its own rules for parameters: no semicolon and no number sign ends one.
func holdsPassword(address string) bool {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if _, ok := u.User.Password(); ok {
			return true
		}
	}
	_, parameters, _ := strings.Cut(address, "?")
	for parameter := range strings.SplitSeq(parameters, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		if name, _ = url.PathUnescape(strings.Trim(name, " ")); name == "password" || name == "sslpassword" {
			return true
		}
	}
	return false
}

// checkDocuments checks the folder or the bucket of the documents.
func checkDocuments(s string, dev bool) error {
	folder, err := documents.Identity(s)
	if err != nil || documents.IsBucket(s) {
		return err
	}
	scheme, path, _ := strings.Cut(s, ":")
	switch {
	case !strings.EqualFold(scheme, "file"), !strings.HasPrefix(path, "/") && !dev:
		return fmt.Errorf("documents %q: write file:// and the absolute path of a folder, such as %s", s, exampleDocuments)
	case folder == filepath.Dir(folder):
		return fmt.Errorf("documents %q is all of the disk: name a folder for the documents alone, such as %s", s,
			exampleDocuments)
	}
	return nil
}

// checkErasures checks the path of the list of erasures.
func checkErasures(s string) error {
	if !filepath.IsAbs(s) {
		return fmt.Errorf("erasures %q: write the absolute path of a file on another disk than the database and the documents, "+
			"such as %s", s, exampleErasures)
	}
	return nil
}

// checkPublicURL checks public_url.
func checkPublicURL(s string, dev bool) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("public_url %q: write the address under which the world reaches this gateway, such as %s", s,
			examplePublicURL)
	case strings.ContainsAny(s, "?#") || u.User != nil:
		return fmt.Errorf("public_url: write the address alone, such as %s, without query, fragment, user name and password",
			examplePublicURL)
	case strings.Contains(s, "*"):
		return fmt.Errorf("public_url %q: write the address alone, such as %s, without *: it stands at the head of the "+
			"addresses of documents", s, examplePublicURL)
	case u.Scheme == "http" && !dev:
		return fmt.Errorf("public_url %q is not encrypted: write an https address, such as %s; http is for development "+
			"alone, with the option dev", s, examplePublicURL)
	case !validPort(u):
		return fmt.Errorf("public_url %q: its port is none: write one from 1 to 65535, or leave it out", s)
	}
	return nil
}

// checkWrittenPublicURL checks public_url as it is written in a Caddyfile. A site is often named by the same variable,
// and to Caddy a slash after a site's address is the one path that it serves: all others would be answered 404.
func checkWrittenPublicURL(s string, dev bool) error {
	if err := checkPublicURL(s, dev); err != nil {
		return err
	}
	if strings.HasSuffix(s, "/") {
		return fmt.Errorf("public_url %q: leave out the slash at its end; after the address of a site it would be the "+
			"only path that is served", s)
	}
	return nil
}

// validPort reports whether the port of a URL is valid or left out.
func validPort(u *url.URL) bool {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0 || u.Port() == "" && !strings.HasSuffix(u.Host, ":")
}

// candidatePlace stands for a candidate's id in candidate_url, tenantPlace for the name of the tenant.
const (
	candidatePlace = "{candidate}"
	tenantPlace    = "{tenant}"
)

// defaultCandidateURL returns the address of a candidate's page in the console.
func defaultCandidateURL(publicURL string) string {
	return publicURL + "/console/candidates/" + tenantPlace + "/" + candidatePlace
}

// checkCandidateURL checks candidate_url.
func checkCandidateURL(s string) error {
	u, err := url.Parse(strings.NewReplacer(candidatePlace, "id", tenantPlace, "tenant").Replace(s))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil:
		return fmt.Errorf("candidate_url %q: write the address of a candidate's profile in the service, such as %s", s,
			exampleCandidateURL)
	case !strings.Contains(s, candidatePlace):
		return fmt.Errorf("candidate_url %q: put %s where the candidate's id goes, as in %s", s, candidatePlace,
			exampleCandidateURL)
	}
	return nil
}

// checkTemporal checks the address of Temporal.
func checkTemporal(s string) error {
	host, port, err := net.SplitHostPort(s)
	if n, notNumber := strconv.ParseUint(port, 10, 16); err != nil || host == "" || notNumber != nil || n == 0 {
		return fmt.Errorf("temporal %q: write its address as host:port, such as %s", s, exampleTemporal)
	}
	return nil
}

// checkTemporalUI checks temporal_ui.
func checkTemporalUI(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || !validPort(u) ||
		u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("temporal_ui %q: write the address at which people open Temporal's UI, such as %s", s,
			exampleTemporalUI)
	}
	return nil
}

const (
	examplePublicURL    = "https://gate.example.com"
	exampleCandidateURL = "https://recruiting.example.com/candidates/{candidate}"
	exampleDatabase     = "sqlite:///var/lib/hiregate/hiregate.db"
	exampleErasures     = "/var/lib/hiregate-erasures/list"
	exampleDocuments    = "file:///var/lib/hiregate/documents"
	exampleTemporal     = "temporal.internal:7233"
	exampleTemporalUI   = "https://temporal-ui.internal"
	exampleURL          = "https://hr.acme.example/inbound?client=acme"
)

// complete returns an error that names the missing required options; so do the other methods of this name.
func (a *App) complete() error {
	if a.signsInAlone() {
		return nil
	}
	return incomplete("hiregate", required{"public_url", a.PublicURL, examplePublicURL},
		required{"database", a.Database, exampleDatabase},
		required{"documents", a.Documents, exampleDocuments})
}

// signsInAlone reports whether a gateway signs people in, and does nothing else: it has a database, and nothing that
// is about exports.
func (a *App) signsInAlone() bool {
	return a.Database != "" && a.Documents+a.CandidateURL+a.TemporalUI+a.Erasures == "" && a.Temporal == Temporal{} &&
		len(a.Tenants)+len(a.Scan)+len(a.Notify) == 0
}

func (t Tenant) complete() error {
	return incomplete("tenant "+t.Name, required{"secret", strings.Join(t.Secrets, ""), "{env.ACME_SECRET}"})
}

func (i Integration) complete() error {
	return incomplete("integration "+i.Name, required{"url", i.URL, exampleURL},
		required{"secret", i.Secret, "{env.ACME_HRIS_SECRET}"})
}

type required struct{ option, value, example string }

func incomplete(what string, all ...required) error {
	var lines []string
	for _, one := range all {
		if one.value == "" {
			lines = append(lines, "`"+one.option+" "+one.example+"`")
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%s is not complete: add %s", what, strings.Join(lines, " and "))
}

// ParseRate reads the arguments of rate: 50/s burst 200.
func ParseRate(args []string) (*Rate, error) {
	r, err := model.ParseRate(args)
	if err != nil {
		return nil, err
	}
	return &Rate{PerSecond: r.PerSecond, Burst: r.Burst}, nil
}

// Validate returns what is wrong with a rate, or nil.
func (r Rate) Validate() error { return r.limit().Validate() }

// limit is the rate as it is enforced; nil: there is none.
func (r *Rate) limit() *model.Rate {
	if r == nil {
		return nil
	}
	return &model.Rate{PerSecond: r.PerSecond, Burst: r.Burst}
}

func parseInFlight(s string) (int, error) {
	n, _ := strconv.Atoi(s) // 0 or too large if it is no number
	return n, model.ValidateInFlight(n)
}

func parseOpenApplications(s string) (int, error) {
	n, _ := strconv.Atoi(s) // 0 or too large if it is no number
	return n, model.ValidateOpenApplications(n)
}

const (
	leastBodyMemory = 1 << 20
	mostBodyMemory  = 64 << 30
	mostBodyTime    = time.Hour
)

func parseBodyMemory(s string) (int64, error) {
	size, err := humanize.ParseBytes(s)
	if err != nil || size < leastBodyMemory || size > mostBodyMemory {
		return 0, fmt.Errorf("body_memory %q: write a size from 1MiB to 64GiB, such as 64MiB", s)
	}
	return int64(size), nil
}

func parseBodyTime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > mostBodyTime {
		return 0, fmt.Errorf("body_time %q: write a duration from 1s to 1h, such as 2m", s)
	}
	return d, nil
}

// checkBodies checks body_memory and body_time. 0 stands for the default.
func checkBodies(memory int64, within time.Duration) error {
	switch {
	case memory != 0 && (memory < leastBodyMemory || memory > mostBodyMemory):
		return fmt.Errorf("body_memory is %d bytes: give a number from %d to %d", memory, leastBodyMemory,
			int64(mostBodyMemory))
	case within != 0 && (within < time.Second || within > mostBodyTime):
		return fmt.Errorf("body_time is %s: give a duration from 1s to 1h", within)
	}
	return nil
}

const mostTenantLabels = 10_000

func parseTenantLabels(s string) (*int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > mostTenantLabels {
		return nil, fmt.Errorf("tenant_labels %q: write a number from 0 to %d, such as 200", s, mostTenantLabels)
	}
	return &n, nil
}

// checkTenantLabels checks tenant_labels. nil stands for the default.
func checkTenantLabels(n *int) error {
	if n == nil {
		return nil
	}
	_, err := parseTenantLabels(strconv.Itoa(*n))
	return err
}

const (
	logAll      = "all"
	logFailures = "failures"
)

// checkLogDeliveries checks log_deliveries. An empty one stands for the default.
func checkLogDeliveries(s string) error {
	switch s {
	case "", logAll, logFailures:
		return nil
	}
	return fmt.Errorf("log_deliveries %q: write %s, or %s to leave out attempts that were received", s, logAll, logFailures)
}
