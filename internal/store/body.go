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

// ErrUnreadable says that something stored can't be read, however often it is tried: a backup may have it.
var ErrUnreadable = errors.New("what is stored can't be read")

// UnreadableReason is why a delivery fails of whose export what is stored can't be read.
const UnreadableReason = "what is stored of this export can't be read: restore the database, or its documents, from a " +
	"backup and redeliver it, or have the candidate exported again"

// unreadable is a reason for ErrUnreadable.
type unreadable string

// Error implements error.
func (u unreadable) Error() string { return string(u) }

// Is has errors.Is find ErrUnreadable.
func (unreadable) Is(target error) bool { return target == ErrUnreadable }

const (
	errForm   = unreadable("it was stored in a form that this version does not know")
	errLength = unreadable("it has another length than when it was stored")
)

// largestUnpacked bounds how long a packed body may be whose length is stored nowhere else, in bytes.
const largestUnpacked = 64 << 20

// unwrapBody opens what wrapBody or packBody made.
func unwrapBody(kept []byte) ([]byte, error) {
	if n, err := unwrappedLen(kept); err == nil && n > largestUnpacked {
		return nil, errLength
	}
	return unwrap(kept)
}

// unwrapSized is unwrapBody for a body of a known size: a damaged one may say that it has gigabytes.
func unwrapSized(kept []byte, size int64) ([]byte, error) {
	if n, err := unwrappedLen(kept); err == nil && int64(n) != size {
		return nil, errLength
	}
	return unwrap(kept)
}

// unwrappedLen is the length of a kept body as it says itself.
func unwrappedLen(kept []byte) (int, error) {
	if len(kept) > 0 && kept[0] == packedBody {
		return s2.DecodedLen(kept[1:])
	}
	return len(kept) - 1, nil
}

func unwrap(kept []byte) ([]byte, error) {
	if len(kept) > 0 {
		switch kept[0] {
		case plainBody:
			return kept[1:], nil
		case packedBody:
			body, err := s2.Decode(nil, kept[1:])
			if err != nil {
				return nil, fmt.Errorf("unpacking a body: %w: %w", ErrUnreadable, err)
			}
			return body, nil
		}
	}
	return nil, errForm
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
