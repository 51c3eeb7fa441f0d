package dev

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/partner"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// Who can sign in, and the application that they can sign in to: the sample partner.
const (
	demoEmail    = "ada@example.com"
	demoPassword = "correct horse"
	demoSecret   = "demo-secret"
)

// issuer is where people sign in, and home the sample partner as browsers reach it.
func (f *flags) issuer() string { return fmt.Sprintf("http://localhost:%d/signin", f.http) }
func (f *flags) home() string   { return fmt.Sprintf("http://localhost:%d", f.partner) }

// signIn creates the user and the application. It sets the application's addresses to those of the sample partner, and
// leaves all else as it is.
func (s *seeding) signIn(home string) func(context.Context) error {
	return func(ctx context.Context) error {
		ada := map[string]any{"email": demoEmail, "emailVerified": true, "name": "Ada Lovelace", "givenName": "Ada",
			"familyName": "Lovelace", "password": demoPassword}
		if err := unless(http.StatusConflict, s.Call(ctx, http.MethodPost, "/v1/users", ada, nil)); err != nil {
			return err
		}
		var settings map[string]any
		path := "/v1/oauth-clients/" + partner.DemoClient
		err := s.Call(ctx, http.MethodGet, path, nil, &settings)
		if refused := new(admin.Refusal); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
			demo := demoSettings(map[string]any{"name": "Sample partner"}, home)
			demo["id"], demo["secret"] = partner.DemoClient, demoSecret
			return unless(http.StatusConflict, s.Call(ctx, http.MethodPost, "/v1/oauth-clients", demo, nil))
		}
		if err != nil {
			return err
		}
		for _, shown := range []string{"id", "secrets", "createdAt", "disabledAt"} {
			delete(settings, shown)
		}
		return s.Call(ctx, http.MethodPut, path, demoSettings(settings, home), nil)
	}
}

// demoSettings sets the addresses of the sample partner in settings of the application.
func demoSettings(settings map[string]any, home string) map[string]any {
	settings["redirectUris"] = []string{home + partner.CallbackPath}
	settings["postLogoutRedirectUris"] = []string{home + partner.HomePath}
	return settings
}

// signinKey returns the key that seals the gateway's signing keys. It is stored in a file in the data folder, made at
// the first start.
func (f *flags) signinKey() (string, error) {
	path := filepath.Join(f.dir, "signin.key")
	raw, err := os.ReadFile(path)
	switch {
	case err == nil:
		return strings.TrimSpace(string(raw)), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("reading the key of sign-in in %s: %w", path, terminal.Cause(err))
	}
	var random [32]byte
	rand.Read(random[:])
	key := base64.StdEncoding.EncodeToString(random[:])
	if err := terminal.WriteFile(path, key+"\n"); err != nil {
		return "", fmt.Errorf("keeping the key of sign-in in %s: %w", path, terminal.Cause(err))
	}
	return key, nil
}
