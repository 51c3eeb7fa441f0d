// Package password hashes and checks the passwords of people and of users of the Apply API, and slows down guessing.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// ErrBusy means that too many passwords are being hashed already: the answer is 429, and the request may be repeated
// after a second.
var ErrBusy = errors.New("too many passwords are being checked at once")

// A hash is argon2id with 19 MiB, two passes and one lane.
const (
	memory  = 19 << 10 // KiB
	passes  = 2
	lanes   = 1
	saltLen = 16
	keyLen  = 32
)

// The length of a password, in characters and in bytes.
const (
	minLen   = 8
	maxBytes = 1 << 10
)

// Validate returns what is wrong with a new password, or nil.
func Validate(plain string) error {
	if !utf8.ValidString(plain) {
		return errors.New("the password is not valid UTF-8: encode it as UTF-8")
	}
	plain = norm.NFC.String(plain)
	switch {
	case utf8.RuneCountInString(plain) < minLen:
		return fmt.Errorf("the password is too short: use at least %d characters", minLen)
	case len(plain) > maxBytes:
		return fmt.Errorf("the password is too long: use at most %d bytes", maxBytes)
	}
	return nil
}

// Hash returns the stored form of a password, in PHC form: $argon2id$v=19$m=19456,t=2,p=1$salt$hash. It composes
// characters first (NFC, as in RFC 8265 section 4.2): keyboards differ in what they send. It waits for its turn.
// Errors: ErrBusy, and the error of ctx.
func Hash(ctx context.Context, plain string) (string, error) {
	leave, err := turns.enter(ctx, "", true) // the caller has a key of the management API
	if err != nil {
		return "", err
	}
	defer leave()
	c := cost{memory: memory, passes: passes, lanes: lanes, salt: make([]byte, saltLen)}
	rand.Read(c.salt)
	return c.encode(c.key(norm.NFC.String(plain), keyLen)), nil
}

// verify compares for Attempt.Verify, after the wait.
func verify(hash, plain string) (bool, error) {
	known := hash != ""
	if !known {
		hash = nobody
	}
	c, want, err := decode(hash)
	if err != nil {
		return false, err
	}
	ways := []string{norm.NFC.String(plain)}
	if ways[0] != plain {
		ways = append(ways, plain) // as passwords were stored before they were composed
	}
	right := false
	for _, way := range ways { // all of them, so that the time reveals nothing
		possible := len(way) <= maxBytes
		if !possible {
			way = ""
		}
		same := subtle.ConstantTimeCompare(c.key(way, uint32(len(want))), want) == 1
		right = right || same && possible
	}
	return right && known, nil
}

// nobody is compared with if a user does not exist: a hash of the usual cost that no password has.
var nobody = func() string {
	c := cost{memory: memory, passes: passes, lanes: lanes, salt: make([]byte, saltLen)}
	key := make([]byte, keyLen)
	rand.Read(c.salt)
	rand.Read(key)
	return c.encode(key)
}()

// cost holds the parameters of a hash.
type cost struct {
	memory, passes uint32
	lanes          uint8
	salt           []byte
}

func (c cost) key(plain string, length uint32) []byte {
	return argon2.IDKey([]byte(plain), c.salt, c.passes, c.memory, c.lanes, length)
}

func (c cost) encode(key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.passes, c.lanes,
		base64.RawStdEncoding.EncodeToString(c.salt), base64.RawStdEncoding.EncodeToString(key))
}

var errForm = errors.New("a password's hash is not argon2id in PHC form, or its cost is too high")

// decode reads a PHC string. It refuses parameters that cost much more than ours: one user's row must not use up the
// memory.
func decode(s string) (c cost, key []byte, err error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, nil, errForm
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes); err != nil {
		return c, nil, errForm
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	key, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	switch {
	case err1 != nil, err2 != nil, len(salt) < 8, len(key) < 16, len(key) > 64:
		return c, nil, errForm
	case c.memory < 1<<10, c.memory > 4*memory, c.passes < 1, c.passes > 10, c.lanes < 1, c.lanes > 4:
		return c, nil, errForm
	}
	c.salt = salt
	return c, key, nil
}
