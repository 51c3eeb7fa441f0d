package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// OAuthClient returns the command `hiregate oauth-client`.
func OAuthClient() *cobra.Command {
	return group(&cobra.Command{
		Use:   "oauth-client",
		Short: "Lists, shows, sets and disables the applications that people sign in to",
		Long: `Lists, shows, makes, changes and disables the applications that people sign in to at a running
gateway, which the directive signin serves, and renews their secrets.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate oauth-client set payroll --name Payroll --redirect-uri https://payroll.example.com/callback
  hiregate oauth-client list
  hiregate oauth-client set payroll --new-secret   # a second secret; the first one stays good
  hiregate oauth-client set payroll --end-former   # and, when it is in use, the end of the first one
  hiregate oauth-client disable payroll`,
	}, oauthClientList, oauthClientShow, oauthClientSet, oauthClientDisable, oauthClientRefusals)
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

	PostLogoutRedirectURIs []string `json:"postLogoutRedirectUris"`
	SecretPost             bool     `json:"secretPost"`
	RequirePKCE            bool     `json:"requirePkce"`
	Consent                bool     `json:"consent"`
}

func (c *oauthClientRow) secret() string { return c.Secret }
func (c *oauthClientRow) another() string {
	sentence := "make another with `hiregate oauth-client set " + terminal.Printable(c.ID) + " --new-secret`"
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

// refusalRow is what is shown of an authorization request that was refused.
type refusalRow struct {
	Client      string    `json:"client"`
	Known       bool      `json:"known"`
	Reason      string    `json:"reason"`
	RedirectURI string    `json:"redirectUri"`
	Count       int       `json:"count"`
	LastAt      time.Time `json:"lastAt"`
}

func oauthClientRefusals(a *Client) *cobra.Command {
	return listing(a, &pages{path: "/v1/sign-in-refusals"}, &cobra.Command{
		Use:   "refusals",
		Short: "Lists the sign-ins that were refused, since their client or redirect URI is not known",
		Long: `Lists the authorization requests that were refused in the last 90 days, the latest first: of a
client that is unknown or disabled, or with a redirect URI that is not byte for byte one of the
client's. Each kind is listed once, with its number.`,
		Args: terminal.Exactly(0, "oauth-client refusals takes flags only"),
	}, []string{"last", "client", "reason", "redirect uri", "count"}, func(r *refusalRow) []any {
		return []any{r.LastAt, terminal.ID(r.Client), terminal.Reason(r.sentence()), r.RedirectURI, r.Count}
	})
}

// sentence says in words why it was refused.
func (r *refusalRow) sentence() string {
	return strings.ReplaceAll(strings.ReplaceAll(r.Reason, "_", " "), "redirect uri", "redirect URI")
}

func oauthClientShow(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "show CLIENT",
		Short: "Shows an application, without its secrets",
		Args:  terminal.Exactly(1, "oauth-client show takes one client id, such as: hiregate oauth-client show payroll"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			var c oauthClientRow
			path := "/v1/oauth-clients/" + terminal.PathSegment(args[0])
			if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &c); shown || err != nil {
				return err
			}
			table := terminal.NewTable(cmd.OutOrStdout())
			table.Row("id", c.ID)
			table.Row("name", c.Name)
			for _, uri := range c.RedirectURIs {
				table.Row("redirect URI", uri)
			}
			for _, uri := range c.PostLogoutRedirectURIs {
				table.Row("post-logout redirect URI", uri)
			}
			table.Row("algorithm", c.Algorithm)
			table.Row("secret in the body", c.SecretPost)
			table.Row("PKCE required", c.RequirePKCE)
			table.Row("consent", c.Consent)
			table.Row("secrets", c.Secrets)
			table.Row("created", c.CreatedAt)
			table.Row("disabled", c.DisabledAt)
			return table.Flush()
		}),
	}
}

// oauthClientSettings are those that can be changed.
type oauthClientSettings struct {
	Name                   string   `json:"name"`
	RedirectURIs           []string `json:"redirectUris"`
	PostLogoutRedirectURIs []string `json:"postLogoutRedirectUris"`
	Algorithm              string   `json:"algorithm,omitempty"`
	SecretPost             bool     `json:"secretPost"`
	RequirePKCE            bool     `json:"requirePkce"`
	Consent                bool     `json:"consent"`
}

// change puts the settings of those flags that are given into the place of the others.
func (in *oauthClientSettings) change(before *oauthClientSettings, changed func(flag string) bool) {
	keep := func(flag string, keep func()) {
		if !changed(flag) {
			keep()
		}
	}
	keep("name", func() { in.Name = before.Name })
	keep("redirect-uri", func() { in.RedirectURIs = before.RedirectURIs })
	keep("post-logout-redirect-uri", func() { in.PostLogoutRedirectURIs = before.PostLogoutRedirectURIs })
	keep("algorithm", func() { in.Algorithm = before.Algorithm })
	keep("secret-post", func() { in.SecretPost = before.SecretPost })
	keep("require-pkce", func() { in.RequirePKCE = before.RequirePKCE })
	keep("consent", func() { in.Consent = before.Consent })
}

func oauthClientSet(a *Client) *cobra.Command {
	var in oauthClientSettings
	var renew, endFormer bool
	cmd := &cobra.Command{
		Use:   "set CLIENT",
		Short: "Makes an OAuth client, or changes what the flags name of one",
		Long: `Makes an OAuth client, and shows its secret this once; or changes what the flags name of one, and
all else of it stays.

--new-secret makes another secret of a client. The newest one that there was stays good beside it,
so that the application can be given the new one meanwhile; --end-former then ends it. A client
that was disabled may ask again, with the new secret alone.`,
		Args: terminal.Exactly(1, "oauth-client set takes one client id, such as: hiregate oauth-client set payroll "+
			"--name Payroll --redirect-uri https://payroll.example.com/callback"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path := "/v1/oauth-clients/" + terminal.PathSegment(args[0])
			switch {
			case renew && endFormer:
				return errors.New("--new-secret and --end-former are two steps: the application needs the new secret in " +
					"between")
			case renew:
				return secretMade(ctx, cmd, a, path+"/reset", map[string]string{})
			case endFormer && a.json:
				return errors.New("--end-former shows nothing: leave --json out")
			case endFormer:
				if err := a.Call(ctx, http.MethodDelete, path+"/former-secrets", nil, nil); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "the newest secret of %s is the only one\n", terminal.Printable(args[0]))
				return nil
			}
			var before oauthClientSettings
			header, err := a.Send(ctx, http.MethodGet, path, nil, nil, &before)
			if refused := new(Refusal); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
				return oauthClientMade(ctx, cmd, a, args[0], in)
			}
			if err != nil {
				return err
			}
			in.change(&before, cmd.Flags().Changed)
			var answer json.RawMessage
			unchanged := http.Header{"If-Match": {header.Get("ETag")}}
			if _, err := a.Send(ctx, http.MethodPut, path, unchanged, in, &answer); err != nil {
				return err
			}
			if a.json {
				return terminal.WriteJSON(cmd.OutOrStdout(), answer)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is set\n", terminal.Printable(args[0]))
			return nil
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&in.Name, "name", "", "what people know the application as (default of a new one: its id)")
	fl.StringArrayVar(&in.RedirectURIs, "redirect-uri", nil,
		"where people are sent after signing in; repeat it for further ones")
	fl.StringArrayVar(&in.PostLogoutRedirectURIs, "post-logout-redirect-uri", nil,
		"where people may be sent after signing out; repeat it for further ones")
	fl.StringVar(&in.Algorithm, "algorithm", "", "what its ID tokens are signed with: RS256 (default) or ES256")
	fl.BoolVar(&in.SecretPost, "secret-post", false, "it may send its secret in the body as well")
	fl.BoolVar(&in.RequirePKCE, "require-pkce", false, "it must use PKCE")
	fl.BoolVar(&in.Consent, "consent", false, "people are asked before it learns who they are")
	fl.BoolVar(&renew, "new-secret", false, "make another secret, and show it this once")
	fl.BoolVar(&endFormer, "end-former", false, "end all secrets but the newest")
	return cmd
}

// oauthClientMade makes an application.
func oauthClientMade(ctx context.Context, cmd *cobra.Command, a *Client, id string, in oauthClientSettings) error {
	in.Name = cmp.Or(in.Name, id)
	if len(in.RedirectURIs) == 0 {
		return errNoRedirect
	}
	if in.PostLogoutRedirectURIs == nil {
		in.PostLogoutRedirectURIs = []string{}
	}
	return secretMade(ctx, cmd, a, "/v1/oauth-clients", struct {
		ID string `json:"id"`
		oauthClientSettings
	}{id, in})
}

// secretMade asks for something that answers with a secret, and prints that, alone.
func secretMade(ctx context.Context, cmd *cobra.Command, a *Client, path string, in any) error {
	var c oauthClientRow
	if shown, err := a.reveal(ctx, cmd, path, in, &c); shown || err != nil {
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

func oauthClientDisable(a *Client) *cobra.Command {
	return deletion(a, at("/v1/oauth-clients/%s"), "is disabled", &cobra.Command{
		Use:     "disable CLIENT",
		Aliases: []string{"remove"},
		Short:   "Disables an application, and revokes what was issued to it",
		Args:    terminal.Exactly(1, "oauth-client disable takes one client id, as hiregate oauth-client list shows it"),
	})
}

var errNoRedirect = errors.New("say where people are sent after signing in, as the application names it: " +
	"--redirect-uri https://app.example.com/callback")
