package erasure

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
)

// Key returns the public key that receipts are checked with.
func (l *List) Key() string { return base64.StdEncoding.EncodeToString(l.public()) }

// Sign signs a receipt, which is written as JSON.
func (l *List) Sign(receipt any) (signature string, err error) {
	raw, err := json.Marshal(receipt)
	if err != nil {
		return "", err
	}
	text, err := canonical(raw)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(ed25519.Sign(l.keys.signing, text)), nil
}

// Verify returns an error unless a receipt has this signature by the key.
func Verify(receipt []byte, signature, key string) error {
	text, err := canonical(receipt)
	if err != nil {
		return errors.New("the receipt is no JSON")
	}
	public, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(public) != ed25519.PublicKeySize {
		return errors.New("the key is none of a list of erasures: hiregate erase key prints it")
	}
	sum, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || !ed25519.Verify(public, text, sum) {
		return errors.New("the receipt was changed, or was signed by another gateway")
	}
	return nil
}

// canonical writes JSON in the one form that is signed: without spaces, and with the names in order.
func canonical(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
