package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// OAuthClient returns the command `hiregate oauth-client`.
func OAuthClient() *cobra.Command {
	return group(&cobra.Command{
		Use:   "oauth-client",
		Short: "Lists, adds, disables and resets the applications that people sign in to",
		Long: `Lists, adds, disables and resets the applications that people sign in to at a running gateway, which the directive signin
serves.

These commands ask the gateway, at Caddy's admin endpoint.`,
		Example: `  hiregate oauth-client add payroll --name Payroll --redirect-uri https://payroll.example.com/callback
  hiregate oauth-client list
  hiregate oauth-client reset payroll                # a second secret; the first one stays good
  hiregate oauth-client reset payroll --end-former   # and, when it is in use, the end of the first one
  hiregate oauth-client disable payroll`,
	}, oauthClientList, oauthClientAdd, oauthClientDisable, oauthClientReset)
}

// oauthClientRow is what is shown of an application.
type oauthClientRow struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	RedirectURIs []string  `json:"redirectUris"`
	Algorithm    string    `json:"algorithm"`
	Secret       string    `json:"secret"`
	Secrets      int       `json:"secrets"`
	CreatedAt    time.Time `json:"createdAt"`
	DisabledAt   time.Time `json:"disabledAt"`
}

func (c *oauthClientRow) secret() string { return c.Secret }
func (c *oauthClientRow) another() string {
	sentence := "make another with `hiregate oauth-client reset " + terminal.Printable(c.ID) + "`"
	if c.Secrets > 1 {
		sentence += ", which ends the one that the application has now"
	}
	return sentence
}

func oauthClientList(a *Client) *cobra.Command {
	return listing(a, &pages{path: "/v1/oauth-clients"}, &cobra.Command{
		Use:   "list",
		Short: "Lists the applications, those that are disabled among them",
		Args:  terminal.Exactly(0, "oauth-client list takes flags only"),
	}, []string{"id", "name", "algorithm", "secrets", "created", "disabled"}, func(c *oauthClientRow) []any {
		return []any{c.ID, c.Name, c.Algorithm, c.Secrets, c.CreatedAt, c.DisabledAt}
	})
}

func oauthClientAdd(a *Client) *cobra.Command {
	var in struct {
		ID                     string   `json:"id"`
		Name                   string   `json:"name"`
		RedirectURIs           []string `json:"redirectUris"`
		PostLogoutRedirectURIs []string `json:"postLogoutRedirectUris"`
		Algorithm              string   `json:"algorithm,omitempty"`
		SecretPost             bool     `json:"secretPost"`
		RequirePKCE            bool     `json:"requirePkce"`
		Consent                bool     `json:"consent"`
	}
	cmd := &cobra.Command{
		Use:   "add ID",
		Short: "Makes an OAuth client, and shows its secret this once",
		Args: terminal.Exactly(1, "oauth-client add takes one client id, such as: hiregate oauth-client add payroll "+
			"--name Payroll --redirect-uri https://payroll.example.com/callback"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.ID = args[0]
			if in.Name == "" {
				in.Name = in.ID
			}
			if len(in.RedirectURIs) == 0 {
				return errNoRedirect
			}
			if in.PostLogoutRedirectURIs == nil {
				in.PostLogoutRedirectURIs = []string{}
			}
			return secretMade(cmd, a, "/v1/oauth-clients", in)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&in.Name, "name", "", "what people know the application as (default: its id)")
	fl.StringArrayVar(&in.RedirectURIs, "redirect-uri", nil,
		"where people are sent after signing in; repeat it for further ones")
	fl.StringArrayVar(&in.PostLogoutRedirectURIs, "post-logout-redirect-uri", nil,
		"where people may be sent after signing out; repeat it for further ones")
	fl.StringVar(&in.Algorithm, "algorithm", "", "what its ID tokens are signed with: RS256 (default) or ES256")
	fl.BoolVar(&in.SecretPost, "secret-post", false, "it may send its secret in the body as well")
	fl.BoolVar(&in.RequirePKCE, "require-pkce", false, "it must use PKCE")
	fl.BoolVar(&in.Consent, "consent", false, "people are asked before it learns who they are")
	return cmd
}

// secretMade asks for something that answers with a secret, and prints that, alone.
func secretMade(cmd *cobra.Command, a *Client, path string, in any) error {
	ctx, stop := terminal.Interruptible(cmd)
	defer stop()
	var c oauthClientRow
	if shown, err := a.reveal(ctx, cmd, path, in, &c); shown || err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "It is the secret of %s, and is not shown again.", terminal.Printable(c.ID))
	if c.Secrets > 1 {
		fmt.Fprintf(cmd.ErrOrStderr(), " The one before stays good until: hiregate oauth-client reset %s --end-former",
			terminal.Printable(c.ID))
	}
	fmt.Fprintln(cmd.ErrOrStderr())
	return nil
}

func oauthClientDisable(a *Client) *cobra.Command {
	return deletion(a, at("/v1/oauth-clients/%s"), "is disabled", &cobra.Command{
		Use:   "disable ID",
		Short: "Disables an application, and revokes what was issued to it",
		Args:  terminal.Exactly(1, "oauth-client disable takes the id of one client, as hiregate oauth-client list shows it"),
	})
}

func oauthClientReset(a *Client) *cobra.Command {
	var endFormer bool
	cmd := &cobra.Command{
		Use:   "reset ID",
		Short: "Makes another secret, beside the newest one that there is",
		Long: `Makes another secret of an OAuth client, and shows it this once. The newest one that there was stays good beside it, so that
the application can be given the new one meanwhile; --end-former then ends it. A client that was disabled may ask again, with
the new secret alone.`,
		Args: terminal.Exactly(1, "oauth-client reset takes the id of one client, as hiregate oauth-client list shows it"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path := "/v1/oauth-clients/" + terminal.PathSegment(args[0])
			if !endFormer {
				return secretMade(cmd, a, path+"/reset", map[string]string{})
			}
			if a.json {
				return errors.New("--end-former shows nothing: leave --json out")
			}
			if err := a.Call(ctx, http.MethodDelete, path+"/former-secrets", nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the newest secret of %s is the only one\n", terminal.Printable(args[0]))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&endFormer, "end-former", false, "end all secrets but the newest, instead of making one")
	return cmd
}

var errNoRedirect = errors.New("say where people are sent after signing in, as the application names it: " +
	"--redirect-uri https://app.example.com/callback")
