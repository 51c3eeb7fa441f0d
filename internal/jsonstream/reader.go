// Package jsonstream reads JSON documents whose strings may be far larger than the memory one request should take:
// a caller walks the document in the order in which it arrives and gets each string as an io.Reader.
//
// It is strict (RFC 8259): no raw control characters, no bad UTF-8, no lone surrogates, no member twice in an object
// that the caller walks. Its memory does not grow with the document.
package jsonstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

const (
	// MaxName is the longest member name, in bytes, in an object that the caller walks.
	MaxName = 255
	// MaxMembers is how many members such an object may have.
	MaxMembers = 256
	// MaxDepth is how deep objects and arrays may nest, skipped ones included.
	MaxDepth = 64
)

// Kind is the kind of a value: its first byte, with '0' for every number and 't' for both booleans.
type Kind byte

// The kinds of JSON values.
const (
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	Bool   Kind = 't'
	Null   Kind = 'n'
)

// Error says why a document can't be read as what the caller asked for. It never quotes the document.
type Error struct {
	Offset int64 // how many bytes had been read when it was found
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (byte %d)", e.Reason, e.Offset) }

// Reader walks one JSON document. Every method but Next consumes the value that it names. A document that is not JSON,
// exceeds a limit or has another kind of value than expected is an *Error; errors of the underlying reader are
// returned as they are. After an error the Reader is of no further use.
type Reader struct {
	in    *bufio.Reader
	read  int64
	depth int
}

// NewReader reads from r, through a buffer of its own. It does not bound the length of the document: the caller does.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 16<<10)}
}

// Next returns the kind of the next value, without consuming it.
func (r *Reader) Next() (Kind, error) {
	c, err := r.token()
	if err != nil {
		return 0, err
	}
	r.back()
	switch {
	case c == '{' || c == '[' || c == '"' || c == 'n':
		return Kind(c), nil
	case c == 't' || c == 'f':
		return Bool, nil
	case c == '-' || isDigit(c):
		return Number, nil
	}
	return 0, r.fail("a value is expected")
}

// Object calls member for each member of an object, in the order of the document; member has to consume the value.
func (r *Reader) Object(member func(name string) error) error {
	seen := make(map[string]struct{})
	return r.list('{', '}', "an object is expected", func() error {
		name, err := r.String(MaxName)
		if err != nil {
			return err
		}
		if _, twice := seen[name]; twice {
			return r.fail("a member stands twice in an object")
		}
		if len(seen) == MaxMembers {
			return r.fail("an object has too many members")
		}
		seen[name] = struct{}{}
		if err := r.colon(); err != nil {
			return err
		}
		return member(name)
	})
}

// Array calls element for each element of an array; element has to consume it.
func (r *Reader) Array(element func() error) error {
	return r.list('[', ']', "an array is expected", element)
}

// String returns a string of at most limit bytes; a longer one is an *Error.
func (r *Reader) String(limit int) (string, error) {
	var value []byte
	err := r.Text(func(text io.Reader) (err error) {
		value, err = io.ReadAll(io.LimitReader(text, int64(limit)+1))
		if err == nil && len(value) > limit {
			return r.fail("a string is longer than allowed")
		}
		return err
	})
	return string(value), err
}

// Text calls read with the unescaped content of a string, as it arrives. The rest is checked and dropped. The io.Reader
// ends with the call.
func (r *Reader) Text(read func(io.Reader) error) error {
	c, err := r.token()
	if err != nil {
		return err
	}
	if c != '"' {
		return r.fail("a string is expected")
	}
	t := &text{r: r}
	if err := read(t); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, t)
	return err
}

// Skip checks and drops the next value, whatever it is. Within it, names may have any length and stand twice.
func (r *Reader) Skip() error {
	kind, err := r.Next()
	if err != nil {
		return err
	}
	switch kind {
	case Object:
		return r.list('{', '}', "an object is expected", func() error {
			if err := r.Text(drop); err != nil {
				return err
			}
			if err := r.colon(); err != nil {
				return err
			}
			return r.Skip()
		})
	case Array:
		return r.Array(r.Skip)
	case String:
		return r.Text(drop)
	case Number:
		return r.number()
	}
	return r.word()
}

// End checks that nothing but white space follows.
func (r *Reader) End() error {
	_, err := r.space()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.fail("something follows the end of the document")
}

// list reads what is between two brackets, and calls each at the start of an item.
func (r *Reader) list(opening, closing byte, expected string, each func() error) error {
	c, err := r.token()
	if err != nil {
		return err
	}
	if c != opening {
		return r.fail(expected)
	}
	if r.depth++; r.depth > MaxDepth {
		return r.fail("values are nested too deeply")
	}
	if c, err = r.token(); err != nil {
		return err
	}
	if c != closing {
		r.back()
	}
	for c != closing {
		if err := each(); err != nil {
			return err
		}
		if c, err = r.token(); err != nil {
			return err
		}
		if c != closing && c != ',' {
			return r.fail("a comma or a closing bracket is expected")
		}
	}
	r.depth--
	return nil
}

func (r *Reader) colon() error {
	c, err := r.token()
	if err == nil && c != ':' {
		return r.fail("a colon is expected")
	}
	return err
}

// word reads true, false or null.
func (r *Reader) word() error {
	c, err := r.next()
	if err != nil {
		return err
	}
	rest := map[byte]string{'t': "rue", 'f': "alse", 'n': "ull"}[c]
	for i := range len(rest) {
		if c, err = r.next(); err != nil {
			return err
		}
		if c != rest[i] {
			return r.fail("a value is expected")
		}
	}
	return nil
}

// number reads a number by the grammar of RFC 8259 section 6, without a value: it may have any length.
func (r *Reader) number() error {
	c, err := r.next()
	if err != nil {
		return err
	}
	if c == '-' {
		if c, err = r.next(); err != nil {
			return err
		}
	}
	if !isDigit(c) {
		return r.fail("a digit is expected")
	}
	if c != '0' {
		if err := r.digits(0); err != nil {
			return err
		}
	}
	if _, ok, err := r.accept('.', '.'); err != nil {
		return err
	} else if ok {
		if err := r.digits(1); err != nil {
			return err
		}
	}
	if _, ok, err := r.accept('e', 'E'); err != nil || !ok {
		return err
	}
	if _, _, err := r.accept('+', '-'); err != nil {
		return err
	}
	return r.digits(1)
}

// digits reads all digits that follow, and fails if there are fewer than least.
func (r *Reader) digits(least int) error {
	for n := 0; ; n++ {
		c, err := r.in.ReadByte()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err == nil && isDigit(c) {
			r.read++
			continue
		}
		if err == nil {
			_ = r.in.UnreadByte() // a byte was just read
		}
		if n < least {
			return r.fail("a digit is expected")
		}
		return nil
	}
}

// accept consumes the next byte if it is one of two. The end of the document is not an error: a number may stand there.
func (r *Reader) accept(a, b byte) (c byte, ok bool, err error) {
	c, err = r.in.ReadByte()
	switch {
	case errors.Is(err, io.EOF):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case c == a || c == b:
		r.read++
		return c, true, nil
	}
	_ = r.in.UnreadByte() // a byte was just read
	return 0, false, nil
}

// token reads the next byte that is not white space.
func (r *Reader) token() (byte, error) {
	c, err := r.space()
	if errors.Is(err, io.EOF) {
		return 0, r.fail("the document ends too early")
	}
	return c, err
}

func (r *Reader) space() (byte, error) {
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return 0, err
		}
		r.read++
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, nil
		}
	}
}

// next reads the next byte, white space or not.
func (r *Reader) next() (byte, error) {
	c, err := r.in.ReadByte()
	if errors.Is(err, io.EOF) {
		return 0, r.fail("the document ends too early")
	}
	if err == nil {
		r.read++
	}
	return c, err
}

// back unreads the last byte.
func (r *Reader) back() {
	_ = r.in.UnreadByte() // only called after a byte was read
	r.read--
}

func (r *Reader) fail(reason string) error { return &Error{Offset: r.read, Reason: reason} }

func drop(io.Reader) error { return nil }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
