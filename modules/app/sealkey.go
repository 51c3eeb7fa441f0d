package app

import (
	"fmt"
	"strings"

	"github.com/hiregate/hiregate/internal/vault"
)

// SealKey is an option with keys that seal things in the database. Its values are placeholders: the first key seals, the
// others open what was sealed before the key was changed.
type SealKey struct {
	Option string // its name in errors
	Of     string // what is sealed
}

// sealKey is the option of the block hiregate.
var sealKey = SealKey{Option: "seal_key", Of: "secrets"}

// Validate checks one key as it is written in the configuration.
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

// ValidateArgs checks the arguments of a directive's option key. example is a placeholder.
func (k SealKey) ValidateArgs(args []string, example string, dev bool) error {
	if len(args) == 0 {
		return fmt.Errorf("key takes a placeholder: write, for example, `key %s`", example)
	}
	for _, one := range args {
		if err := k.Validate(one, dev); err != nil {
			return err
		}
	}
	return nil
}

func (k SealKey) checkText(text string) error {
	if len(text) < vault.MinText {
		return fmt.Errorf("%s: the key that %s are sealed with is shorter than %d characters: make one with "+
			"openssl rand -base64 32", k.Option, k.Of, vault.MinText)
	}
	return nil
}

// Vault builds the vault from the keys.
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
