package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What a body may hold at most, beside its Limits. The contract's own bodies are 9 levels deep and hold no numbers at all, but a sender
// may add properties.
const (
	maxDepth    = 32  // arrays and objects within each other
	maxNumber   = 64  // characters of one number
	maxExponent = 308 // of one number, in either direction
)

// GuardError says why a body was refused before anyone looked at its meaning.
type GuardError struct {
	Reason string // a sentence for people, without anything from the body
	Offset int64  // bytes from the start of the body, at or before the fault
}

func (e *GuardError) Error() string {
	return fmt.Sprintf("guarding json at byte %d: %s", e.Offset, e.Reason)
}

// Guard reads a JSON text as RFC 7493 (I-JSON) has it: UTF-8 without a byte order mark, no lone surrogates, no name
// twice in an object, nothing after the document; and within the limits on depth and numbers above, and Most. The error
// is a *GuardError.
func Guard(body []byte) (*Document, error) { return Most.Guard(body) }

// Guard reads a JSON text as the function Guard does, within these limits.
func (l Limits) Guard(body []byte) (*Document, error) {
	if bytes.HasPrefix(body, []byte("\ufeff")) {
		return nil, refuse(0, "The body begins with a byte order mark; send UTF-8 without one.")
	}
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return nil, refuse(0, "The body is empty; send a JSON document.")
	}
	r := &reader{limits: l, dec: jsontext.NewDecoder(bytes.NewBuffer(body)), doc: new(Document)}
	var err error
	if r.doc.Value, err = r.value(atRoot, 0); err != nil {
		return nil, refusal(err, body)
	}
	end := r.dec.InputOffset()
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, refuse(end, "Something follows the JSON document; send one document and nothing else.")
	}
	return r.doc, nil
}

// reader is one pass over a body. The decoder checks grammar, encoding and names; the rest is checked here.
type reader struct {
	limits   Limits
	dec      *jsontext.Decoder
	unquoted []byte // scratch memory for strings
	values   int
	doc      *Document
	current  Attachment // the attachment object that is open
	hasURL   bool       // whether its url, a string, was seen
}

// value reads the next value, which lies at p. index is its place if it is an element of an array.
func (r *reader) value(p place, index int) (any, error) {
	if r.values++; r.values > r.limits.Values {
		return nil, r.refuse(r.limits.tooManyValues())
	}
	if p == atAttachmentDocument {
		r.current.HasDocument = true
	}
	switch r.dec.PeekKind() {
	case jsontext.KindBeginObject:
		return r.object(p, index)
	case jsontext.KindBeginArray:
		return r.array(p)
	case jsontext.KindString:
		s, start, end, err := r.str()
		if err != nil {
			return nil, err
		}
		r.record(p, s, start, end)
		return s, nil
	case jsontext.KindNumber:
		return r.number()
	}
	t, err := r.dec.ReadToken()
	switch {
	case err != nil:
		return nil, err
	case t.Kind() == jsontext.KindNull:
		return nil, nil
	}
	return t.Bool(), nil
}

func (r *reader) object(p place, index int) (any, error) {
	if err := r.open(); err != nil {
		return nil, err
	}
	r.enter(p, index)
	object := make(map[string]any)
	for r.dec.PeekKind() == jsontext.KindString {
		name, _, _, err := r.str()
		if err != nil {
			return nil, err
		}
		member, err := r.value(p.member(name), 0)
		if err != nil {
			return nil, err
		}
		if member == nil { // null counts as absent
			r.doc.noteNull(object, name)
			continue
		}
		object[name] = member
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	r.leave(p)
	return object, nil
}

func (r *reader) array(p place) (any, error) {
	if err := r.open(); err != nil {
		return nil, err
	}
	array := []any{}
	for kind := r.dec.PeekKind(); kind != jsontext.KindEndArray && kind != jsontext.KindInvalid; kind = r.dec.PeekKind() {
		if len(array) == r.limits.Items {
			return nil, r.refuse(r.limits.tooManyItems())
		}
		if p == atAttachments {
			r.doc.AttachmentCount++
		}
		element, err := r.value(p.element(), len(array))
		if err != nil {
			return nil, err
		}
		array = append(array, element)
	}
	_, err := r.dec.ReadToken()
	return array, err
}

// open reads the start of an array or object.
func (r *reader) open() error {
	if r.dec.StackDepth() == maxDepth {
		return r.refuse("The body is nested more than 32 levels deep; send a flatter document.")
	}
	_, err := r.dec.ReadToken()
	return err
}

// str reads a string or name, with where its token begins and ends.
func (r *reader) str() (s string, start, end int, err error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return "", 0, 0, err
	}
	end = int(r.dec.InputOffset())
	r.unquoted, err = jsontext.AppendUnquote(r.unquoted[:0], raw)
	return string(r.unquoted), end - len(raw), end, err
}

func (r *reader) number() (any, error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	start := r.dec.InputOffset() - int64(len(raw))
	if len(raw) > maxNumber {
		return nil, refuse(start, "A number is longer than 64 characters; send long numbers as strings.")
	}
	if exponent(raw) > maxExponent {
		return nil, refuse(start, "A number has an exponent beyond 308; send such numbers as strings.")
	}
	if _, err := strconv.ParseFloat(string(raw), 64); err != nil { // 9.99e308
		return nil, refuse(start, "A number is larger than a double can be, 1.8e308; send such numbers as strings.")
	}
	return json.Number(raw), nil
}

// exponent returns the absolute value of a JSON number's exponent; anything above maxExponent means "too much".
func exponent(number []byte) int {
	e := bytes.IndexAny(number, "eE")
	if e < 0 {
		return 0
	}
	n := 0
	for _, c := range number[e+1:] {
		if c == '+' || c == '-' {
			continue
		}
		if n = n*10 + int(c-'0'); n > maxExponent {
			break
		}
	}
	return n
}

func refuse(offset int64, reason string) error { return &GuardError{Reason: reason, Offset: offset} }

func (r *reader) refuse(reason string) error { return refuse(r.dec.InputOffset(), reason) }

// refusal turns an error of the decoder, which quotes the body, into one that does not.
func refusal(err error, body []byte) error {
	if refused, ok := errors.AsType[*GuardError](err); ok {
		return refused
	}
	offset := int64(len(body)) // of io.ErrUnexpectedEOF
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = syntax.ByteOffset
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return refuse(offset, "An object has the same name twice; send each name once.")
	case !utf8.Valid(body):
		return refuse(offset, "The body is not valid UTF-8; encode it as UTF-8.")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(offset, "The body ends in the middle of the JSON document; send all of it.")
	}
	return refuse(offset, "The body is not valid JSON (RFC 8259, and no lone surrogates).")
}
