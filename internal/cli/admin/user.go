package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// User returns the command `hiregate user`.
func User() *cobra.Command {
	return group(&cobra.Command{
		Use:   "user",
		Short: "Lists, adds, disables and resets the people who sign in",
		Long: `Lists, adds, disables and resets the people who sign in at a running gateway, which the directive signin serves.

These commands ask the gateway, at Caddy's admin endpoint.`,
		Example: `  hiregate user add ada@example.com --given-name Ada --family-name Lovelace --verified
  hiregate user list
  hiregate user reset 0b9c3f52-6a0e-4d3c-8a53-7f2a4b0e1c11 --password-file -
  hiregate user totp 0b9c3f52-6a0e-4d3c-8a53-7f2a4b0e1c11
  hiregate user unlink 0b9c3f52-6a0e-4d3c-8a53-7f2a4b0e1c11
  hiregate user disable 0b9c3f52-6a0e-4d3c-8a53-7f2a4b0e1c11`,
	}, userList, userAdd, userDisable, userReset, userTOTP, userUnlink)
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
	return "make another with `hiregate user reset " + terminal.Printable(u.ID) + "`"
}

func userList(a *Client) *cobra.Command {
	return listing(a, &pages{path: "/v1/users"}, &cobra.Command{
		Use:   "list",
		Short: "Lists the users, those who are disabled among them",
		Args:  terminal.Exactly(0, "user list takes flags only"),
	}, []string{"id", "e-mail", "name", "created", "disabled", "totp"}, func(u *userRow) []any {
		return []any{u.ID, u.Email, u.Name, u.CreatedAt, u.DisabledAt, u.TOTP}
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

func userAdd(a *Client) *cobra.Command {
	var file string
	var in struct {
		Email         string `json:"email"`
		EmailVerified bool   `json:"emailVerified"`
		Name          string `json:"name"`
		GivenName     string `json:"givenName"`
		FamilyName    string `json:"familyName"`
		Password      string `json:"password,omitempty"`
	}
	cmd := &cobra.Command{
		Use:   "add EMAIL",
		Short: "Makes a user",
		Long:  `Makes a user. Without --password-file a password is made and shown this once: the gateway keeps a hash of it alone.`,
		Args:  terminal.Exactly(1, "user add takes one e-mail address, such as: hiregate user add ada@example.com"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in.Email = args[0]
			if in.Name == "" {
				in.Name = joined(in.GivenName, in.FamilyName)
			}
			if in.Password, err = readPassword(cmd.InOrStdin(), file); err != nil {
				return err
			}
			return userMade(cmd, a, "/v1/users", in)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&in.Name, "name", "", "full name (default: given and family name)")
	fl.StringVar(&in.GivenName, "given-name", "", "given name")
	fl.StringVar(&in.FamilyName, "family-name", "", "family name")
	fl.BoolVar(&in.EmailVerified, "verified", false, "the e-mail address is known to be theirs")
	fl.StringVar(&file, "password-file", "", passwordFlag)
	return cmd
}

func joined(given, family string) string {
	if given == "" || family == "" {
		return given + family
	}
	return given + " " + family
}

// userMade asks for something that may answer with a password.
func userMade(cmd *cobra.Command, a *Client, path string, in any) error {
	ctx, stop := terminal.Interruptible(cmd)
	defer stop()
	var u userRow
	if shown, err := a.reveal(ctx, cmd, path, in, &u); shown || err != nil {
		return err
	}
	tellPassword(cmd, &u, fmt.Sprintf("%s (%s)", terminal.Printable(u.Email), terminal.Printable(u.ID)), "may sign in")
	return nil
}

// userID takes the id of a user. An e-mail address is none: it may change hands.
func userID(command string) cobra.PositionalArgs {
	one := terminal.Exactly(1, "user "+command+" takes the id of one user, as hiregate user list shows it")
	return func(cmd *cobra.Command, args []string) error {
		if err := one(cmd, args); err != nil {
			return err
		}
		if strings.Contains(args[0], "@") {
			return fmt.Errorf("user %s takes an id, and %s is an e-mail address: hiregate user list --all "+
				"shows the id beside it", command, terminal.Printable(args[0]))
		}
		return nil
	}
}

func userDisable(a *Client) *cobra.Command {
	return deletion(a, at("/v1/users/%s"), "is disabled", &cobra.Command{
		Use:   "disable ID",
		Short: "Disables a user, and ends what they are signed in to",
		Args:  userID("disable"),
	})
}

func userReset(a *Client) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "reset ID",
		Short: "Gives a user another password, and ends what they are signed in to",
		Long: `Gives a user another password, and ends what they are signed in to; one who was disabled may sign in again. Without
--password-file a password is made and shown this once.`,
		Args: userID("reset"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in := map[string]string{}
			if in["password"], err = readPassword(cmd.InOrStdin(), file); err != nil {
				return err
			}
			return userMade(cmd, a, "/v1/users/"+terminal.PathSegment(args[0])+"/reset", in)
		},
	}
	cmd.Flags().StringVar(&file, "password-file", "", passwordFlag)
	return cmd
}

func userTOTP(a *Client) *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use:   "totp ID",
		Short: "Makes a user set up a second factor, or another one; or none, with --off",
		Long: `Makes a user set up a second factor at the next sign-in: a one-time password of an authenticator app. One that is set up already is
forgotten, for a telephone that was lost. Either way what they are signed in to ends.`,
		Args: userID("totp"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			method, said := http.MethodPost, "sets up a second factor at the next sign-in"
			if off {
				method, said = http.MethodDelete, "needs no second factor"
			}
			if err := a.Call(ctx, method, "/v1/users/"+terminal.PathSegment(args[0])+"/totp", nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", terminal.Printable(args[0]), said)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&off, "off", false, "let them sign in without one")
	return cmd
}

func userUnlink(a *Client) *cobra.Command {
	return deletion(a, at("/v1/users/%s/upstream-accounts"), "has no account at another provider any more", &cobra.Command{
		Use:   "unlink ID",
		Short: "Takes a user's accounts at their company's provider from them",
		Long: `Takes a user's accounts at their company's provider (upstream_oidc) from them, for one that is another now, or somebody else's, and ends
what they are signed in to. The next account that comes with their e-mail address, verified on both sides, is joined to them; to keep
somebody out, disable them.`,
		Args: userID("unlink"),
	})
}
