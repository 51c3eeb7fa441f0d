package receiver

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// TenantFrom names the part of the URL that holds the tenant's identifier (contract, part B: "as a path segment or a
// query parameter").
type TenantFrom struct {
	Segment *int   `json:"path,omitempty"` // index of the path segment, the first one being 0
	Query   string `json:"query,omitempty"`
}

const maxSegment = 32

// ParseTenantFrom reads the arguments of tenant_from: path N, or query NAME.
func ParseTenantFrom(args []string) (t TenantFrom, err error) {
	if len(args) != 2 {
		return t, errors.New("tenant_from takes two words: path N, where 0 is the first segment, or query NAME")
	}
	switch args[0] {
	case "path":
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 0 || n > maxSegment {
			return t, fmt.Errorf(
				"tenant_from path %q: give the number of a path segment, 0 being the first: with /hooks/acme, 1 is acme", args[1])
		}
		t.Segment = &n
	case "query":
		if args[1] == "" {
			return t, fmt.Errorf("tenant_from query: give the name of a query parameter, such as client")
		}
		t.Query = args[1]
	default:
		return t, fmt.Errorf("tenant_from %q is unknown: write path N or query NAME", args[0])
	}
	return t, nil
}

// Validate returns what is wrong, or nil.
func (t TenantFrom) Validate() error {
	switch {
	case t.Segment == nil && t.Query == "":
		return errors.New("export_receiver does not know its tenants: add `tenant_from path N` or `tenant_from query NAME`")
	case t.Segment != nil && t.Query != "":
		return errors.New(
			"export_receiver takes the tenant from a path segment or from a query parameter, not from both: keep one")
	case t.Segment != nil && (*t.Segment < 0 || *t.Segment > maxSegment):
		return fmt.Errorf(
			"tenant_from path %d: give the number of a path segment, 0 being the first: with /hooks/acme, 1 is acme", *t.Segment)
	}
	return nil
}

func (t TenantFrom) of(r *http.Request) string {
	if t.Segment == nil {
		return parameter(r.URL.RawQuery, t.Query)
	}
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if *t.Segment >= len(segments) {
		return ""
	}
	return segments[*t.Segment]
}

// last reports whether the identifier is the last segment of the path: then /receipts/acme is a hook, not a receipt.
func (t TenantFrom) last(r *http.Request) bool {
	return t.Segment != nil && *t.Segment == strings.Count(strings.TrimPrefix(r.URL.Path, "/"), "/")
}

// parameter returns the value of a query parameter; empty unless it occurs exactly once and can be decoded. The others
// need not be decodable. url.ParseQuery drops what it can't decode, and so would hide a second occurrence.
func parameter(query, name string) (value string) {
	for pair := range strings.SplitSeq(query, "&") {
		key, raw, _ := strings.Cut(pair, "=")
		if key, err := url.QueryUnescape(key); err != nil || key != name {
			continue
		}
		one, err := url.QueryUnescape(raw)
		if err != nil || one == "" || value != "" {
			return ""
		}
		value = one
	}
	return value
}
