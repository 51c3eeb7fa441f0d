package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// ApplyUpstream is the Apply API of a service that a tenant's applications are relayed to.
type ApplyUpstream struct {
	URL      string // the contract's {apply_url}
	User     string
	Password Secret
	Source   string        // of applications that name none
	Wait     time.Duration // how long a partner's site waits for the service's own answer
	TryFor   time.Duration // how long a submission is sent again
	Keep     time.Duration // how long the content of a delivered submission is kept
	Rate     Rate          // of what is sent to the service, by each node
	Feed     string        // the address of the service's job feed, which has the jobs' titles; empty: they have none
}

// What an upstream is set to where nothing else is said, and between what it can be.
const (
	DefaultUpstreamWait = 5 * time.Second
	DefaultTryFor       = 7 * 24 * time.Hour
	DefaultKeep         = 7 * 24 * time.Hour

	maxUpstreamWait = 30 * time.Second
	minTryFor       = time.Hour
	maxTryFor       = 14 * 24 * time.Hour // our Apply API keeps the keys of repeats a day longer
	maxKeep         = 90 * 24 * time.Hour
	maxSource       = 255 // characters
)

// DefaultUpstreamRate limits what is sent to a service.
var DefaultUpstreamRate = Rate{PerSecond: 5, Burst: 10}

// storedUpstream is an upstream with its password, as it is stored.
type storedUpstream struct {
	*ApplyUpstream
	Password string
}

// Format returns the upstream with its password, as it is stored and sealed.
func (u *ApplyUpstream) Format() []byte {
	raw, _ := json.Marshal(storedUpstream{u, u.Password.Reveal()}) // of strings and numbers: can't fail
	return raw
}

// ParseApplyUpstream reads what Format wrote.
func ParseApplyUpstream(raw []byte) (*ApplyUpstream, error) {
	kept := storedUpstream{ApplyUpstream: new(ApplyUpstream)}
	err := json.Unmarshal(raw, &kept)
	kept.ApplyUpstream.Password = Secret(kept.Password)
	return kept.ApplyUpstream, err
}

// DamagedUpstream stands for an upstream whose row was damaged: what is for it waits until it is set again.
func DamagedUpstream() *ApplyUpstream {
	return &ApplyUpstream{TryFor: DefaultTryFor, Keep: DefaultKeep, Rate: DefaultUpstreamRate}
}

// Damaged reports whether nobody knows any more where the service is.
func (u *ApplyUpstream) Damaged() bool { return u.URL == "" }

// Validate says which rule of an upstream is broken, as Tenant.Validate does. Whether its URL may be called is up to
// egress.
func (u *ApplyUpstream) Validate() error {
	switch {
	case u.URL == "" || u.User == "" || u.Password == "":
		return errors.New("apply_upstream needs an address, user and password: where applications go, and who sends them")
	case len(u.URL) > maxURL, len(u.Feed) > maxURL:
		return errors.New("the URL is longer than 2 KiB: shorten it")
	case len(u.User) > maxCredential:
		return errors.New("user is longer than 4 KiB: shorten it")
	case utf8.RuneCountInString(u.Source) > maxSource:
		return fmt.Errorf("source is longer than %d characters: shorten it", maxSource)
	case u.Wait < 0 || u.Wait > maxUpstreamWait:
		return errors.New("wait is how long a partner's site waits for the service's answer: write 0s to 30s, such as 5s")
	case u.TryFor < minTryFor || u.TryFor > maxTryFor:
		return errors.New("try_for is how long an application is sent again while the service is away: write 1h to 14d, such as 7d")
	case u.Keep < 0 || u.Keep > maxKeep:
		return errors.New("keep is how long the content of a delivered application is kept: write 0d to 90d, such as 30d")
	}
	if err := u.Password.Validate(); err != nil {
		return err
	}
	return u.Rate.Validate()
}
