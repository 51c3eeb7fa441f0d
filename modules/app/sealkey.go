package app

import (
	"fmt"
	"strings"

	"github.com/hiregate/hiregate/internal/vault"
)

// SealKey is an option that names what things are sealed with in the database: placeholders, the first of which seals,
// and the others open what was sealed before it was changed.
type SealKey struct {
	Option string // its name in errors
	Of     string // what is sealed
}

// sealKey is the option of the block hiregate.
var sealKey = SealKey{Option: "seal_key", Of: "secrets"}

// Validate checks one of them as the configuration has it.
func (k SealKey) Validate(written string, dev bool) error {
	switch {
	case placeholder.MatchString(written):
		return nil
	case !dev:
		return fmt.Errorf("%s must be a placeholder, {env.NAME} or {file./path}: Caddy shows what is written out in its "+
			"/config and its autosave file ({$NAME} is written out, too)", k.Option)
	case strings.Contains(written, "{"):
		return nil
	}
	return k.checkText(strings.TrimSpace(written))
}

func (k SealKey) checkText(text string) error {
	if len(text) < vault.MinText {
		return fmt.Errorf("%s: the key that %s are sealed with is shorter than %d characters: make one with "+
			"openssl rand -base64 32", k.Option, k.Of, vault.MinText)
	}
	return nil
}

// Vault is what seals with them.
func (k SealKey) Vault(written []string, dev bool, resolve func(string) (string, error)) (*vault.Vault, error) {
	var texts []string
	for _, one := range written {
		if err := k.Validate(one, dev); err != nil {
			return nil, err
		}
		text, err := resolve(one)
		if err != nil {
			return nil, Unset(k.Option, err)
		}
		text = strings.TrimSpace(text)
		if err := k.checkText(text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return vault.New(texts...)
}
