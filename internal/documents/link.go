package documents

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// tokenSize is in bytes (docs/behaviour.md, "Documents").
const tokenSize = 32

// NewToken returns a random end for the public URL of a document: 32 bytes in base64url without padding. It is a
// credential for the document, so only its hash is stored.
func NewToken() (token string, hash [32]byte) {
	secret := make([]byte, tokenSize)
	_, _ = rand.Read(secret) // never fails
	return base64.RawURLEncoding.EncodeToString(secret), sha256.Sum256(secret)
}

// HashToken returns the hash under which a token is stored, and false for a token that NewToken can't have made.
func HashToken(token string) ([32]byte, bool) {
	secret, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(secret) != tokenSize || len(token) != base64.RawURLEncoding.EncodedLen(tokenSize) {
		return [32]byte{}, false
	}
	return sha256.Sum256(secret), true
}

// HashURL returns the hash of the token at the end of a URL, and false for a URL that does not have our form. Any host,
// and any path before /documents/, is accepted: both change with public_url.
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
