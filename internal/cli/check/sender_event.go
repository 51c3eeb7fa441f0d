package check

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/cli/signature"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// event is a request of a service, and how it was answered. Of the candidate it has no more than where the documents are.
type event struct {
	number  int // from 1
	at      time.Time
	kind    string // webhook.EventVerify or webhook.EventExport; empty: it is neither
	address string // what is wrong with method and address; empty: nothing
	header  http.Header
	uuid    string
	sum     [sha256.Size]byte
	size    int

	malformed string // what is wrong with the form of the signature; empty: nothing
	forged    string // what is wrong with a signature whose form is right; empty: nothing

	unreadable         string // why the body can't be read; empty: it can
	faults, deviations []schemas.Finding
	misspelled         []schemas.Finding
	unattached         bool // the candidate has no job application
	documents          []*document

	status int
	hungUp bool // the service did not wait for the answer
}

// String implements fmt.Stringer.
func (e *event) String() string {
	return fmt.Sprintf("event %d, %s", e.number, cmp.Or(e.kind, "neither VERIFY nor CANDIDATE-EXPORT"))
}

func (e *event) acknowledged() bool {
	return e.kind == webhook.EventExport && e.status/100 == 2 && !e.hungUp
}

// sameExport reports whether two events are of one export: by their UUID or, where there is none, by their body.
func (e *event) sameExport(o *event) bool {
	return e.kind == webhook.EventExport && e.kind == o.kind && e.uuid == o.uuid && (e.uuid != "" || e.sum == o.sum)
}

// read reads an event.
func (p *playedReceiver) read(r *http.Request, body []byte) *event {
	e := &event{at: time.Now(), header: r.Header, uuid: r.Header.Get(p.names.UUID), sum: sha256.Sum256(body), size: len(body)}
	switch {
	case r.Method != http.MethodPost:
		e.address = "the method " + r.Method
	case !strings.HasSuffix(r.URL.Path, senderPath):
		e.address = "another path"
	case r.URL.RawQuery != senderQuery:
		e.address = "another query"
	}
	if said := r.Header.Get(p.names.Event); said == webhook.EventVerify || said == webhook.EventExport {
		e.kind = said
	}
	p.readSignature(e, body)
	p.readBody(e, body)
	return e
}

var hexDigits = regexp.MustCompile(`^[0-9A-Fa-f]{64}$`)

// It takes a while to explain a wrong signature, so that many, and those of large bodies, are not explained.
const (
	mostExplained = 5
	mostOfBody    = 256 << 10 // bytes
)

func (p *playedReceiver) readSignature(e *event, body []byte) {
	given := e.header.Get(p.names.Signature)
	if webhook.Verify(given, body, p.secret) {
		return
	}
	mistake := ""
	if given != "" && len(body) <= mostOfBody && p.explained.Add(1) <= mostExplained {
		mistake = signature.Mistake(given, body, p.secret, p.names.VerifyBody())
	}
	switch {
	case given == "":
		e.malformed = "no header " + p.names.Signature + p.otherName(e.header)
	case !hexDigits.MatchString(given):
		e.malformed = cmp.Or(mistake, fmt.Sprintf("%d characters", len(given)))
	default:
		e.forged = "the signature of other bytes, or with another secret"
		if mistake != "" {
			e.forged = "a signature that matches with this difference: " + mistake
		}
	}
}

var namedHeader = regexp.MustCompile(`(?i)^X-(.+)-(?:Event|Signature)$`)

// otherName says which maker's name the headers have, if it is another one.
func (p *playedReceiver) otherName(header http.Header) string {
	for name := range header {
		if found := namedHeader.FindStringSubmatch(name); found != nil && !strings.EqualFold(found[1], p.names.Service) {
			return "; there is " + name + " (--service-name says the maker's name)"
		}
	}
	return ""
}

// mostAttachments is how many documents an export may have before it is not looked at any further.
const mostAttachments = 500

func (p *playedReceiver) readBody(e *event, body []byte) {
	if coding := e.header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		e.unreadable = "Content-Encoding: " + coding
		return
	}
	doc, err := schemas.Guard(body)
	if refused, ok := errors.AsType[*schemas.GuardError](err); ok {
		e.unreadable = fmt.Sprintf("at byte %d: %s", refused.Offset, refused.Reason)
		return
	}
	members, _ := doc.Value.(map[string]any)
	_, exports := members["candidate"]
	_, verifies := members["data"]
	switch { // the header may have failed to say so
	case e.kind == "" && exports:
		e.kind = webhook.EventExport
	case e.kind == "" && verifies:
		e.kind = webhook.EventVerify
	}
	if e.kind != webhook.EventExport {
		e.faults = p.validator.Verification(doc)
		return
	}
	if e.faults = doc.CheckAttachments(mostAttachments); e.faults == nil {
		e.faults, e.deviations = p.validator.Received(doc)
	}
	e.misspelled = doc.Misspelled()
	candidate, there := members["candidate"].(map[string]any)
	profiles, _ := candidate["profiles"].([]any)
	e.unattached = there && len(profiles) == 0
	for _, a := range doc.Attachments {
		e.documents = append(e.documents, &document{url: a.URL, at: e.at,
			place: fmt.Sprintf("/candidate/profiles/%d/attachments/%d", a.Profile, a.Index)})
	}
}

// described are findings in words: the first of them, and how many more there are.
func described(findings []schemas.Finding) string {
	const most = 3
	var all []string
	for _, f := range findings[:min(most, len(findings))] {
		all = append(all, fmt.Sprintf("%s: %s, found: %s", cmp.Or(f.Pointer, "the body"), f.Rule, f.Found))
	}
	if more := len(findings) - most; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}
