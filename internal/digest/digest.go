// Package digest hashes several strings as one.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
)

// Of is the SHA-256 of the parts, each behind its length, so that no other parts give the same.
func Of(parts ...string) [sha256.Size]byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}
