package jsonstream

import (
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads the content of one string, from its opening quote to its closing one, unescaped.
type text struct {
	r    *Reader
	rune [utf8.UTFMax]byte
	rest []byte // of a character that did not fit into the last Read
	err  error
}

func (t *text) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(t.rest) > 0 {
			k := copy(p[n:], t.rest)
			t.rest, n = t.rest[k:], n+k
			continue
		}
		if t.err != nil {
			break
		}
		k, err := t.plain(p[n:])
		if err != nil {
			t.err = err
			break
		}
		if n += k; k > 0 {
			continue
		}
		c, err := t.special()
		if err != nil {
			t.err = err
			break
		}
		t.rest = utf8.AppendRune(t.rune[:0], c)
	}
	if n > 0 {
		return n, nil
	}
	return 0, t.err
}

// plain copies what the buffer holds up to the first byte that needs more work: nearly all of a base64 content,
// including the \/ and \n that some senders escape.
func (t *text) plain(p []byte) (int, error) {
	in := t.r.in
	if _, err := in.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			err = t.r.fail("the document ends within a string")
		}
		return 0, err
	}
	ahead, _ := in.Peek(in.Buffered()) // never more than is there
	n, used := 0, 0
	for n < len(p) && used < len(ahead) {
		c := ahead[used]
		if isPlain(c) {
			p[n] = c
			used++
		} else if c == '\\' && used+1 < len(ahead) && escapes[ahead[used+1]] != 0 {
			p[n] = escapes[ahead[used+1]]
			used += 2
		} else {
			break
		}
		n++
	}
	_, _ = in.Discard(used)
	t.r.read += int64(used)
	return n, nil
}

func isPlain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

// escapes are the characters that a single letter after a backslash stands for (RFC 8259 section 7).
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// special reads one character that is not plain; io.EOF is the closing quote.
func (t *text) special() (rune, error) {
	c, err := t.r.next()
	switch {
	case err != nil:
		return 0, err
	case c == '"':
		return 0, io.EOF
	case c == '\\':
		return t.escape()
	case c < ' ':
		return 0, t.r.fail("a control character stands in a string")
	}
	t.r.back()
	char, size, err := t.r.in.ReadRune()
	if err != nil {
		return 0, err
	}
	t.r.read += int64(size)
	if char == utf8.RuneError && size == 1 {
		return 0, t.r.fail("a string is not UTF-8")
	}
	return char, nil
}

func (t *text) escape() (rune, error) {
	c, err := t.r.next()
	if err != nil {
		return 0, err
	}
	if escapes[c] != 0 {
		return rune(escapes[c]), nil
	}
	if c == 'u' {
		return t.unicode()
	}
	return 0, t.r.fail("a string holds an unknown escape")
}

// unicode reads what follows \u, and the second half of a surrogate pair with it.
func (t *text) unicode() (rune, error) {
	char, err := t.hex()
	if err != nil || !utf16.IsSurrogate(char) {
		return char, err
	}
	for _, want := range []byte(`\u`) {
		c, err := t.r.next()
		if err != nil {
			return 0, err
		}
		if c != want {
			return 0, t.r.fail("a string holds half a surrogate pair")
		}
	}
	low, err := t.hex()
	if err != nil {
		return 0, err
	}
	if char = utf16.DecodeRune(char, low); char == utf8.RuneError {
		return 0, t.r.fail("a string holds half a surrogate pair")
	}
	return char, nil
}

func (t *text) hex() (rune, error) {
	var value rune
	for range 4 {
		c, err := t.r.next()
		if err != nil {
			return 0, err
		}
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, t.r.fail("a string holds an unknown escape")
		}
		value = value<<4 | rune(c)
	}
	return value, nil
}
