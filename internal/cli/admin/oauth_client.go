package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// OAuthClient returns the command `hiregate oauth-client`.
func OAuthClient() *cobra.Command {
	return group(&cobra.Command{
		Use:   "oauth-client",
		Short: "Lists, shows, sets and disables the applications that people sign in to",
		Long: `Lists, shows, makes, changes and disables the applications that people sign in to at a running
gateway, which the directive signin serves, and renews their secrets.`,
		Example: `  hiregate oauth-client set payroll --name Payroll --redirect-uri https://payroll.example.com/callback
  hiregate oauth-client list
  hiregate oauth-client set payroll --new-secret   # a second secret; the first one stays good
  hiregate oauth-client set payroll --end-former   # and, when it is in use, the end of the first one
  hiregate oauth-client disable payroll`,
	}, oauthClients.list, oauthClients.show, oauthClientSet, oauthClients.disable, oauthClientRefusals)
}

var oauthClients = noun[api.OAuthClient]{
	kind:       kind{command: "oauth-client", word: "OAuth client", at: "/v1/oauth-clients", arg: "CLIENT", example: "payroll"},
	listHelp:   help{short: "Lists the applications, those that are disabled among them"},
	showHelp:   help{short: "Shows an application, without its secrets"},
	removeHelp: help{short: "Disables an application, and revokes what was issued to it"},
	removed:    "is disabled",
	columns:    []string{"id", "name", "algorithm", "secrets", "created", "disabled"},
	fields: func(c *api.OAuthClient) []field {
		return slices.Concat([]field{
			{"id", c.ID},
			{"name", c.Name},
		}, repeated("redirect URI", c.RedirectURIs), repeated("post-logout redirect URI", c.PostLogoutRedirectURIs), []field{
			{"back-channel logout URI", c.BackchannelLogoutURI},
			{"algorithm", c.Algorithm},
			{"secret in the body", c.SecretPost},
			{"PKCE required", c.RequirePKCE},
			{"consent", c.Consent},
			{"groups", strings.Join(c.Groups, ", ")},
			{"secrets", c.Secrets},
			{"created", c.CreatedAt},
			{"disabled", c.DisabledAt},
		})
	},
}

var oauthClientSettings = settings[api.OAuthClient, api.OAuthClientSettings]{
	kept: func(c *api.OAuthClient) api.OAuthClientSettings { return c.OAuthClientSettings },
	flags: []setting[api.OAuthClientSettings]{
		{"name", func(s *api.OAuthClientSettings) any { return &s.Name },
			"what people know the application as (default of a new one: its id)"},
		{"redirect-uri", func(s *api.OAuthClientSettings) any { return &s.RedirectURIs },
			"where people are sent after signing in; repeat it for further ones"},
		{"post-logout-redirect-uri", func(s *api.OAuthClientSettings) any { return &s.PostLogoutRedirectURIs },
			"where people may be sent after signing out; repeat it for further ones"},
		{"backchannel-logout-uri", func(s *api.OAuthClientSettings) any { return &s.BackchannelLogoutURI },
			"where it is told that a session of its user has ended; empty: it is not"},
		{"algorithm", func(s *api.OAuthClientSettings) any { return &s.Algorithm },
			"what its ID tokens are signed with: RS256 (default) or ES256"},
		{"secret-post", func(s *api.OAuthClientSettings) any { return &s.SecretPost }, "it may send its secret in the body as well"},
		{"require-pkce", func(s *api.OAuthClientSettings) any { return &s.RequirePKCE }, "it must use PKCE"},
		{"consent", func(s *api.OAuthClientSettings) any { return &s.Consent }, "people are asked before it learns who they are"},
		{"group", func(s *api.OAuthClientSettings) any { return &s.Groups },
			"whose people may sign in to it (default: everyone); repeat it for further ones"},
	},
}

func oauthClientSet(a *Client) *cobra.Command {
	var in api.OAuthClientSettings
	var renew, endFormer bool
	cmd := oauthClients.verb(a, &cobra.Command{
		Use:   "set",
		Short: "Makes an OAuth client, or changes what the flags name of one",
		Long: `Makes an OAuth client, and shows its secret this once; or changes what the flags name of one, and
all else of it stays.

--new-secret makes another secret of a client. The newest one that there was stays good beside it,
so that the application can be given the new one meanwhile; --end-former then ends it. A client
that was disabled may ask again, with the new secret only.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		id := args[0]
		if renew || endFormer {
			for _, f := range oauthClientSettings.flags {
				if cmd.Flags().Changed(f.flag) {
					return fmt.Errorf("--new-secret and --end-former change nothing else: set --%s with a command of its own", f.flag)
				}
			}
		}
		switch {
		case renew && endFormer:
			return errors.New("--new-secret and --end-former are two steps: the application needs the new secret in between")
		case renew:
			return oauthSecretMade(ctx, cmd, a, path+"/reset", api.OAuthSecretInput{})
		case endFormer:
			return a.do(ctx, cmd, http.MethodDelete, path+"/former-secrets", "the newest secret of "+id+" is the only one")
		}
		unchanged, made, err := oauthClientSettings.keep(ctx, a, cmd, path, &in)
		switch {
		case err != nil:
			return err
		case made && len(in.RedirectURIs) == 0:
			return errors.New("say where people are sent after signing in, as the application names it: " +
				"--redirect-uri https://app.example.com/callback")
		case made:
			in.Name = cmp.Or(in.Name, id)
			return oauthSecretMade(ctx, cmd, a, oauthClients.at, api.OAuthClientInput{ID: id, OAuthClientSettings: in})
		}
		if shown, err := a.askWith(ctx, cmd, http.MethodPut, path, unchanged, in, nil); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is set\n", terminal.Printable(id))
		return nil
	})
	oauthClientSettings.add(cmd.Flags(), &in)
	cmd.Flags().BoolVar(&renew, "new-secret", false, "make another secret, and show it this once")
	cmd.Flags().BoolVar(&endFormer, "end-former", false, "end all secrets but the newest")
	return cmd
}

// oauthSecretMade asks for a client with a new secret.
func oauthSecretMade(ctx context.Context, cmd *cobra.Command, a *Client, path string, in any) error {
	var c api.OAuthClient
	shown, err := a.reveal(ctx, cmd, path, in, &c, func() (secret, replace string) {
		replace = "make another with `hiregate oauth-client set " + terminal.Printable(c.ID) + " --new-secret`"
		if c.Secrets > 1 {
			replace += ", which ends the one that the application has now"
		}
		return c.Secret, replace
	})
	if shown || err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "It is the secret of %s, and is not shown again.", terminal.Printable(c.ID))
	if c.Secrets > 1 {
		fmt.Fprintf(cmd.ErrOrStderr(), " The one before stays good until: hiregate oauth-client set %s --end-former",
			terminal.Printable(c.ID))
	}
	fmt.Fprintln(cmd.ErrOrStderr())
	return nil
}

var signInRefusals = noun[api.SignInRefusal]{
	kind: kind{command: "oauth-client", at: "/v1/sign-in-refusals"},
	listHelp: help{"Lists the sign-ins that were refused, since their client or redirect URI is not known",
		`Lists the authorization requests that were refused in the last 90 days, the latest first: of a
client that is unknown or disabled, or with a redirect URI that is not byte for byte one of the
client's. Each kind is listed once, with its number.`},
	columns: []string{"last", "client", "reason", "redirect uri", "count"},
	fields: func(r *api.SignInRefusal) []field {
		reason := strings.NewReplacer("_", " ", "redirect_uri", "redirect URI").Replace(r.Reason)
		return []field{
			{"last", r.LastAt},
			{"client", terminal.ID(r.Client)},
			{"reason", terminal.Reason(reason)},
			{"redirect uri", r.RedirectURI},
			{"count", r.Count},
		}
	},
}

func oauthClientRefusals(a *Client) *cobra.Command {
	cmd := signInRefusals.list(a)
	cmd.Use, cmd.Args = "refusals", terminal.Exactly(0, "oauth-client refusals takes no argument")
	return cmd
}
