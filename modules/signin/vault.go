package signin

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// MinSealKey is the length of a text that things are sealed with, in bytes.
const MinSealKey = 32

// Vault seals what must not stand open in the database or in a browser. All nodes have the same texts, and each purpose a key of its
// own, derived from them.
type Vault struct {
	texts []string
}

// NewVault makes one of texts of at least MinSealKey bytes. The first one seals; the others are there to open what was sealed before
// it was changed.
func NewVault(texts ...string) (*Vault, error) {
	if len(texts) == 0 {
		return nil, errors.New("there is nothing to seal with")
	}
	for _, text := range texts {
		if len(text) < MinSealKey {
			return nil, fmt.Errorf("the key that signing keys are sealed with is shorter than %d characters: make one with openssl rand -base64 32", MinSealKey)
		}
	}
	return &Vault{texts}, nil
}

// The purposes. What is sealed for one opens for no other.
const (
	forSigningKeys = "hiregate signing keys"
	forFactors     = "hiregate second factors"
	forPassed      = "hiregate tickets of who passed the first factor"
	forAsked       = "hiregate tickets of who is asked for their consent"
	forVisits      = "hiregate tickets of who signs in upstream"
	forRequests    = "hiregate authorization requests of who signs in upstream"
)

func aead(text, purpose string) (cipher.AEAD, error) {
	secret, err := hkdf.Key(sha256.New, []byte(text), nil, purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal seals for a purpose and for whom or what it belongs to.
func (v *Vault) seal(purpose, owner string, plain []byte) ([]byte, error) {
	a, err := aead(v.texts[0], purpose)
	if err != nil {
		return nil, err
	}
	return a.Seal(nil, nil, plain, []byte(owner)), nil
}

var errSealed = errors.New("what is sealed can't be opened with the key that is configured: configure the one that it was sealed with beside it")

// open opens what seal sealed; errSealed for all else.
func (v *Vault) open(purpose, owner string, sealed []byte) ([]byte, error) {
	for _, text := range v.texts {
		a, err := aead(text, purpose)
		if err != nil {
			return nil, err
		}
		if plain, err := a.Open(nil, nil, sealed, []byte(owner)); err == nil {
			return plain, nil
		}
	}
	return nil, errSealed
}

// ticket seals something for the browser to bring back, to the issuer that owns it.
func (v *Vault) ticket(purpose, owner string, content any) (string, error) {
	plain, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	sealed, err := v.seal(purpose, owner, plain)
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// read opens a ticket. It is false for what is none, or one for another purpose or issuer.
func (v *Vault) read(purpose, owner, ticket string, into any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(ticket)
	if err != nil {
		return false
	}
	plain, err := v.open(purpose, owner, sealed)
	return err == nil && json.Unmarshal(plain, into) == nil
}
