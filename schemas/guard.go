package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What a body may hold at most. The contract's own bodies are 9 levels deep and hold no numbers at all, but a sender
// may add properties.
const (
	maxDepth    = 32      // arrays and objects within each other
	maxElements = 10_000  // of one array
	maxValues   = 100_000 // arrays, objects and scalars of the whole body
	maxNumber   = 64      // characters of one number
	maxExponent = 308     // of one number, in either direction
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
// twice in an object, nothing after the document; and within the limits on depth, lengths and numbers above. The error
// is a *GuardError. The body must not change while the Document is in use.
func Guard(body []byte) (*Document, error) { return guard(body, nil, true) }

func guard(body []byte, shapes *shapes, build bool) (*Document, error) {
	r := readers.Get().(*reader)
	r.shapes, r.build = shapes, build
	doc, err := r.read(body)
	r.forget()
	readers.Put(r)
	return doc, err
}

// maxKept is how much scratch memory, in elements or bytes, a waiting reader may hold on to.
const maxKept = 4096

var readers = sync.Pool{New: func() any { return new(reader) }}

// reader is one pass over a body. The decoder checks grammar, encoding and names; the rest is checked here.
type reader struct {
	dec      jsontext.Decoder
	in       bytes.Buffer
	text     string   // the body once more: strings without escapes are slices of it
	unquoted []byte   // scratch for strings with escapes
	elements []any    // scratch: elements of the arrays that are still open
	found    []uint64 // scratch: shapes of the elements of the arrays that are still open
	shapes   *shapes  // nil: the shape is not asked for
	build    bool     // the decoded value is asked for
	values   int
	doc      *Document
	current  Attachment // the attachment object that is open
	hasURL   bool       // whether its url, a string, was seen
}

func (r *reader) read(body []byte) (*Document, error) {
	if bytes.HasPrefix(body, []byte("\ufeff")) {
		return nil, refuse(0, "The body begins with a byte order mark; send UTF-8 without one.")
	}
	r.in = *bytes.NewBuffer(body)
	r.dec.Reset(&r.in)
	r.text = string(body)
	r.doc = new(Document)

	if r.dec.PeekKind() == jsontext.KindInvalid {
		if _, err := r.dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil, refuse(0, "The body is empty; send a JSON document.")
		} else if err != nil {
			return nil, r.explain(err)
		}
	}
	v, shape, _, err := r.value(atRoot, 0)
	if err != nil {
		return nil, r.explain(err)
	}
	end := r.dec.InputOffset()
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, refuse(end, "Something follows the JSON document; send one document and nothing else.")
	}
	r.doc.Value, r.doc.shape = v, shape
	return r.doc, nil
}

// forget drops the body, which is about a candidate, and makes the reader ready for the next one.
func (r *reader) forget() {
	r.in = bytes.Buffer{}
	r.dec.Reset(&r.in)
	r.text, r.doc, r.current, r.hasURL, r.values, r.shapes = "", nil, Attachment{}, false, 0, nil
	clear(r.elements)
	clear(r.unquoted)
	r.elements, r.unquoted, r.found = r.elements[:0], r.unquoted[:0], r.found[:0]
	if cap(r.elements) > maxKept || cap(r.unquoted) > maxKept || cap(r.found) > maxKept {
		r.elements, r.unquoted, r.found = nil, nil, nil
	}
}

// value reads the next value, which lies at p. index is its place if it is an element of an array. It gives the decoded value
// and its shape, as far as they are asked for, and whether it is null.
func (r *reader) value(p place, index int) (v any, shape uint64, null bool, err error) {
	if r.values++; r.values > maxValues {
		return nil, 0, false, r.refuseNext("The body has more than 100,000 values; send less in one document.")
	}
	if p == atAttachmentDocument {
		r.current.HasDocument = true
	}
	kind := shapeNull
	switch r.dec.PeekKind() {
	case jsontext.KindBeginObject:
		v, shape, err = r.object(p, index)
		return v, shape, false, err
	case jsontext.KindBeginArray:
		v, shape, err = r.array(p)
		return v, shape, false, err
	case jsontext.KindString:
		s, start, end, err := r.str()
		if err != nil {
			return nil, 0, false, err
		}
		r.record(p, s, start, end)
		if r.shapes != nil {
			shape = r.shapes.ofString(s)
		}
		if r.build {
			v = s
		}
		return v, shape, false, nil
	case jsontext.KindNumber:
		kind = shapeNumber
		v, err = r.number()
	case jsontext.KindTrue, jsontext.KindFalse, jsontext.KindNull:
		t, err := r.dec.ReadToken()
		if err != nil {
			return nil, 0, false, err
		}
		if null = t.Kind() == jsontext.KindNull; !null {
			kind, v = shapeBool, t.Bool()
		}
	default: // the end of a container where a value should be, or no token at all
		if _, err := r.dec.ReadToken(); err != nil {
			return nil, 0, false, err
		}
		return nil, 0, false, io.ErrUnexpectedEOF
	}
	if r.shapes != nil {
		shape = r.shapes.mix(kind, 0)
	}
	return v, shape, null, err
}

func (r *reader) object(p place, index int) (v any, shape uint64, err error) {
	if err := r.open(); err != nil {
		return nil, 0, err
	}
	r.enter(p, index)
	var object map[string]any
	if r.build {
		object = make(map[string]any)
	}
	for r.dec.PeekKind() == jsontext.KindString {
		name, _, _, err := r.str()
		if err != nil {
			return nil, 0, err
		}
		member, memberShape, null, err := r.value(p.member(name), 0)
		if err != nil {
			return nil, 0, err
		}
		if null { // counts as absent
			continue
		}
		if r.build {
			object[name] = member
		}
		if r.shapes != nil {
			shape += r.shapes.ofMember(name, memberShape)
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, 0, err
	}
	r.leave(p)
	if r.shapes != nil {
		shape = r.shapes.mix(shapeObject, shape)
	}
	if !r.build {
		return nil, shape, nil
	}
	return object, shape, nil
}

func (r *reader) array(p place) (v any, shape uint64, err error) {
	if err := r.open(); err != nil {
		return nil, 0, err
	}
	element := p.element()
	base, shapeBase, n := len(r.elements), len(r.found), 0
	for ; !endOfArray(r.dec.PeekKind()); n++ {
		if n == maxElements {
			return nil, 0, r.refuseNext("An array has more than 10,000 elements; send fewer.")
		}
		one, oneShape, _, err := r.value(element, n)
		if err != nil {
			return nil, 0, err
		}
		if r.build {
			r.elements = append(r.elements, one)
		}
		if r.shapes != nil {
			r.found = append(r.found, oneShape)
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, 0, err
	}
	if r.shapes != nil {
		shape = r.shapes.ofElements(r.found[shapeBase:])
		r.found = r.found[:shapeBase]
	}
	if !r.build {
		return nil, shape, nil
	}
	array := make([]any, len(r.elements)-base)
	copy(array, r.elements[base:])
	clear(r.elements[base:])
	r.elements = r.elements[:base]
	return array, shape, nil
}

func endOfArray(k jsontext.Kind) bool { return k == jsontext.KindEndArray || k == jsontext.KindInvalid }

// open reads the start of an array or object.
func (r *reader) open() error {
	if r.dec.StackDepth() == maxDepth {
		return r.refuseNext("The body is nested more than 32 levels deep; send a flatter document.")
	}
	_, err := r.dec.ReadToken()
	return err
}

// str reads a string or name, with where its token begins and ends. The decoder has checked the token when it hands it
// out, so one without a backslash is a piece of the body, and only one with a backslash is gone through again.
func (r *reader) str() (s string, start, end int, err error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return "", 0, 0, err
	}
	end = int(r.dec.InputOffset())
	start = end - len(raw)
	if bytes.IndexByte(raw, '\\') < 0 {
		return r.text[start+1 : end-1], start, end, nil
	}
	if r.unquoted, err = jsontext.AppendUnquote(r.unquoted[:0], raw); err != nil {
		return "", 0, 0, err
	}
	return string(r.unquoted), start, end, nil
}

func (r *reader) number() (any, error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(r.dec.InputOffset())
	start := end - len(raw)
	if len(raw) > maxNumber {
		return nil, refuse(int64(start), "A number is longer than 64 characters; send long numbers as strings.")
	}
	if exponent(raw) > maxExponent {
		return nil, refuse(int64(start), "A number has an exponent beyond 308; send such numbers as strings.")
	}
	return json.Number(r.text[start:end]), nil
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

func refuse(offset int64, reason string) error {
	return &GuardError{Reason: reason, Offset: offset}
}

func (r *reader) refuseNext(reason string) error {
	return refuse(r.dec.InputOffset(), reason)
}

// explain turns an error of the decoder, which quotes the body, into one that does not.
func (r *reader) explain(err error) error {
	if refused, ok := errors.AsType[*GuardError](err); ok {
		return refused
	}
	offset := r.dec.InputOffset()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = syntax.ByteOffset
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return refuse(offset, "An object has the same name twice; send each name once.")
	case !utf8.ValidString(r.text):
		return refuse(offset, "The body is not valid UTF-8; encode it as UTF-8.")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return refuse(offset, "The body ends in the middle of the JSON document; send all of it.")
	default:
		return refuse(offset, "The body is not valid JSON (RFC 8259, and no lone surrogates).")
	}
}
