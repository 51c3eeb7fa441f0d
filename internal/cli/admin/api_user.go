package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// APIUser returns the command `hiregate api-user`.
func APIUser() *cobra.Command {
	return group(&cobra.Command{
		Use:   "api-user",
		Short: "Lists, shows, sets, disables and enables the partners that apply for jobs",
		Long: `Lists, shows, makes, disables and enables the partners that apply for jobs of a tenant, through a
running gateway's Apply API, which the directive apply_api serves; and gives them other passwords.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate api-user set initech/partner@example.com
  hiregate api-user list initech
  hiregate api-user set initech/partner@example.com --password-file -     # another password
  hiregate api-user disable initech/partner@example.com
  hiregate api-user enable initech/partner@example.com`,
	}, apiUserList, apiUserShow, apiUserSet, apiUserDisable, apiUserEnable)
}

// apiUserRow is what is shown of a user of the Apply API.
type apiUserRow struct {
	ID         string    `json:"id"`
	Tenant     string    `json:"tenant"`
	UserName   string    `json:"userName"`
	Password   string    `json:"password"`
	CreatedAt  time.Time `json:"createdAt"`
	DisabledAt time.Time `json:"disabledAt"`
}

func (u *apiUserRow) whose() string  { return terminal.Printable(u.Tenant + "/" + u.UserName) }
func (u *apiUserRow) secret() string { return u.Password }
func (u *apiUserRow) another() string {
	return "make another with `hiregate api-user set " + u.whose() + " --new-password`"
}

func apiUserList(a *Client) *cobra.Command {
	return listing(a, pagesOf("api-users"), &cobra.Command{
		Use:   "list TENANT",
		Short: "Lists the users of a tenant, those who are disabled among them",
		Args:  terminal.Exactly(1, "api-user list takes one tenant, such as: hiregate api-user list initech"),
	}, []string{"user name", "id", "created", "disabled"}, func(u *apiUserRow) []any {
		return []any{u.UserName, terminal.ID(u.ID), u.CreatedAt, u.DisabledAt}
	})
}

// oneAPIUser takes a user, by user name or id.
func oneAPIUser(verb string) cobra.PositionalArgs {
	return terminal.Exactly(1, "api-user "+verb+" takes one user, such as: hiregate api-user "+verb+
		" initech/partner@example.com")
}

// apiUserByName finds the user of TENANT/USERNAME; nil: there is none.
func apiUserByName(ctx context.Context, a *Client, arg string) (u *apiUserRow, tenant, name string, err error) {
	tenant, name, err = cutTenant(arg,
		"whose partner is it? write it as TENANT/USERNAME, such as initech/partner@example.com")
	if err != nil {
		return nil, "", "", err
	}
	var page struct{ Items []apiUserRow }
	err = a.Call(ctx, http.MethodGet, tenantPath(tenant, "api-users")+"?userName="+url.QueryEscape(name), nil, &page)
	if err == nil && len(page.Items) > 0 {
		u = &page.Items[0]
	}
	return u, tenant, name, err
}

// findAPIUser gives the path of TENANT/USERNAME, or of TENANT/ID.
func findAPIUser(ctx context.Context, a *Client, arg string) (path string, err error) {
	u, tenant, name, err := apiUserByName(ctx, a, arg)
	switch {
	case err != nil:
		return "", err
	case u != nil:
		return tenantPath(tenant, "api-users", u.ID), nil
	case strings.Contains(name, "@"):
		return "", fmt.Errorf("tenant %s has no API user %s: hiregate api-user list %s shows those it has", tenant,
			terminal.Printable(name), tenant)
	}
	return tenantPath(tenant, "api-users", name), nil
}

func apiUserShow(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "show TENANT/USERNAME|ID",
		Short: "Shows a user of the Apply API",
		Args:  oneAPIUser("show"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := findAPIUser(ctx, a, args[0])
			if err != nil {
				return err
			}
			var u apiUserRow
			if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &u); shown || err != nil {
				return err
			}
			table := terminal.NewTable(cmd.OutOrStdout())
			table.Row("user name", u.UserName)
			table.Row("id", u.ID)
			table.Row("tenant", u.Tenant)
			table.Row("created", u.CreatedAt)
			table.Row("disabled", u.DisabledAt)
			return table.Flush()
		}),
	}
}

func apiUserSet(a *Client) *cobra.Command {
	var file string
	var another bool
	cmd := &cobra.Command{
		Use:   "set TENANT/USERNAME|ID",
		Short: "Makes a user of the Apply API, or gives one another password",
		Long: `Makes a user of the Apply API, who may apply for the jobs of one tenant. The user name is an
e-mail address. Without --password-file a password is made and shown this once: the gateway keeps
a hash of it alone.

A user who exists gets another password, with --password-file or --new-password, and all tokens
that were issued to them end. One who is disabled stays so.`,
		Args: oneAPIUser("set"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			u, tenant, name, err := apiUserByName(ctx, a, args[0])
			if err != nil {
				return err
			}
			exists := u != nil || !strings.Contains(name, "@")
			if exists && file == "" && !another {
				return fmt.Errorf("there is a user %s: --new-password or --password-file gives them another password",
					terminal.Printable(args[0]))
			}
			in := map[string]string{}
			if in["password"], err = readPassword(cmd.InOrStdin(), file); err != nil {
				return err
			}
			if !exists {
				in["userName"] = name
				return apiUserMade(ctx, cmd, a, tenantPath(tenant, "api-users"), in, "may apply")
			}
			id := name
			if u != nil {
				id = u.ID
			}
			return apiUserMade(ctx, cmd, a, tenantPath(tenant, "api-users", id)+"/reset", in,
				"has another password, and needs a new token")
		}),
	}
	cmd.Flags().StringVar(&file, "password-file", "", passwordFlag)
	cmd.Flags().BoolVar(&another, "new-password", false, "make another password for a user who exists")
	return cmd
}

// apiUserMade asks for something that may answer with a password.
func apiUserMade(ctx context.Context, cmd *cobra.Command, a *Client, path string, in any, done string) error {
	var u apiUserRow
	if shown, err := a.reveal(ctx, cmd, path, in, &u); shown || err != nil {
		return err
	}
	tellPassword(cmd, &u, u.whose(), done)
	if !u.DisabledAt.IsZero() {
		fmt.Fprintf(cmd.ErrOrStderr(), "They are disabled: hiregate api-user enable %s lets them in.\n", u.whose())
	}
	return nil
}

func apiUserDisable(a *Client) *cobra.Command {
	return deletion(a, findAPIUser, "is disabled", &cobra.Command{
		Use:     "disable TENANT/USERNAME|ID",
		Aliases: []string{"remove"},
		Short:   "Keeps a user out, and ends their tokens",
		Args:    oneAPIUser("disable"),
	})
}

func apiUserEnable(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "enable TENANT/USERNAME|ID",
		Short: "Lets a user in again, with the password they have",
		Args:  oneAPIUser("enable"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := findAPIUser(ctx, a, args[0])
			if err != nil {
				return err
			}
			return apiUserMade(ctx, cmd, a, path+"/enable", nil, "may apply, once they have a new token")
		}),
	}
}
