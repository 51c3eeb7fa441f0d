package model

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// SigningKeys are the keys of all inbound secrets, those that have ended among them.
func (t *Tenant) SigningKeys() []string {
	keys := make([]string, len(t.Secrets))
	for n, s := range t.Secrets {
		keys[n] = s.Reveal()
	}
	return keys
}

// SigningKeysAt are the keys of the inbound secrets that are valid at a time. The key of one that has ended is empty, so
// that the others keep their numbers.
func (t *Tenant) SigningKeysAt(now time.Time) []string {
	keys := t.SigningKeys()
	for n, s := range t.Secrets {
		if t.ended(s, now) {
			keys[n] = ""
		}
	}
	return keys
}

func (t *Tenant) ended(s Secret, now time.Time) bool {
	end, ends := t.SecretEnds[s]
	return ends && !now.Before(end)
}

// WithSecretEnd returns the tenant with an end for one of its secrets; zero: it does not end.
func (t *Tenant) WithSecretEnd(s Secret, end time.Time) *Tenant {
	next := *t
	next.SecretEnds = maps.Clone(t.SecretEnds)
	if end.IsZero() {
		delete(next.SecretEnds, s)
		return &next
	}
	if next.SecretEnds == nil {
		next.SecretEnds = map[Secret]time.Time{}
	}
	next.SecretEnds[s] = end
	return &next
}

// WithoutEnded returns the tenant without the secrets that have ended.
func (t *Tenant) WithoutEnded(now time.Time) *Tenant {
	next := *t
	next.Secrets = slices.DeleteFunc(slices.Clone(t.Secrets), func(s Secret) bool { return t.ended(s, now) })
	return &next
}

// maxSecretEnd is for how long an inbound secret may be planned to go on: a typing error in a year is none.
const maxSecretEnd = 2 * 365 * 24 * time.Hour

// ValidateSecretEnd says what is wrong with the time at which an inbound secret ends, or nil. Zero: it does not end.
func ValidateSecretEnd(end, now time.Time) error {
	if !end.IsZero() && (!end.After(now) || end.Sub(now) > maxSecretEnd) {
		return errors.New("endsAt is in the past, or more than two years away: name a time to come, or delete the secret to end it now")
	}
	return nil
}

// FormatSecretEnds writes when the inbound secrets of a tenant end, without the secrets; empty: none does.
func (t *Tenant) FormatSecretEnds() string {
	ends := map[string]time.Time{}
	for _, s := range t.Secrets {
		if end, ok := t.SecretEnds[s]; ok {
			ends[base64.StdEncoding.EncodeToString(s.Fingerprint(t.Name))] = end.UTC()
		}
	}
	if len(ends) == 0 {
		return ""
	}
	raw, _ := json.Marshal(ends) // of strings and times alone
	return string(raw)
}

// ParseSecretEnds reads what FormatSecretEnds has written. The tenant has its name and its secrets.
func (t *Tenant) ParseSecretEnds(raw string) error {
	if raw == "" {
		return nil
	}
	var ends map[string]time.Time
	if err := json.Unmarshal([]byte(raw), &ends); err != nil {
		return err
	}
	t.SecretEnds = map[Secret]time.Time{}
	for _, s := range t.Secrets {
		if end, ok := ends[base64.StdEncoding.EncodeToString(s.Fingerprint(t.Name))]; ok {
			t.SecretEnds[s] = end
		}
	}
	return nil
}

// SecretsEndingUsed returns the inbound secrets of a tenant that end within some time and are still used: the requests that
// are signed with them will be refused then. uses are when its secrets were last used, in their order.
func (t *Tenant) SecretsEndingUsed(uses []time.Time, now time.Time, within time.Duration) (numbers []int) {
	var others time.Time // the last use of a secret that goes on
	for n, s := range t.Secrets {
		if _, ends := t.SecretEnds[s]; !ends && uses[n].After(others) {
			others = uses[n]
		}
	}
	for n, s := range t.Secrets {
		end, ends := t.SecretEnds[s]
		lately := now.Sub(uses[n]) < 24*time.Hour || uses[n].After(others)
		if ends && end.After(now) && end.Sub(now) <= within && !uses[n].IsZero() && lately {
			numbers = append(numbers, n+1)
		}
	}
	return numbers
}
