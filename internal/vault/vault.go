// Package vault encrypts values for the database and for browsers.
package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hiregate/hiregate/internal/digest"
)

// MinText is the least length of a seal text, in bytes.
const MinText = 32

// Vault seals with texts that all nodes share. Each purpose has its own key, derived from them: a value sealed for one
// purpose does not open for another. The zero value has no text, and opens nothing.
type Vault struct {
	texts []string
	// cipher.AEAD by derivation: deriving takes ten times as long as opening, and all tenants are read at once
	keys sync.Map
}

type derivation struct{ text, purpose string }

var errEmpty = errors.New("there is nothing to seal with")

// New makes a vault of texts of at least MinText bytes. The first seals; the others open what was sealed before it was
// changed.
func New(texts ...string) (*Vault, error) {
	if len(texts) == 0 {
		return nil, errEmpty
	}
	for _, text := range texts {
		if len(text) < MinText {
			return nil, fmt.Errorf("what is sealed with is shorter than %d characters: make it with openssl rand -base64 32",
				MinText)
		}
	}
	return &Vault{texts: texts}, nil
}

func (v *Vault) aead(text, purpose string) (cipher.AEAD, error) {
	if known, ok := v.keys.Load(derivation{text, purpose}); ok {
		return known.(cipher.AEAD), nil
	}
	secret, err := hkdf.Key(sha256.New, []byte(text), nil, purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	a, err := cipher.NewGCMWithRandomNonce(block)
	if err == nil {
		v.keys.Store(derivation{text, purpose}, a)
	}
	return a, err
}

// Overhead is how many bytes sealing adds: a nonce before, and a tag after.
const Overhead = 12 + 16

// Derive returns a secret of 43 characters for a purpose and its owner: the same for all nodes, until another text comes
// first. The vault must have a text.
func (v *Vault) Derive(purpose, owner string) (string, error) {
	key, err := hkdf.Key(sha256.New, []byte(v.texts[0]), []byte(owner), "derive "+purpose, sha256.Size)
	return base64.RawURLEncoding.EncodeToString(key), err
}

// Seeds returns secrets of 32 bytes for a purpose, one of each text: the same for all nodes.
func (v *Vault) Seeds(purpose string) (all [][]byte, err error) {
	for _, text := range v.texts {
		seed, err := hkdf.Key(sha256.New, []byte(text), nil, "seed "+purpose, sha256.Size)
		if err != nil {
			return nil, err
		}
		all = append(all, seed)
	}
	return all, nil
}

// Hash returns a keyed hash of words for a purpose, which only those who have the first text can make. The vault must have
// a text.
func (v *Vault) Hash(purpose string, words ...string) ([sha256.Size]byte, error) {
	key, err := hkdf.Key(sha256.New, []byte(v.texts[0]), nil, "hash "+purpose, sha256.Size)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	mac, sum := hmac.New(sha256.New, key), digest.Of(words...)
	mac.Write(sum[:])
	return [sha256.Size]byte(mac.Sum(nil)), nil
}

// Seal seals a value for a purpose and its owner.
func (v *Vault) Seal(purpose, owner string, plain []byte) ([]byte, error) {
	return v.AppendSealed(nil, purpose, owner, plain)
}

// AppendSealed appends a sealed value to dst.
func (v *Vault) AppendSealed(dst []byte, purpose, owner string, plain []byte) ([]byte, error) {
	if len(v.texts) == 0 {
		return nil, errEmpty
	}
	a, err := v.aead(v.texts[0], purpose)
	if err != nil {
		return nil, err
	}
	return a.Seal(dst, nil, plain, []byte(owner)), nil
}

// ErrSealed means that a value can't be opened.
var ErrSealed = errors.New(
	"what is sealed can't be opened with the key that is configured: configure the one that it was sealed with beside it")

// Open opens a value of Seal; otherwise ErrSealed.
func (v *Vault) Open(purpose, owner string, sealed []byte) ([]byte, error) {
	for _, text := range v.texts {
		a, err := v.aead(text, purpose)
		if err != nil {
			return nil, err
		}
		if plain, err := a.Open(nil, nil, sealed, []byte(owner)); err == nil {
			return plain, nil
		}
	}
	return nil, ErrSealed
}

// HasKey reports whether there is a text to seal with.
func (v *Vault) HasKey() bool { return len(v.texts) > 0 }

// Newest returns a vault with only the first text, which seals.
func (v *Vault) Newest() *Vault { return &Vault{texts: v.texts[:min(1, len(v.texts))]} }

// Covers reports whether v opens all that another vault does.
func (v *Vault) Covers(other *Vault) bool {
	return !slices.ContainsFunc(other.texts, func(text string) bool { return !slices.Contains(v.texts, text) })
}

// SealTicket seals a value for the browser to return to the issuer that owns it.
func (v *Vault) SealTicket(purpose, owner string, content any) (string, error) {
	plain, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	sealed, err := v.Seal(purpose, owner, plain)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// OpenTicket opens a ticket. It reports false for anything else, and for a ticket of another purpose or issuer.
func (v *Vault) OpenTicket(purpose, owner, ticket string, into any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(ticket)
	if err != nil {
		return false
	}
	plain, err := v.Open(purpose, owner, sealed)
	return err == nil && json.Unmarshal(plain, into) == nil
}
