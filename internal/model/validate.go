package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxSecrets = 10
	maxSecret  = 4 << 10 // bytes
	maxTitle   = 255     // characters
	maxURL     = 2 << 10 // bytes
)

// Validate says which rule of a tenant is broken, in a sentence that says what to do; nil: none. Its integrations have
// rules of their own.
func (t *Tenant) Validate() error {
	if err := ValidateTenantName(t.Name); err != nil {
		return err
	}
	if utf8.RuneCountInString(t.Title) > maxTitle || strings.ContainsRune(t.Title, 0) {
		return fmt.Errorf("name is longer than %d characters, or has the character U+0000: shorten it", maxTitle)
	}
	if len(t.Secrets) > maxSecrets {
		return fmt.Errorf("there are more than %d secrets: two are enough for a rotation", maxSecrets)
	}
	for _, s := range t.Secrets {
		if err := s.Validate(); err != nil {
			return err
		}
	}
	if err := cmp.Or(ValidateZone(t.Zone), t.Labels.Validate()); err != nil {
		return err
	}
	if t.ApplyUpstream != nil {
		if err := t.ApplyUpstream.Validate(); err != nil {
			return err
		}
	}
	if t.Rate == nil {
		return nil
	}
	return t.Rate.Validate()
}

// Validate says which rule of a shared secret is broken, as Tenant.Validate does.
func (s Secret) Validate() error {
	if s == "" || len(s) > maxSecret {
		return fmt.Errorf("a secret is empty or longer than %d bytes: use one as long as a good password at least", maxSecret)
	}
	return nil
}

// MinSecret is how many bytes a new secret has at least. Those that are stored, or in the Caddyfile, may be shorter.
const MinSecret = 16

// ValidateNew says that a secret which is none of those before is too short to withstand guessing.
func (s Secret) ValidateNew(before ...Secret) error {
	if s == "" || len(s) >= MinSecret || slices.Contains(before, s) {
		return nil
	}
	return fmt.Errorf("a secret is shorter than %d bytes: use a random one, such as the output of openssl rand -base64 32", MinSecret)
}

// Validate says which rule of an integration is broken, as Tenant.Validate does. Whether its URL may be called is up
// to egress.
func (i *Integration) Validate() error {
	if err := ValidateIntegrationName(i.Name); err != nil {
		return err
	}
	switch {
	case i.URL == "" || i.Secret == "":
		return errors.New("url and secret are needed: where exports go, and what they are signed with")
	case len(i.URL) > maxURL:
		return errors.New("the URL is longer than 2 KiB: shorten it")
	}
	if err := i.Options.Validate(); err != nil {
		return err
	}
	if err := i.Secret.Validate(); err != nil {
		return err
	}
	if i.FormerSecret != "" {
		if err := i.FormerSecret.Validate(); err != nil {
			return err
		}
		if i.FormerSecret == i.Secret {
			return errors.New("the former secret is the secret itself: leave it out, or write the one before it")
		}
	}
	if i.Authentication != nil {
		if err := i.Authentication.Validate(); err != nil {
			return fmt.Errorf("authentication: %w", err)
		}
		if i.Authentication.TLS != nil && !strings.HasPrefix(strings.ToLower(i.URL), "https:") {
			return errors.New("authentication: tls needs an https URL: write one, or leave tls out")
		}
	}
	return nil
}

// ParseInvalid reads what becomes of exports that break the schema: whether they go into quarantine. Without a word
// they are refused.
func ParseInvalid(s string) (quarantine bool, err error) {
	switch s {
	case "", "refuse":
		return false, nil
	case "quarantine":
		return true, nil
	}
	return false, fmt.Errorf("invalid %q is unknown: write refuse or quarantine", s)
}
