package model

import (
	"cmp"
	"fmt"
)

// Options are the settings of an integration beside its URL and its secrets. The management API shows and takes them as they
// stand here.
type Options struct {
	Documents DocumentMode `json:"documents" schema:"optional"`
	// adds the signature headers of the Standard Webhooks specification to the contract's
	StandardWebhooks bool `json:"standardWebhooks" schema:"optional"`
	// sends the trace of each attempt in the header traceparent (W3C Trace Context)
	Traceparent bool `json:"traceparent,omitzero"`
	// how many attempts may be under way at once; left out: 16
	InFlight int   `json:"inFlight" schema:"optional minimum=1 maximum=1000"`
	Rate     *Rate `json:"rate,omitzero"` // of attempts, of each node; null or left out: there is no limit
	// the gaps between attempts, such as 30s, 5m, 1h; the last one repeats; left out: the default schedule
	Retry Schedule `json:"retry,omitempty"`
}

const (
	// DefaultInFlight is the cap of attempts in flight to one integration, so that a hanging partner can't take the slots
	// of others.
	DefaultInFlight = 16
	// MaxInFlight is the most attempts that may be under way at once to an integration.
	MaxInFlight = 1000
)

// WithDefaults returns the options with the defaults of what they leave out.
func (o Options) WithDefaults() Options {
	o.Documents, o.InFlight = cmp.Or(o.Documents, Rehost), cmp.Or(o.InFlight, DefaultInFlight)
	return o
}

// AtOnce returns how many attempts may be under way at once.
func (o Options) AtOnce() int {
	if o.InFlight <= 0 {
		return DefaultInFlight
	}
	return o.InFlight
}

// Validate says which rule of an integration's options is broken, as Tenant.Validate does.
func (o Options) Validate() error {
	if err := ValidateInFlight(o.InFlight); err != nil {
		return err
	}
	if o.Rate != nil {
		if err := o.Rate.Validate(); err != nil {
			return err
		}
	}
	_, err := ParseDocumentMode(string(o.Documents))
	return err
}

// ValidateInFlight says how many attempts may be in flight to an integration, where n is not such a number.
func ValidateInFlight(n int) error {
	if n < 1 || n > MaxInFlight {
		return fmt.Errorf("in_flight (inFlight) is how many attempts may be under way at once: write a number from 1 to %d",
			MaxInFlight)
	}
	return nil
}

// DocumentMode says how an export's documents reach an integration.
type DocumentMode string

// The document modes of an integration.
const (
	Rehost      DocumentMode = "rehost"      // attachment URLs are rewritten to ours; every other byte of the body stays
	Passthrough DocumentMode = "passthrough" // the raw body, waiting for nothing
	Inline      DocumentMode = "inline"      // as Rehost, and each document in the body beside its URL
)

// DocumentModes are all document modes, the default first.
var DocumentModes = []DocumentMode{Rehost, Passthrough, Inline}

// ParseDocumentMode reads a mode as it is written in a Caddyfile.
func ParseDocumentMode(s string) (DocumentMode, error) {
	switch m := DocumentMode(s); m {
	case Rehost, Passthrough, Inline:
		return m, nil
	}
	return "", fmt.Errorf("document mode %q is unknown: use %s, %s or %s", s, Rehost, Passthrough, Inline)
}
