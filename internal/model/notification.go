package model

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Event is something that operators are notified of.
type Event string

// The events, in the order they are shown.
const (
	IntegrationFailing   Event = "integration.failing"   // it received nothing in several attempts
	IntegrationRefusing  Event = "integration.refusing"  // it answers, and refuses what it gets for its data
	IntegrationRecovered Event = "integration.recovered" // the first export after that
	IntegrationDisabled  Event = "integration.disabled"  // by its partner (410) or by an operator
	IntegrationHeld      Event = "integration.held"      // exports wait until it is configured
	ExportsFailed        Event = "exports.failed"        // deliveries ended without being received
	ExportsQuarantined   Event = "exports.quarantined"   // exports break the schema, and wait for a person
	DocumentsLost        Event = "documents.lost"        // documents could not be fetched before their URLs ended
)

// Events are all events.
var Events = []Event{IntegrationFailing, IntegrationRefusing, IntegrationRecovered, IntegrationDisabled, IntegrationHeld,
	ExportsFailed, ExportsQuarantined, DocumentsLost}

// ParseEvents reads the names of events; without any, they are all.
func ParseEvents(names []string) ([]Event, error) {
	var events []Event
	for _, name := range names {
		if !slices.Contains(Events, Event(name)) {
			return nil, fmt.Errorf("the event %q is unknown: write some of %s, or leave events out for all of "+
				"them", name, eventNames())
		}
		if slices.Contains(events, Event(name)) {
			return nil, fmt.Errorf("the event %s is there twice: write it once", name)
		}
		events = append(events, Event(name))
	}
	return events, nil
}

func eventNames() string {
	names := make([]string, len(Events))
	for n, event := range Events {
		names[n] = string(event)
	}
	return strings.Join(names, ", ")
}

// Subscriber is an address that is notified of events.
type Subscriber struct {
	Tenant       string // whose events it is notified of; empty: those of all tenants
	URL          string
	Secret       Secret // signs the notifications
	FormerSecret Secret // signs them as well, during a rotation; empty: there is none
	Events       []Event
	Labels       Labels // of the tenants whose events it is notified of; empty: those of any
}

// Wants reports whether the subscriber is notified of an event of a tenant with labels.
func (s *Subscriber) Wants(event Event, tenant string, labels Labels) bool {
	return (s.Tenant == "" || s.Tenant == tenant) && (len(s.Events) == 0 || slices.Contains(s.Events, event)) && labels.Has(s.Labels)
}

// ID identifies the subscriber in the database: by its tenant and its URL, which may be a credential and is not stored.
func (s *Subscriber) ID() string {
	sum := sha256.Sum256([]byte(s.Tenant + " " + s.URL)) // no tenant's name has a space
	return hex.EncodeToString(sum[:16])
}

// Validate says which rule of a subscriber is broken, as Tenant.Validate does. Whether its URL may be called is up to
// egress.
func (s *Subscriber) Validate() error {
	switch {
	case s.URL == "" || s.Secret == "":
		return errors.New("notify needs a URL and a secret: where notifications go, and what they are signed with")
	case len(s.URL) > maxURL:
		return errors.New("the URL is longer than 2 KiB: shorten it")
	case s.FormerSecret == s.Secret:
		return errors.New("the former secret is the secret itself: leave it out, or write the one before it")
	}
	if err := s.Secret.Validate(); err != nil {
		return err
	}
	if s.FormerSecret == "" {
		return nil
	}
	return s.FormerSecret.Validate()
}

// Notification is an event on its way to a subscriber, or the end of a session on its way to an application.
type Notification struct {
	ID          int64
	Message     string // the webhook-id: the same in every attempt
	Subscriber  string // its ID; of the end of a session: our issuer
	Client      string // the application that is told of the end of a session; empty: it is an event
	Event       Event
	Tenant      string
	Integration string // empty: the event is about none
	Body        []byte
	Attempts    int
	CreatedAt   time.Time
	NextAt      time.Time
	Till        time.Time // when it is given up
}
