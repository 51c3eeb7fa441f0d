package schemas

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Document is a JSON text that passed the guard. It shares no memory with the body.
type Document struct {
	// Value is the decoded text: map[string]any, []any, string, bool, json.Number or nil. Members of objects whose
	// value is null are left out, since null counts as absent; elements of arrays are not.
	Value any
	// Attachments has the attachments of all profiles whose url is a string, in the order of the body.
	Attachments []Attachment
	// AttachmentCount counts the elements of all profiles' attachments, of any kind.
	AttachmentCount int
	// CandidateID is the string at /candidate/person/id/value, empty if there is none. It is any Unicode text, U+0000
	// included.
	CandidateID string

	nulls map[uintptr][]string // the members that were left out, by the object
}

func (d *Document) noteNull(object map[string]any, name string) {
	if d.nulls == nil {
		d.nulls = map[uintptr][]string{}
	}
	at := reflect.ValueOf(object).Pointer()
	d.nulls[at] = append(d.nulls[at], name)
}

// isNull reports whether a member of an object in Value is null, rather than absent.
func (d *Document) isNull(object any, name string) bool {
	of, ok := object.(map[string]any)
	return ok && slices.Contains(d.nulls[reflect.ValueOf(of).Pointer()], name)
}

// CheckAttachments returns a finding if the document has more than so many attachments. Ask it before
// Validator.Export, which takes long for many.
func (d *Document) CheckAttachments(most int) []Finding {
	if d.AttachmentCount <= most {
		return nil
	}
	return []Finding{{Pointer: "/candidate/profiles", Rule: fmt.Sprintf("at most %d attachments", most),
		Found: fmt.Sprintf("%d attachments", d.AttachmentCount)}}
}

// Attachment is an element of /candidate/profiles/*/attachments (contract, part B).
type Attachment struct {
	URL            string
	Start, End     int    // the url's token in the body, with its quotes: body[Start:End]
	ID             string // the value of the attachment's id, empty if there is none
	HasDocument    bool   // it has a member document already
	Profile, Index int    // which attachment of which profile, both from 0
}

// Rewrite returns a copy of body, which must be the one the Document was read from, in which urls[i] stands in place of
// the URL of Attachments[i]. Where urls[i] is empty or missing the URL stays. All other bytes are as they were.
func (d *Document) Rewrite(body []byte, urls []string) []byte {
	size := len(body)
	for _, u := range urls {
		size += len(u)
	}
	out := bytes.NewBuffer(make([]byte, 0, size))
	_ = d.RewriteTo(out, body, urls, nil) // a buffer takes everything
	return out.Bytes()
}

// RewriteTo writes to w what Rewrite returns, piece by piece. Behind the URL of Attachments[i] it calls behind, if
// there is one, which may write further members there. Its errors are those of w and of behind.
func (d *Document) RewriteTo(w io.Writer, body []byte, urls []string, behind func(i int) error) error {
	copied := 0
	var quoted []byte
	for i, a := range d.Attachments {
		if i < len(urls) && urls[i] != "" {
			// The error is about bad UTF-8, which AppendQuote has then replaced.
			quoted, _ = jsontext.AppendQuote(quoted[:0], urls[i])
			if _, err := w.Write(body[copied:a.Start]); err != nil {
				return err
			}
			if _, err := w.Write(quoted); err != nil {
				return err
			}
			copied = a.End
		}
		if behind == nil {
			continue
		}
		if _, err := w.Write(body[copied:a.End]); err != nil {
			return err
		}
		copied = a.End
		if err := behind(i); err != nil {
			return err
		}
	}
	_, err := w.Write(body[copied:])
	return err
}

// place is the position of the reader in the body: on the way to an attachment's url, to the candidate's id, or
// elsewhere.
type place int8

const (
	elsewhere place = iota
	atRoot
	atCandidate
	atPerson
	atPersonID
	atPersonIDValue
	atProfiles
	atProfile
	atAttachments
	atAttachment
	atAttachmentID
	atAttachmentIDValue
	atAttachmentURL
	atAttachmentDocument
)

// member returns the place of an object's member.
func (p place) member(name string) place {
	switch {
	case p == elsewhere:
		return elsewhere
	case p == atRoot && name == "candidate":
		return atCandidate
	case p == atCandidate && name == "person":
		return atPerson
	case p == atPerson && name == "id":
		return atPersonID
	case p == atPersonID && name == "value":
		return atPersonIDValue
	case p == atCandidate && name == "profiles":
		return atProfiles
	case p == atProfile && name == "attachments":
		return atAttachments
	case p == atAttachment && name == "id":
		return atAttachmentID
	case p == atAttachmentID && name == "value":
		return atAttachmentIDValue
	case p == atAttachment && name == "url":
		return atAttachmentURL
	case p == atAttachment && name == "document":
		return atAttachmentDocument
	}
	return elsewhere
}

// element returns the place of an array's elements.
func (p place) element() place {
	switch p {
	case atProfiles:
		return atProfile
	case atAttachments:
		return atAttachment
	}
	return elsewhere
}

// enter notes that an object begins at p.
func (r *reader) enter(p place, index int) {
	switch p {
	case atProfile:
		r.current.Profile = index
	case atAttachment:
		r.current = Attachment{Profile: r.current.Profile, Index: index}
		r.hasURL = false
	}
}

// record notes the string s at p, whose token is body[start:end].
func (r *reader) record(p place, s string, start, end int) {
	switch p {
	case atPersonIDValue:
		r.doc.CandidateID = s
	case atAttachmentIDValue:
		r.current.ID = s
	case atAttachmentURL:
		r.current.URL, r.current.Start, r.current.End = s, start, end
		r.hasURL = true
	}
}

// leave notes that the object at p has ended.
func (r *reader) leave(p place) {
	if p != atAttachment || !r.hasURL {
		return
	}
	r.doc.Attachments = append(r.doc.Attachments, r.current)
}
