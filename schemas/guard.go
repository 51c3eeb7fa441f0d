package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
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
// is a *GuardError.
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

// reader is one pass over a body. The lexer checks the grammar of tokens; how they may follow each other, and the rest, is
// checked here.
type reader struct {
	lexer
	names    [][]byte // scratch: names in the objects that are still open
	elements []any    // scratch: elements of the arrays that are still open
	found    []uint64 // scratch: shapes of the elements of the arrays that are still open
	depth    int
	shapes   *shapes // nil: the shape is not asked for
	build    bool    // the decoded value is asked for
	values   int
	doc      *Document
	current  Attachment // the attachment object that is open
	hasURL   bool       // whether its url, a string, was seen
}

func (r *reader) read(body []byte) (*Document, error) {
	if bytes.HasPrefix(body, []byte("\ufeff")) {
		return nil, refuse(0, "The body begins with a byte order mark; send UTF-8 without one.")
	}
	if n := validUTF8(body); n < len(body) {
		return nil, refuse(n, "The body is not valid UTF-8; encode it as UTF-8.")
	}
	r.text, r.at, r.doc = body, 0, new(Document)
	if r.peek(); r.at == len(r.text) {
		return nil, refuse(0, "The body is empty; send a JSON document.")
	}
	v, shape, _, err := r.value(atRoot, 0)
	if err != nil {
		return nil, err
	}
	end := r.at
	if r.peek(); r.at < len(r.text) {
		return nil, refuse(end, "Something follows the JSON document; send one document and nothing else.")
	}
	r.doc.Value, r.doc.shape = v, shape
	return r.doc, nil
}

// forget drops the body, which is about a candidate, and makes the reader ready for the next one.
func (r *reader) forget() {
	r.text, r.doc, r.current, r.hasURL, r.values, r.depth, r.shapes = nil, nil, Attachment{}, false, 0, 0, nil
	clear(r.names[:cap(r.names)]) // an object that has ended left its own behind
	clear(r.elements)
	r.names, r.elements, r.found = r.names[:0], r.elements[:0], r.found[:0]
	if cap(r.names) > maxKept || cap(r.elements) > maxKept || cap(r.found) > maxKept {
		r.names, r.elements, r.found = nil, nil, nil
	}
}

// value reads the next value, which lies at p. index is its place if it is an element of an array. It gives the decoded value
// and its shape, as far as they are asked for, and whether it is null.
func (r *reader) value(p place, index int) (v any, shape uint64, null bool, err error) {
	if r.values++; r.values > maxValues {
		return nil, 0, false, r.refuse("The body has more than 100,000 values; send less in one document.")
	}
	if p == atAttachmentDocument {
		r.current.HasDocument = true
	}
	kind := shapeNull
	switch r.peek() {
	case '{':
		v, shape, err = r.object(p, index)
		return v, shape, false, err
	case '[':
		v, shape, err = r.array(p)
		return v, shape, false, err
	case '"':
		start := r.at
		s, err := r.str()
		if err != nil {
			return nil, 0, false, err
		}
		r.record(p, s, start, r.at)
		if r.shapes != nil {
			shape = r.shapes.ofString(s)
		}
		if r.build {
			v = string(s)
		}
		return v, shape, false, nil
	case 't':
		kind, v, err = shapeBool, true, r.word("true")
	case 'f':
		kind, v, err = shapeBool, false, r.word("false")
	case 'n':
		null, err = true, r.word("null")
	default:
		kind = shapeNumber
		v, err = r.boundedNumber()
	}
	if err != nil {
		return nil, 0, false, err
	}
	if r.shapes != nil {
		shape = r.shapes.kinds[kind]
	}
	return v, shape, null, err
}

func (r *reader) object(p place, index int) (v any, shape uint64, err error) {
	if err := r.open(); err != nil {
		return nil, 0, err
	}
	r.enter(p, index)
	names := objectNames{reader: r, base: len(r.names)}
	var object map[string]any
	if r.build {
		object = make(map[string]any)
	}
	for n := 0; ; n++ {
		name, start, err := r.name(n)
		if err != nil {
			return nil, 0, err
		}
		if name == nil {
			break
		}
		known := r.shapes.known(name)
		if names.knows(name, known) {
			return nil, 0, refuse(start, "An object has the same name twice; send each name once.")
		}
		member, memberShape, null, err := r.value(p.member(name), 0)
		if err != nil {
			return nil, 0, err
		}
		if null { // counts as absent
			continue
		}
		if r.build {
			object[string(name)] = member
		}
		switch {
		case known != nil:
			shape += r.shapes.mix(known.hash, memberShape)
		case r.shapes != nil:
			shape += r.shapes.mix(r.shapes.ofName(name), memberShape)
		}
	}
	r.names = r.names[:names.base]
	r.depth--
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
	base, shapeBase := len(r.elements), len(r.found)
	for n := 0; ; n++ {
		if more, err := r.more(n, ']'); err != nil {
			return nil, 0, err
		} else if !more {
			break
		}
		if n == maxElements {
			return nil, 0, r.refuse("An array has more than 10,000 elements; send fewer.")
		}
		if element == atAttachment {
			r.doc.AttachmentCount++
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
	r.depth--
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

// open reads the start of an array or object.
func (r *reader) open() error {
	if r.depth == maxDepth {
		return r.refuse("The body is nested more than 32 levels deep; send a flatter document.")
	}
	r.depth++
	r.at++
	return nil
}

// objectNames are the names of one object: bits of those that the schema has, and of the others the first few in the reader's scratch
// memory.
type objectNames struct {
	*reader
	known uint64
	base  int
	many  map[string]struct{} // all the others, once they are more than a look at each is worth
}

const fewNames = 16

// name reads the n-th member of an object up to its value: the comma before it, its name and the colon. At the end of the object
// it gives nil.
func (r *reader) name(n int) (name []byte, start int, err error) {
	if name := r.plainName(n); name != nil {
		return name, r.at - len(`"":`) - len(name), nil
	}
	if more, err := r.more(n, '}'); !more {
		return nil, 0, err
	}
	if r.peek() != '"' {
		return nil, 0, r.broken()
	}
	start = r.at
	if name, err = r.str(); err != nil {
		return nil, 0, err
	}
	if r.peek() != ':' {
		return nil, 0, r.broken()
	}
	r.at++
	return name, start, nil
}

// knows tells whether a name was there before, and remembers it. known is the schema's, if it has the name.
func (o *objectNames) knows(name []byte, known *memberName) bool {
	if known != nil {
		before := o.known
		o.known |= known.bit
		return before == o.known
	}
	if o.many == nil {
		few := o.names[o.base:]
		for _, one := range few {
			if string(one) == string(name) {
				return true
			}
		}
		if len(few) < fewNames {
			o.names = append(o.names, name)
			return false
		}
		o.many = make(map[string]struct{}, 2*fewNames)
		for _, one := range few {
			o.many[string(one)] = struct{}{}
		}
	}
	_, twice := o.many[string(name)]
	o.many[string(name)] = struct{}{}
	return twice
}

func (r *reader) boundedNumber() (any, error) {
	start := r.at
	raw, err := r.number()
	if err != nil {
		return nil, err
	}
	if len(raw) > maxNumber {
		return nil, refuse(start, "A number is longer than 64 characters; send long numbers as strings.")
	}
	number := string(raw)
	if exponent(number) > maxExponent {
		return nil, refuse(start, "A number has an exponent beyond 308; send such numbers as strings.")
	}
	return json.Number(number), nil
}

// exponent returns the absolute value of a JSON number's exponent; anything above maxExponent means "too much".
func exponent(number string) int {
	e := strings.IndexAny(number, "eE")
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
