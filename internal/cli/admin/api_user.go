package admin

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// APIUser returns the command `hiregate api-user`.
func APIUser() *cobra.Command {
	return group(&cobra.Command{
		Use:   "api-user",
		Short: "Lists, shows, sets, disables and enables the partners that apply for jobs",
		Long: `Lists, shows, makes, disables and enables the partners that apply for jobs of a tenant, through a
running gateway's Apply API, which the directive apply_api serves; and gives them other passwords.`,
		Example: `  hiregate api-user set initech/partner@example.com
  hiregate api-user list initech
  hiregate api-user set initech/partner@example.com --password-file -     # another password
  hiregate api-user disable initech/partner@example.com
  hiregate api-user enable initech/partner@example.com`,
	}, apiUsers.list, apiUsers.show, apiUserSet, apiUsers.disable, apiUserEnable)
}

var apiUsers = noun[api.APIUser]{
	kind: kind{command: "api-user", word: "API user", at: "api-users", arg: "TENANT/USERNAME|ID",
		example: "initech/partner@example.com", id: "userName", email: "userName"},
	listHelp:   help{short: "Lists the users of a tenant, those who are disabled among them"},
	showHelp:   help{short: "Shows a user of the Apply API"},
	removeHelp: help{short: "Keeps a user out, and ends their tokens"},
	removed:    "is disabled",
	columns:    []string{"user name", "id", "created", "disabled"},
	fields: func(u *api.APIUser) []field {
		return []field{
			{"user name", u.UserName},
			{"id", terminal.ID(u.ID)},
			{"tenant", u.Tenant},
			{"created", u.CreatedAt},
			{"disabled", u.DisabledAt},
		}
	},
}

func apiUserSet(a *Client) *cobra.Command {
	var password passwordFlags
	cmd := &cobra.Command{
		Use:   "set " + apiUsers.arg,
		Short: "Makes a user of the Apply API, or gives one another password",
		Long: `Makes a user of the Apply API, who may apply for the jobs of one tenant. The user name is an
e-mail address. Without --password-file a password is made and shown this once: the gateway keeps
only its hash.

A user who exists gets another password, with --password-file or --new-password, and all tokens
that were issued to them end. One who is disabled stays so.`,
		Args: apiUsers.one("set"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := password.account(ctx, a, &apiUsers.kind, args[0])
			if err != nil {
				return err
			}
			var in api.APIUserInput
			if in.Password, err = password.read(cmd.InOrStdin()); err != nil {
				return err
			}
			if path != "" {
				return apiUserMade(ctx, cmd, a, path+"/reset", in.PasswordInput, "has another password, and needs a new token")
			}
			if path, in.UserName, err = apiUsers.split(args[0]); err != nil {
				return err
			}
			return apiUserMade(ctx, cmd, a, path, in, "may apply")
		}),
	}
	password.add(cmd)
	return cmd
}

// apiUserMade asks for a user who may get a new password.
func apiUserMade(ctx context.Context, cmd *cobra.Command, a *Client, path string, in any, done string) error {
	var u api.APIUser
	whose := func() string { return terminal.Printable(u.Tenant + "/" + u.UserName) }
	shown, err := a.reveal(ctx, cmd, path, in, &u, func() (password, replace string) {
		return u.Password, "make another with `hiregate api-user set " + whose() + " --new-password`"
	})
	if shown || err != nil {
		return err
	}
	sayPassword(cmd, u.Password, whose(), done)
	if !u.DisabledAt.IsZero() {
		fmt.Fprintf(cmd.ErrOrStderr(), "They are disabled: hiregate api-user enable %s lets them in.\n", whose())
	}
	return nil
}

func apiUserEnable(a *Client) *cobra.Command {
	return apiUsers.verb(a, &cobra.Command{
		Use:   "enable",
		Short: "Lets a user in again, with the password they have",
	}, func(ctx context.Context, cmd *cobra.Command, path string, _ []string) error {
		return apiUserMade(ctx, cmd, a, path+"/enable", nil, "may apply, once they have a new token")
	})
}
