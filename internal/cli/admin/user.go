package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// User returns the command `hiregate user`.
func User() *cobra.Command {
	return group(&cobra.Command{
		Use:   "user",
		Short: "Lists, shows, sets and disables the people who sign in",
		Long: `Lists, shows, makes and disables the people who sign in at a running gateway, which the directive
signin serves; gives them another password or a second factor. A user is named by e-mail address
or by id.`,
		Example: `  hiregate user set ada@example.com --given-name Ada --family-name Lovelace --verified
  hiregate user list
  hiregate user set ada@example.com --password-file -     # another password
  hiregate user totp ada@example.com
  hiregate user groups ada@example.com staff payroll
  hiregate user recover ada@example.com       # a link to choose a password
  hiregate user unlink ada@example.com
  hiregate user end-sessions ada@example.com
  hiregate user disable ada@example.com`,
	}, users.list, users.show, userSet, users.disable, userGroups, userTOTP, userRecover, userUnlink, userEndSessions)
}

var users = noun[api.User]{
	kind:     kind{command: "user", at: "/v1/users", arg: "EMAIL|ID", example: "ada@example.com", id: "email", email: "email"},
	listHelp: help{short: "Lists the users, those who are disabled among them"},
	removeHelp: help{"Disables a user, and ends what they are signed in to",
		`Disables a user, and ends what they are signed in to. They stay in the list, since applications
know their id; user set --new-password lets them in again.`},
	removed: "is disabled",
	columns: []string{"id", "e-mail", "name", "created", "disabled", "totp"},
	fields: func(u *api.User) []field {
		return []field{
			{"id", u.ID},
			{"e-mail", terminal.ID(u.Email)},
			{"verified", yesOrNo(u.EmailVerified)},
			{"name", u.Name},
			{"changes password", yesOrNo(u.MustChange)},
			{"groups", strings.Join(slices.Concat(u.Groups, u.UpstreamGroups), ", ")},
			{"totp", u.TOTP},
			{"last sign-in", u.LastSignInAt},
			{"created", u.CreatedAt},
			{"disabled", u.DisabledAt},
		}
	},
}

func userSet(a *Client) *cobra.Command {
	var password passwordFlags
	var in api.UserInput
	cmd := &cobra.Command{
		Use:   "set " + users.arg,
		Short: "Makes a user, or gives one another password",
		Long: `Makes a user at an e-mail address. Without --password-file a password is made and shown this once:
the gateway keeps only its hash.

A user who exists gets another password, with --password-file or --new-password: what they are
signed in to ends, and one who was disabled may sign in again.`,
		Args: users.one("set"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) (err error) {
			path, err := password.account(ctx, a, &users.kind, args[0])
			if err != nil {
				return err
			}
			for _, flag := range []string{"name", "given-name", "family-name", "verified"} {
				if path != "" && cmd.Flags().Changed(flag) {
					return fmt.Errorf("--%s is for a new user, and there is a user %s: leave it out", flag,
						terminal.Printable(args[0]))
				}
			}
			if in.Password, err = password.read(cmd.InOrStdin()); err != nil {
				return err
			}
			if path != "" {
				return userMade(ctx, cmd, a, path+"/reset", in.UserPasswordInput)
			}
			in.Email = args[0]
			if in.Name == "" {
				in.Name = joined(in.GivenName, in.FamilyName)
			}
			return userMade(ctx, cmd, a, users.at, in)
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&in.Name, "name", "", "full name (default: given and family name)")
	fl.StringVar(&in.GivenName, "given-name", "", "given name")
	fl.StringVar(&in.FamilyName, "family-name", "", "family name")
	fl.BoolVar(&in.EmailVerified, "verified", false, "the e-mail address is known to be theirs")
	fl.BoolVar(&in.MustChange, "change", false, "they choose another password at the next sign-in with it")
	password.add(cmd)
	return cmd
}

func joined(given, family string) string {
	if given == "" || family == "" {
		return given + family
	}
	return given + " " + family
}

// userMade asks for a user who may get a new password.
func userMade(ctx context.Context, cmd *cobra.Command, a *Client, path string, in any) error {
	var u api.User
	shown, err := a.reveal(ctx, cmd, path, in, &u, func() (password, replace string) {
		return u.Password, "make another with `hiregate user set " + terminal.Printable(u.ID) + " --new-password`"
	})
	if !shown && err == nil {
		sayPassword(cmd, u.Password, terminal.Printable(u.Email+" ("+u.ID+")"), "may sign in")
	}
	return err
}

func userGroups(a *Client) *cobra.Command {
	return users.verb(a, &cobra.Command{
		Use:   "groups [GROUP…]",
		Short: "Sets the groups of a user",
		Long: `Sets the groups of a user, in place of those that they have; none, where none is named. What
applications may be open to, and learn with the scope groups. Those of their company's provider
(provider/group) come from there.`,
		Args: cobra.MinimumNArgs(1),
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var stored api.User
		before, err := a.Send(ctx, http.MethodGet, path, nil, nil, &stored)
		if err != nil {
			return err
		}
		stored.Groups = args[1:]
		unchanged := http.Header{}
		if tag := before.Get("ETag"); tag != "" {
			unchanged.Set("If-Match", tag)
		}
		if shown, err := a.askWith(ctx, cmd, http.MethodPut, path, unchanged, stored.UserProfile, nil); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is in %d groups\n", terminal.Printable(args[0]), len(stored.Groups))
		return nil
	})
}

func userTOTP(a *Client) *cobra.Command {
	var off bool
	cmd := users.verb(a, &cobra.Command{
		Use:   "totp",
		Short: "Makes a user set up a second factor, or another one; or none, with --off",
		Long: `Makes a user set up a second factor at the next sign-in: a one-time password of an authenticator
app. One that is set up already is forgotten, for a telephone that was lost. Either way what they
are signed in to ends.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		method, said := http.MethodPost, "sets up a second factor at the next sign-in"
		if off {
			method, said = http.MethodDelete, "needs no second factor"
		}
		return a.do(ctx, cmd, method, path+"/totp", args[0]+" "+said)
	})
	cmd.Flags().BoolVar(&off, "off", false, "let them sign in without one")
	return cmd
}

func userRecover(a *Client) *cobra.Command {
	var in api.RecoveryInput
	cmd := users.verb(a, &cobra.Command{
		Use:   "recover",
		Short: "Makes a link with which a user who can't sign in chooses a password",
		Long: `Makes a link with which a user who can't sign in chooses a password: once, for 24 hours, and until
they get another password in another way. Whoever has the link can use it: pass it on by a safe way.
What they are signed in to ends when they do. Somebody who signs in at their company's provider
recovers their account there.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, _ []string) error {
		var made api.Recovery
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/recovery", in, &made); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\nIt works once, until %s.\n", made.URL,
			made.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"))
		return nil
	})
	cmd.Flags().BoolVar(&in.ResetTOTP, "reset-totp", false, "they set up another second factor as well, for a telephone that was lost")
	return cmd
}

func userUnlink(a *Client) *cobra.Command {
	return users.verb(a, &cobra.Command{
		Use:   "unlink",
		Short: "Unlinks a user's accounts at their company's provider",
		Long: `Unlinks a user's accounts at their company's provider (upstream_oidc), because they have a new one
or because the account belongs to another person, and ends what they are signed in to. The next
account that comes with their e-mail address, verified on both sides, is linked to them. To keep a
user out, disable them.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		return a.do(ctx, cmd, http.MethodDelete, path+"/upstream-accounts",
			args[0]+" is linked to no account at another provider any more")
	})
}

func userEndSessions(a *Client) *cobra.Command {
	return users.verb(a, &cobra.Command{
		Use:   "end-sessions",
		Short: "Ends what a user is signed in to",
		Long: `Ends what a user is signed in to, in every browser, and what applications were granted. They may
sign in again. To keep a user out, disable them.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		return a.do(ctx, cmd, http.MethodDelete, path+"/sessions", args[0]+" is signed in nowhere any more")
	})
}
