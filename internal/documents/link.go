package documents

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// tokenSize is in bytes (docs/behaviour.md, "Documents").
const tokenSize = 32

// NewToken makes what the public URL of a document ends with: 32 random bytes in base64url without padding. Whoever has
// it can read the document, so only its hash is stored.
func NewToken() (token string, hash [32]byte) {
	secret := make([]byte, tokenSize)
	_, _ = rand.Read(secret) // never fails
	return base64.RawURLEncoding.EncodeToString(secret), sha256.Sum256(secret)
}

// HashToken gives the hash under which a token is stored, and false for what NewToken can't have made.
func HashToken(token string) ([32]byte, bool) {
	secret, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(secret) != tokenSize || len(token) != base64.RawURLEncoding.EncodedLen(tokenSize) {
		return [32]byte{}, false
	}
	return sha256.Sum256(secret), true
}

// HashURL gives the hash of the token that a URL ends with, and false for a URL that is not of the form of ours. Its
// host and what stands before /documents/ may be any: both change with public_url.
func HashURL(url string) ([32]byte, bool) {
	at := strings.LastIndexByte(url, '/')
	if at < 0 || !strings.HasSuffix(url[:at], "/documents") {
		return [32]byte{}, false
	}
	return HashToken(url[at+1:])
}

// URL returns the public address of the document of a token: /documents/<token> below public_url.
func URL(publicURL, token string) string {
	return strings.TrimRight(publicURL, "/") + "/documents/" + token
}
