package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// Sign returns the value of the signature header: the HMAC-SHA256 of the body under the secret, as 64 lower-case hex
// digits (contract, "Authentication" 3).
func Sign(secret string, body []byte) string {
	var sum [sha256.Size]byte
	return hex.EncodeToString(mac(&sum, secret, body))
}

// Verify reports whether the header is the body's signature under any of the secrets, of which there are two during a
// rotation. Hex counts in either case; anything that is not 64 hex digits is false, and so is an empty secret, which is
// none. The time it takes depends on the body and the number of secrets, not on which of them matches or how much of
// it.
func Verify(header string, body []byte, secrets ...string) bool {
	return Match(header, body, secrets...) > 0
}

// Match is Verify, and returns which of the secrets it is, counted from 1; 0: none of them. Of equal secrets it is the
// last.
func Match(header string, body []byte, secrets ...string) (number int) {
	var digits [2 * sha256.Size]byte
	var given, sum [sha256.Size]byte
	if len(header) != len(digits) {
		return 0
	}
	copy(digits[:], header)
	if _, err := hex.Decode(given[:], digits[:]); err != nil {
		return 0
	}
	for n, s := range secrets {
		if s != "" {
			number = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(given[:], mac(&sum, s, body)), n+1, number)
		}
	}
	return number
}

func mac(sum *[sha256.Size]byte, secret string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	return h.Sum(sum[:0])
}
