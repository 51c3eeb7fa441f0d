package schemas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// lexer reads the tokens of a JSON text (RFC 8259) that lies in memory as a whole and is valid UTF-8. Its errors are
// *GuardError.
//
// It is our own because every export goes through it, and a decoder that reads from anywhere takes longer over the tokens than
// all other checks together. FuzzGuard asks such a decoder whether it agrees.
type lexer struct {
	text []byte
	at   int // bytes read
}

// peek passes over white space and gives the first byte of what comes next, 0 at the end of the text.
func (l *lexer) peek() byte {
	if l.at < len(l.text) && l.text[l.at] > ' ' {
		return l.text[l.at]
	}
	return l.pass()
}

// pass is peek where white space comes next, or the end.
func (l *lexer) pass() byte {
	at := l.at // in a register
	for ; at < len(l.text); at++ {
		if c := l.text[at]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			l.at = at
			return c
		}
	}
	l.at = at
	return 0
}

// more tells whether another member or element follows those n that were read, and reads the comma before it. Where none
// does, it reads the closing bracket.
func (l *lexer) more(n int, closing byte) (bool, error) {
	switch c := l.peek(); {
	case c == closing:
		l.at++
		return false, nil
	case n == 0:
		return true, nil
	case c == ',':
		l.at++
		return true, nil
	}
	return false, l.broken()
}

// plainName reads what most senders write of the n-th member, from the comma before it to the colon right behind its name. Where
// anything else comes, it reads nothing and gives nil.
func (l *lexer) plainName(n int) []byte {
	text, at := l.text, l.at // in registers
	if n > 0 {
		if at == len(text) || text[at] != ',' {
			return nil
		}
		at++
	}
	for at < len(text) && (text[at] == ' ' || text[at] == '\n') {
		at++
	}
	if at == len(text) || text[at] != '"' {
		return nil
	}
	at++
	end := at + plain(text[at:])
	if end+1 >= len(text) || text[end] != '"' || text[end+1] != ':' {
		return nil
	}
	l.at = end + 2
	return text[at:end]
}

// str reads the string that begins here. One without a backslash is a piece of the text.
func (l *lexer) str() ([]byte, error) {
	text, escaped := l.text[l.at+1:], false
	for n := plain(text); n < len(text); n++ {
		switch c := text[n]; {
		case c == '"':
			start := l.at
			l.at += n + 2
			if escaped {
				return l.unquote(start)
			}
			return text[:n], nil
		case c == '\\':
			escaped = true
			n++ // what follows does not end the string
		case c < ' ':
			l.at += 1 + n
			return nil, l.broken()
		}
	}
	l.at = len(l.text)
	return nil, l.broken()
}

// plain tells how many bytes at the head of a text are nothing special within a string. It looks at eight at a time, and leaves
// the last ones of a text.
func plain(text []byte) (n int) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(text); n += 8 {
		v := binary.LittleEndian.Uint64(text[n:])
		quote, backslash := v^'"'*ones, v^'\\'*ones
		// Where a byte is less than what is taken from it, and below 128 itself, its top bit is set in the difference and not in
		// the byte. Beyond the first such byte the borrow may set others, so only the first one counts.
		if special := ((v-' '*ones)&^v | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops; special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	return n
}

func (l *lexer) unquote(start int) ([]byte, error) {
	unquoted, err := jsontext.AppendUnquote(nil, l.text[start:l.at])
	if err != nil {
		l.at = start + l.fault(start)
		return nil, l.broken()
	}
	return unquoted, nil
}

// fault tells how far into the string that begins at start the escape lies that is none.
func (l *lexer) fault(start int) int {
	_, err := jsontext.NewDecoder(bytes.NewReader(l.text[start:l.at])).ReadToken()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return int(syntax.ByteOffset)
	}
	return 0
}

// number reads a number, which may have any length. It is a piece of the text.
func (l *lexer) number() ([]byte, error) {
	start := l.at
	l.one("-")
	if !l.one("0") && !l.digits() {
		return nil, l.broken()
	}
	if l.one(".") && !l.digits() {
		return nil, l.broken()
	}
	if l.one("eE") {
		l.one("+-")
		if !l.digits() {
			return nil, l.broken()
		}
	}
	return l.text[start:l.at], nil
}

// one reads a byte if it is one of these.
func (l *lexer) one(of string) bool {
	if l.at == len(l.text) || strings.IndexByte(of, l.text[l.at]) < 0 {
		return false
	}
	l.at++
	return true
}

// digits reads digits, and tells whether there were any.
func (l *lexer) digits() bool {
	start := l.at
	for l.at < len(l.text) && '0' <= l.text[l.at] && l.text[l.at] <= '9' {
		l.at++
	}
	return l.at > start
}

// word reads true, false or null.
func (l *lexer) word(word string) error {
	next := string(l.text[l.at:min(len(l.text), l.at+len(word))])
	if next == word {
		l.at += len(word)
		return nil
	}
	if strings.HasPrefix(word, next) { // it is shorter: the text ends there
		l.at = len(l.text)
	}
	return l.broken()
}

// broken is the error where the text ends, or goes on as JSON does not.
func (l *lexer) broken() error {
	if l.at == len(l.text) {
		return l.refuse("The body ends in the middle of the JSON document; send all of it.")
	}
	return l.refuse("The body is not valid JSON (RFC 8259, and no lone surrogates).")
}

func (l *lexer) refuse(reason string) error { return refuse(l.at, reason) }

func refuse(offset int, reason string) error {
	return &GuardError{Reason: reason, Offset: int64(offset)}
}

// validUTF8 tells how many bytes at the head of a text are valid UTF-8.
func validUTF8(text []byte) int {
	if utf8.Valid(text) {
		return len(text)
	}
	n := 0
	for {
		r, size := utf8.DecodeRune(text[n:])
		if r == utf8.RuneError && size == 1 {
			return n
		}
		n += size
	}
}
