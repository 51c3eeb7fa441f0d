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
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/listen"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// Who can sign in, and the application that they can sign in to: the sample partner.
const (
	demoEmail    = "ada@example.com"
	demoPassword = "correct horse"
	demoSecret   = "demo-secret"
)

// consolePeople lists the people of dev.Caddyfile who have a role in the console.
var consolePeople = []struct{ email, name, role string }{
	{"ops@example.com", "Olga Ops", "administrator"},
	{"recruiter@example.com", "Rosa Recruiter", "recruiter of initech"},
	{"viewer@example.com", "Viktor Viewer", "viewer of acme"},
}

// consoleURL returns the address of the console.
func (f *flags) consoleURL() string { return fmt.Sprintf("http://localhost:%d/console", f.http) }

// issuer returns the address of the sign-in, and home that of the sample partner for browsers.
func (f *flags) issuer() string { return fmt.Sprintf("http://localhost:%d/signin", f.http) }
func (f *flags) home() string   { return fmt.Sprintf("http://localhost:%d", f.partner) }

// signIn creates the users and the applications. It sets the applications' addresses, and leaves all else as it is.
func (s *seeding) signIn(home string) func(context.Context) error {
	return func(ctx context.Context) error {
		people := []api.UserProfile{{Email: demoEmail, Name: "Ada Lovelace", GivenName: "Ada", FamilyName: "Lovelace"}}
		for _, p := range consolePeople {
			people = append(people, api.UserProfile{Email: p.email, Name: p.name})
		}
		for _, one := range people {
			one.EmailVerified = true
			in := api.UserInput{UserProfile: one, UserPasswordInput: api.UserPasswordInput{
				PasswordInput: api.PasswordInput{Password: demoPassword}}}
			if err := unless(http.StatusConflict, s.Call(ctx, http.MethodPost, "/v1/users", in, nil)); err != nil {
				return err
			}
		}
		return s.application(ctx, home)
	}
}

// application creates the sample partner as an application, with its addresses. If it exists, its addresses are set.
func (s *seeding) application(ctx context.Context, home string) error {
	var present api.OAuthClient
	path := "/v1/oauth-clients/" + listen.DemoClient
	err := s.Call(ctx, http.MethodGet, path, nil, &present)
	refused := new(admin.Refusal)
	missing := errors.As(err, &refused) && refused.Status == http.StatusNotFound
	if err != nil && !missing {
		return err
	}
	in := present.OAuthClientSettings
	in.RedirectURIs, in.PostLogoutRedirectURIs = []string{home + listen.CallbackPath}, []string{home + listen.HomePath}
	if !missing && slices.Equal(in.RedirectURIs, present.RedirectURIs) {
		return nil
	}
	if !missing {
		return s.Call(ctx, http.MethodPut, path, in, nil)
	}
	in.Name = "Sample partner"
	return unless(http.StatusConflict, s.Call(ctx, http.MethodPost, "/v1/oauth-clients", api.OAuthClientInput{
		ID: listen.DemoClient, OAuthSecretInput: api.OAuthSecretInput{Secret: demoSecret}, OAuthClientSettings: in}, nil))
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
