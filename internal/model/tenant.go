// Package model holds the words of the contract and of hiregate's own model, and the rules that need nothing else to
// be decided. It imports nothing of ours.
package model

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"regexp"
	"time"
)

// Secret is a shared signing key. It prints and marshals as a placeholder, so that it can't slip into a log or an
// answer; Reveal gives the key itself.
type Secret string

// Hidden stands for a secret in whatever is printed or shown.
const Hidden = "(secret)"

// Reveal returns the key. Call it where a signature is made or checked, nowhere else.
func (s Secret) Reveal() string { return string(s) }

func (Secret) String() string               { return Hidden }
func (Secret) GoString() string             { return Hidden }
func (Secret) MarshalText() ([]byte, error) { return []byte(Hidden), nil }

// Tenant is one customer: the identifier in the webhook's URL and all that follows from it.
type Tenant struct {
	Row          Row    // of a stored tenant; version 0: it is declared in the configuration
	Source       string // file and line of the declaration; empty: it is not known, or the tenant is stored
	Name         string
	Title        string               // for people
	Secrets      []Secret             // inbound signing secrets; two during a rotation
	SecretEnds   map[Secret]time.Time // when those end that do; nil: none does
	Rate         *Rate                // nil: no limit
	Quarantine   bool                 // exports that break the schema are kept and held, not refused
	Deviations   DeviationPolicy
	Integrations []Integration
	Zone         string // IANA name of the zone in which its days begin; empty: UTC
	Labels       Labels
	// KeepApplications is for how long job applications are kept, of a declared tenant; 0: for ever.
	KeepApplications time.Duration
	// OpenApplications is how many open job applications a candidate has at most that enter steps by themselves; 0: the
	// default.
	OpenApplications int
	ApplyUpstream    *ApplyUpstream // its applications are relayed there; nil: they are taken here
}

// ValidateZone says what is wrong with the name of a time zone, or nil. It is empty for UTC.
func ValidateZone(name string) error {
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return fmt.Errorf("zone %.40q is unknown: write the IANA name of a time zone, such as America/Los_Angeles", name)
	}
	return nil
}

// Day returns the day that a time is in for the tenant, as YYYY-MM-DD.
func (t *Tenant) Day(at time.Time) string {
	zone, err := time.LoadLocation(t.Zone)
	if err != nil {
		zone = time.UTC
	}
	return at.In(zone).Format(time.DateOnly)
}

// DefaultOpenApplications is how many open job applications a candidate has at most that enter steps by themselves:
// anybody who applies for others under their e-mail address must not fill up what recruiters see.
const DefaultOpenApplications = 100

// ValidateOpenApplications says what is wrong with the most open job applications of a candidate that enter steps by
// themselves, or nil.
func ValidateOpenApplications(n int) error {
	if n < 1 || n > 100_000 {
		return errors.New("open_applications takes how many open job applications of a candidate enter steps by themselves: " +
			"write 1 to 100000")
	}
	return nil
}

// MaxOpenApplications returns how many open job applications a candidate has at most that enter steps by themselves.
func (t *Tenant) MaxOpenApplications() int {
	return cmp.Or(t.OpenApplications, DefaultOpenApplications)
}

// Integration returns the tenant's integration of that name.
func (t *Tenant) Integration(name string) (*Integration, bool) {
	for i := range t.Integrations {
		if t.Integrations[i].Name == name {
			return &t.Integrations[i], true
		}
	}
	return nil, false
}

// IntegrationNames returns the names of the tenant's integrations, in whatever state these are.
func (t *Tenant) IntegrationNames() []string {
	names := make([]string, len(t.Integrations))
	for n, i := range t.Integrations {
		names[n] = i.Name
	}
	return names
}

// Fingerprint identifies an inbound secret of a tenant in the database. It is keyed by the secret, so that it tells
// nothing about it.
func (s Secret) Fingerprint(tenant string) []byte {
	mac := hmac.New(sha256.New, []byte(s.Reveal()))
	mac.Write([]byte("inbound secret of " + tenant))
	return mac.Sum(nil)
}

var name = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

// reserved are the names that stand for something else where a tenant's would, and what that is.
var reserved = map[string]string{
	"receipts": "receipts are served under that name",
	"unknown":  "the metrics count under that name what comes for no tenant of yours",
}

// ValidateTenantName says what is wrong with a tenant's name, or nil.
func ValidateTenantName(s string) error {
	if taken, ok := reserved[s]; ok {
		return fmt.Errorf("a tenant can't be called %q: %s; choose another", s, taken)
	}
	if !name.MatchString(s) {
		return fmt.Errorf("tenant name %q: use 1 to 63 of the characters a-z, 0-9 and -", s)
	}
	return nil
}

// Integration is a destination of a tenant's exports.
type Integration struct {
	Row    Row // of a stored integration; version 0: it is declared in the configuration
	Tenant string
	Name   string
	URL    string // the contract's {webhook_url}
	Secret Secret
	// FormerSecret signs beside Secret, or in its place until VERIFY is answered with that: during a rotation. Empty:
	// there is none.
	FormerSecret Secret
	RotatedAt    time.Time // since when a stored one has it; zero: it has none, or that is not known
	Verify       bool      // false only for a system of the operator's own, in the Caddyfile
	// Damaged is set where what is stored of it was damaged: it then has no address and no secrets, and gets no exports.
	Damaged        bool
	Authentication *Authentication // beside the signature; nil: none
	Options
}

// ValidateIntegrationName says what is wrong with an integration's name, or nil.
func ValidateIntegrationName(s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("integration name %q: use 1 to 63 of the characters a-z, 0-9 and -", s)
	}
	return nil
}

// URLOrigin returns the scheme and the host of an integration's address, or of its token endpoint's: what may be shown of it,
// since the rest may be a credential. Empty: it is no such address.
func URLOrigin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// SharedURLs returns the integrations of tenants whose URL another one has as well, of the same tenant or not: its
// identifier does not tell their receiver whose exports come in. Each list has those of one URL.
func SharedURLs(tenants iter.Seq[*Tenant]) (all [][]Place) {
	var urls []string
	places := map[string][]Place{}
	for t := range tenants {
		for _, i := range t.Integrations {
			if i.Damaged { // its URL is not known
				continue
			}
			if places[i.URL] = append(places[i.URL], Place{t.Name, i.Name}); len(places[i.URL]) == 2 {
				urls = append(urls, i.URL)
			}
		}
	}
	for _, u := range urls {
		all = append(all, places[u])
	}
	return all
}

// Setting identifies what a verification vouches for: tenant, name, URL, secret and authentication. A change of any of
// them asks for a new VERIFY; a restart with the same does not. It is keyed by the secret, so that it reveals nothing
// about them.
func (i *Integration) Setting() []byte { return i.settingWith(i.Secret) }

// FormerSetting is Setting with the former secret; nil without one.
func (i *Integration) FormerSetting() []byte {
	if i.FormerSecret == "" {
		return nil
	}
	return i.settingWith(i.FormerSecret)
}

func (i *Integration) settingWith(secret Secret) []byte {
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	parts := []string{i.Tenant, i.Name, i.URL}
	if i.Authentication != nil {
		parts = append(parts, string(i.Authentication.Format()))
	}
	for _, part := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		mac.Write(n[:])
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

// IntegrationState is the state of an integration's setup (contract, "States and transitions").
type IntegrationState string

// The states of an integration. Exports go to configured ones only; those of the others wait as held.
const (
	NotConfigured IntegrationState = "not_configured" // VERIFY was not answered 200 yet
	Configured    IntegrationState = "configured"
	Disabled      IntegrationState = "disabled" // by its partner (410) or by an operator
	Removed       IntegrationState = "removed"
)
