package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
)

// The first byte of a kept body says how the rest is written.
const (
	plainBody  = 1 // as it is
	packedBody = 2 // as one block of S2, which extends Snappy
	sealedBody = 3 // sealed; within is a kept body. See secrets.go
	keyedBody  = 4 // sealed with a data key, whose id comes next. See datakeys.go
)

func wrapBody(body []byte) []byte {
	return append(append(make([]byte, 0, len(body)+1), plainBody), body...)
}

// packBody is wrapBody for what is large and much: packed, where that makes it smaller. What an export says is about
// half names of properties, and half the bytes are half the writing. It writes over scratch where that is large enough.
func packBody(scratch, body []byte) []byte {
	size := 1 + s2.MaxEncodedLen(len(body))
	kept := slices.Grow(scratch[:0], size)[:size]
	packed := s2.Encode(kept[1:], body)
	if len(packed) >= len(body) {
		return wrapBody(body)
	}
	kept[0] = packedBody
	return kept[:1+len(packed)]
}

func unwrapBody(kept []byte) ([]byte, error) {
	if len(kept) > 0 {
		switch kept[0] {
		case plainBody:
			return kept[1:], nil
		case packedBody:
			body, err := s2.Decode(nil, kept[1:])
			if err != nil {
				return nil, fmt.Errorf("unpacking a body: %w", err)
			}
			return body, nil
		}
	}
	return nil, errors.New("a body was kept in a form this version does not know: a newer hiregate wrote it")
}

// octets scans bytes that may be NULL, which are nil then. Scanned without it, SQLite's driver makes nil of empty ones
// as well.
type octets struct{ b *[]byte }

// Scan implements sql.Scanner.
func (o octets) Scan(src any) error {
	*o.b = nil
	switch src := src.(type) {
	case nil:
	case []byte:
		*o.b = append([]byte{}, src...)
	default:
		return fmt.Errorf("the database has %T where bytes should be", src)
	}
	return nil
}
