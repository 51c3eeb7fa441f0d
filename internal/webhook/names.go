// Package webhook is the candidate export webhook of the contract (part B): its header and event names, its signature,
// and the sending of one delivery. Receiver and sender share it, so that what one side writes the other reads.
package webhook

import (
	"fmt"
	"strings"
)

// The values of the event header (contract, "Events").
const (
	EventExport = "CANDIDATE-EXPORT"
	EventVerify = "VERIFY"
)

// LinkHeader names the header that carries the URL of the candidate's profile; the maker's name is not in it. Its value
// is the URL itself, not RFC 8288 form.
const LinkHeader = "Link"

// Names are the identifiers of the contract that carry the maker's name. Header names are spelled as they go onto the
// wire, which for UUID is not Go's canonical form; http.Header.Get finds them all the same.
type Names struct {
	Service       string // the maker's name itself; also the value of every schemeAgencyId
	Signature     string // header: hex HMAC-SHA256 of the body
	Event         string // header: EventExport or EventVerify
	ExportContext string // header: the job of the export, optional
	UUID          string // header: the export's key
	UserAgent     string // value of the User-Agent header
	VerifyText    string // value of "data" in the verification body
}

// NamesFor puts the maker's name where the contract writes Service. The name stands in header names, so it must be an
// HTTP token (RFC 9110 section 5.6.2).
func NamesFor(service string) (Names, error) {
	if service == "" || strings.ContainsFunc(service, func(r rune) bool { return !isTokenRune(r) }) {
		return Names{}, fmt.Errorf("service name %q is not an HTTP token (RFC 9110 section 5.6.2): "+
			"use letters, digits and any of !#$%%&'*+-.^_`|~, without spaces", service)
	}
	prefix := "X-" + service + "-"
	return Names{
		Service:       service,
		Signature:     prefix + "Signature",
		Event:         prefix + "Event",
		ExportContext: prefix + "Export-Context",
		UUID:          prefix + "UUID",
		UserAgent:     service,
		VerifyText:    service + " Verify Event",
	}, nil
}

// VerifyBody returns the body of a VERIFY event, exactly {"data":"Service Verify Event"}. A token has no character that
// JSON would have to escape.
func (n Names) VerifyBody() []byte { return []byte(`{"data":"` + n.VerifyText + `"}`) }

// SchemeID returns the schemeId of an Identifier: SchemeID("Legacy Candidate") is "Service Legacy Candidate".
func (n Names) SchemeID(kind string) string { return n.Service + " " + kind }

func isTokenRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
