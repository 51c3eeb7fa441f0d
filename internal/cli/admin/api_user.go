package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// APIUser returns the command `hiregate api-user`.
func APIUser() *cobra.Command {
	return group(&cobra.Command{
		Use:   "api-user",
		Short: "Lists, adds, disables and enables the partners that apply for jobs",
		Long: `Lists, adds, disables and enables the partners that apply for jobs of a tenant, through a running gateway's Apply API, which the
directive apply_api serves; and gives them other passwords.

These commands ask the gateway, at Caddy's admin endpoint.`,
		Example: `  hiregate api-user add initech/partner@example.com
  hiregate api-user list initech
  hiregate api-user passwd initech/partner@example.com --password-file -
  hiregate api-user disable initech/partner@example.com
  hiregate api-user enable initech/partner@example.com`,
	}, apiUserList, apiUserAdd, apiUserPasswd, apiUserDisable, apiUserEnable)
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
	return "make another with `hiregate api-user passwd " + u.whose() + "`"
}

func apiUserList(a *Client) *cobra.Command {
	return listing(a, pagesOf("api-users"), &cobra.Command{
		Use:   "list TENANT",
		Short: "Lists the users of a tenant, those who are disabled among them",
		Args:  terminal.Exactly(1, "api-user list takes one tenant, such as: hiregate api-user list initech"),
	}, []string{"user name", "id", "created", "disabled"}, func(u *apiUserRow) []any {
		return []any{u.UserName, u.ID, u.CreatedAt, u.DisabledAt}
	})
}

// apiUserOf reads TENANT/USERNAME.
func apiUserOf(arg string) (tenant, name string, err error) {
	return cutTenant(arg, "whose partner is it? write it as TENANT/USERNAME, such as initech/partner@example.com")
}

// findAPIUser finds the path of TENANT/USERNAME in the management API.
func findAPIUser(ctx context.Context, a *Client, arg string) (path string, err error) {
	tenant, name, err := apiUserOf(arg)
	if err != nil {
		return "", err
	}
	var page struct{ Items []apiUserRow }
	if err := a.Call(ctx, http.MethodGet, tenantPath(tenant, "api-users")+"?userName="+url.QueryEscape(name), nil,
		&page); err != nil {
		return "", err
	}
	if len(page.Items) == 0 {
		return "", fmt.Errorf("tenant %s has no API user %s: hiregate api-user list %s shows those it has", tenant,
			terminal.Printable(name), tenant)
	}
	return tenantPath(tenant, "api-users", page.Items[0].ID), nil
}

func apiUserAdd(a *Client) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "add TENANT/USERNAME",
		Short: "Makes a user of the Apply API",
		Long: `Makes a user of the Apply API, who may apply for the jobs of one tenant. The user name is an e-mail address. Without
--password-file a password is made and shown this once: the gateway keeps a hash of it alone.`,
		Args: terminal.Exactly(1, "api-user add takes one user, such as: hiregate api-user add initech/partner@example.com"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, name, err := apiUserOf(args[0])
			if err != nil {
				return err
			}
			in := map[string]string{"userName": name}
			if in["password"], err = readPassword(cmd.InOrStdin(), file); err != nil {
				return err
			}
			return apiUserMade(ctx, cmd, a, tenantPath(tenant, "api-users"), in, "may apply")
		}),
	}
	cmd.Flags().StringVar(&file, "password-file", "", passwordFlag)
	return cmd
}

func apiUserPasswd(a *Client) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "passwd TENANT/USERNAME",
		Short: "Gives a user another password, and ends their tokens",
		Long: `Gives a user of the Apply API another password, and ends all tokens that were issued to them. One who is disabled stays so.
Without --password-file a password is made and shown this once.`,
		Args: terminal.Exactly(1, "api-user passwd takes one user, such as: hiregate api-user passwd "+
			"initech/partner@example.com"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) (err error) {
			in := map[string]string{}
			if in["password"], err = readPassword(cmd.InOrStdin(), file); err != nil {
				return err
			}
			path, err := findAPIUser(ctx, a, args[0])
			if err != nil {
				return err
			}
			return apiUserMade(ctx, cmd, a, path+"/reset", in, "has another password, and needs a new token")
		}),
	}
	cmd.Flags().StringVar(&file, "password-file", "", passwordFlag)
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
		Use:   "disable TENANT/USERNAME",
		Short: "Keeps a user out, and ends their tokens",
		Args: terminal.Exactly(1, "api-user disable takes one user, such as: hiregate api-user disable "+
			"initech/partner@example.com"),
	})
}

func apiUserEnable(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "enable TENANT/USERNAME",
		Short: "Lets a user in again, with the password they have",
		Args: terminal.Exactly(1, "api-user enable takes one user, such as: hiregate api-user enable "+
			"initech/partner@example.com"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := findAPIUser(ctx, a, args[0])
			if err != nil {
				return err
			}
			return apiUserMade(ctx, cmd, a, path+"/enable", nil, "may apply, once they have a new token")
		}),
	}
}
