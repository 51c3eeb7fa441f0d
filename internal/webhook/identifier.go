package webhook

import (
	"encoding/base64"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
)

// HeaderBound is the most bytes a received Event, UUID, Link or Export-Context header may have. None of them is covered
// by the signature.
const HeaderBound = 1024

// Replayed is the header of an answer that repeats the one to an earlier request with the same Idempotency-Key.
const Replayed = "Idempotency-Replayed"

// ValidUUID reports whether an export's key is 1 to 255 visible ASCII bytes (0x21–0x7E). Beyond that it is opaque.
func ValidUUID[T string | []byte](key T) bool {
	if len(key) < 1 || len(key) > 255 {
		return false
	}
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return false
		}
	}
	return true
}

// encodedKey begins a path segment that holds a key in base64url (RFC 4648 section 5, without padding).
const encodedKey = "~"

// KeySegment makes one segment of a path of an export's key, before percent-encoding: the key itself, or ~ and its
// base64url where servers on the way would take parts of it for steps in the path, such as ../../x, even
// percent-encoded.
func KeySegment(key string) string {
	if model.HasDotSegment(key) || strings.HasPrefix(key, encodedKey) {
		return encodedKey + base64.RawURLEncoding.EncodeToString([]byte(key))
	}
	return key
}

// KeyOfSegment reads what KeySegment made, and reports whether it is a valid key.
func KeyOfSegment(segment string) (key string, ok bool) {
	key = segment
	if encoded, found := strings.CutPrefix(segment, encodedKey); found {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
		if err != nil {
			return "", false
		}
		key = string(raw)
	}
	return key, ValidUUID(key)
}
