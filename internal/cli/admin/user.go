package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// User returns the command `hiregate user`.
func User() *cobra.Command {
	return group(&cobra.Command{
		Use:   "user",
		Short: "Lists, shows, sets and disables the people who sign in",
		Long: `Lists, shows, makes and disables the people who sign in at a running gateway, which the directive
signin serves; gives them another password or a second factor. A user is named by e-mail address
or by id.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate user set ada@example.com --given-name Ada --family-name Lovelace --verified
  hiregate user list
  hiregate user set ada@example.com --password-file -     # another password
  hiregate user totp ada@example.com
  hiregate user unlink ada@example.com
  hiregate user disable ada@example.com`,
	}, userList, userShow, userSet, userDisable, userTOTP, userUnlink)
}

// userRow is what is shown of a user.
type userRow struct {
	ID            string    `json:"id"`
	Email         string    `json:"email"`
	EmailVerified bool      `json:"emailVerified"`
	Name          string    `json:"name"`
	Password      string    `json:"password"`
	CreatedAt     time.Time `json:"createdAt"`
	DisabledAt    time.Time `json:"disabledAt"`
	TOTP          string    `json:"totp"`
}

func (u *userRow) secret() string { return u.Password }
func (u *userRow) another() string {
	return "make another with `hiregate user set " + terminal.Printable(u.ID) + " --new-password`"
}

func userList(a *Client) *cobra.Command {
	return listing(a, &pages{path: "/v1/users"}, &cobra.Command{
		Use:   "list",
		Short: "Lists the users, those who are disabled among them",
		Args:  terminal.Exactly(0, "user list takes flags only"),
	}, []string{"id", "e-mail", "name", "created", "disabled", "totp"}, func(u *userRow) []any {
		return []any{u.ID, terminal.ID(u.Email), u.Name, u.CreatedAt, u.DisabledAt, u.TOTP}
	})
}

// passwordFlag is how a password comes in: never as a flag itself, which lists of processes show.
const passwordFlag = "file with the password; - is standard input (default: one is made, and shown this once)"

// readPassword reads a password from a file, or from standard input for "-". Without a file it is empty, and the
// gateway makes one.
func readPassword(in io.Reader, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	return terminal.ReadSecret(in, file)
}

// tellPassword says in a hint whose password was printed, or, when none was made, what was done.
func tellPassword(cmd *cobra.Command, r revealed, whose, done string) {
	if r.secret() == "" {
		fmt.Fprintln(cmd.OutOrStdout(), whose, done)
		return
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "It is the password of %s, and is not shown again.\n", whose)
}

// oneUser takes a user, by e-mail address or id.
func oneUser(verb string) cobra.PositionalArgs {
	return terminal.Exactly(1, "user "+verb+" takes one user, by e-mail address or id, such as: hiregate user "+verb+
		" ada@example.com")
}

// findUser gives the path of a user who is named by e-mail address or id.
func findUser(ctx context.Context, a *Client, arg string) (path string, err error) {
	u, err := userByEmail(ctx, a, arg)
	switch {
	case err != nil:
		return "", err
	case u != nil:
		arg = u.ID
	case strings.Contains(arg, "@"):
		return "", fmt.Errorf("there is no user %s: hiregate user list shows them", terminal.Printable(arg))
	}
	return "/v1/users/" + terminal.PathSegment(arg), nil
}

// userByEmail finds a user by e-mail address. It finds no one by an id.
func userByEmail(ctx context.Context, a *Client, arg string) (*userRow, error) {
	if !strings.Contains(arg, "@") {
		return nil, nil
	}
	var page struct{ Items []userRow }
	err := a.Call(ctx, http.MethodGet, "/v1/users?email="+url.QueryEscape(arg), nil, &page)
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}
	return &page.Items[0], nil
}

func userShow(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "show EMAIL|ID",
		Short: "Shows a user",
		Args:  oneUser("show"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := findUser(ctx, a, args[0])
			if err != nil {
				return err
			}
			var u userRow
			if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &u); shown || err != nil {
				return err
			}
			verified := "no"
			if u.EmailVerified {
				verified = "yes"
			}
			table := terminal.NewTable(cmd.OutOrStdout())
			table.Row("id", u.ID)
			table.Row("e-mail", u.Email)
			table.Row("verified", verified)
			table.Row("name", u.Name)
			table.Row("totp", u.TOTP)
			table.Row("created", u.CreatedAt)
			table.Row("disabled", u.DisabledAt)
			return table.Flush()
		}),
	}
}

func userSet(a *Client) *cobra.Command {
	var file string
	var another bool
	var in struct {
		Email         string `json:"email"`
		EmailVerified bool   `json:"emailVerified"`
		Name          string `json:"name"`
		GivenName     string `json:"givenName"`
		FamilyName    string `json:"familyName"`
		Password      string `json:"password,omitempty"`
	}
	cmd := &cobra.Command{
		Use:   "set EMAIL|ID",
		Short: "Makes a user, or gives one another password",
		Long: `Makes a user at an e-mail address. Without --password-file a password is made and shown this once:
the gateway keeps a hash of it alone.

A user who exists gets another password, with --password-file or --new-password: what they are
signed in to ends, and one who was disabled may sign in again.`,
		Args: oneUser("set"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) (err error) {
			before, err := userByEmail(ctx, a, args[0])
			if err != nil {
				return err
			}
			exists := before != nil || !strings.Contains(args[0], "@")
			if exists && file == "" && !another {
				return fmt.Errorf("there is a user %s: --new-password or --password-file gives them another password",
					terminal.Printable(args[0]))
			}
			for _, flag := range []string{"name", "given-name", "family-name", "verified"} {
				if exists && cmd.Flags().Changed(flag) {
					return fmt.Errorf("--%s is for a new user, and there is a user %s: leave it out", flag,
						terminal.Printable(args[0]))
				}
			}
			if in.Password, err = readPassword(cmd.InOrStdin(), file); err != nil {
				return err
			}
			if !exists {
				in.Email = args[0]
				if in.Name == "" {
					in.Name = joined(in.GivenName, in.FamilyName)
				}
				return userMade(ctx, cmd, a, "/v1/users", in)
			}
			id := args[0]
			if before != nil {
				id = before.ID
			}
			return userMade(ctx, cmd, a, "/v1/users/"+terminal.PathSegment(id)+"/reset",
				map[string]string{"password": in.Password})
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&in.Name, "name", "", "full name (default: given and family name)")
	fl.StringVar(&in.GivenName, "given-name", "", "given name")
	fl.StringVar(&in.FamilyName, "family-name", "", "family name")
	fl.BoolVar(&in.EmailVerified, "verified", false, "the e-mail address is known to be theirs")
	fl.StringVar(&file, "password-file", "", passwordFlag)
	fl.BoolVar(&another, "new-password", false, "make another password for a user who exists")
	return cmd
}

func joined(given, family string) string {
	if given == "" || family == "" {
		return given + family
	}
	return given + " " + family
}

// userMade asks for something that may answer with a password.
func userMade(ctx context.Context, cmd *cobra.Command, a *Client, path string, in any) error {
	var u userRow
	if shown, err := a.reveal(ctx, cmd, path, in, &u); shown || err != nil {
		return err
	}
	tellPassword(cmd, &u, fmt.Sprintf("%s (%s)", terminal.Printable(u.Email), terminal.Printable(u.ID)), "may sign in")
	return nil
}

func userDisable(a *Client) *cobra.Command {
	return deletion(a, findUser, "is disabled", &cobra.Command{
		Use:     "disable EMAIL|ID",
		Aliases: []string{"remove"},
		Short:   "Disables a user, and ends what they are signed in to",
		Long: `Disables a user, and ends what they are signed in to. They stay in the list, since applications
know their id; user set --new-password lets them in again.`,
		Args: oneUser("disable"),
	})
}

func userTOTP(a *Client) *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use:   "totp EMAIL|ID",
		Short: "Makes a user set up a second factor, or another one; or none, with --off",
		Long: `Makes a user set up a second factor at the next sign-in: a one-time password of an authenticator
app. One that is set up already is forgotten, for a telephone that was lost. Either way what they
are signed in to ends.`,
		Args: oneUser("totp"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			method, said := http.MethodPost, "sets up a second factor at the next sign-in"
			if off {
				method, said = http.MethodDelete, "needs no second factor"
			}
			path, err := findUser(ctx, a, args[0])
			if err != nil {
				return err
			}
			if err := a.Call(ctx, method, path+"/totp", nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", terminal.Printable(args[0]), said)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&off, "off", false, "let them sign in without one")
	return cmd
}

func findUpstream(ctx context.Context, a *Client, arg string) (string, error) {
	path, err := findUser(ctx, a, arg)
	return path + "/upstream-accounts", err
}

func userUnlink(a *Client) *cobra.Command {
	return deletion(a, findUpstream, "is linked to no account at another provider any more", &cobra.Command{
		Use:   "unlink EMAIL|ID",
		Short: "Unlinks a user's accounts at their company's provider",
		Long: `Unlinks a user's accounts at their company's provider (upstream_oidc), because they have a new one
or because the account belongs to another person, and ends what they are signed in to. The next
account that comes with their e-mail address, verified on both sides, is linked to them. To keep a
user out, disable them.`,
		Args: oneUser("unlink"),
	})
}
