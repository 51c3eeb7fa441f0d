package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// HeaderBound is the most bytes a received Event, UUID, Link or Export-Context header may have. None of them is covered by
// the signature.
const HeaderBound = 1024

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

const workflowIDPartBound = 128

// WorkflowIDPart makes a tenant or an export's key fit to stand between the slashes of a workflow id, where Temporal refuses
// newlines, bad UTF-8 and great length: every byte but [A-Za-z0-9._:-] is percent-encoded, and a result of more than 128
// bytes is replaced by its SHA-256 in hex.
func WorkflowIDPart(s string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		if c := s[i]; isWorkflowIDByte(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&0xf]})
		}
	}
	if b.Len() <= workflowIDPartBound {
		return b.String()
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

func isWorkflowIDByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._:-", c) >= 0
}
