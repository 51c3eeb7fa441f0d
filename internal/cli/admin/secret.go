package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// reveal asks for something new, which is read into into and may have a secret that no other answer shows. It prints the
// whole answer with --json, and then shown is true; else the secret, if there is one. secret returns the secret of what
// was read, and how to replace one that was not seen: the error says that where the secret could not be written.
func (a *Client) reveal(
	ctx context.Context, cmd *cobra.Command, path string, in, into any, secret func() (value, replace string),
) (shown bool, err error) {
	var raw json.RawMessage
	if err := a.Call(ctx, http.MethodPost, path, in, &raw); err != nil {
		return false, err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("reading what the gateway answered: %w", err)
	}
	value, replace := secret()
	switch {
	case a.json:
		err = terminal.WriteJSON(cmd.OutOrStdout(), raw)
	case value != "":
		_, err = fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(value))
	}
	if err != nil && value != "" {
		err = fmt.Errorf("it was made, but could not be written (%w), and is not shown again: %s", terminal.Cause(err),
			replace)
	}
	return a.json, err
}

// passwordFlags are the flags of a command that makes an account, or gives one another password. A password comes from a
// file: the flags of a command are in lists of processes.
type passwordFlags struct {
	file    string
	another bool
}

func (p *passwordFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.file, "password-file", "",
		"file with the password; - is standard input (default: one is made, and shown this once)")
	cmd.Flags().BoolVar(&p.another, "new-password", false, "make another password for a user who exists")
}

// account returns the path of the account that an argument names, to which the flags must give another password; empty:
// there is none, and the argument has the e-mail address of a new one.
func (p *passwordFlags) account(ctx context.Context, a *Client, k *kind, arg string) (path string, err error) {
	if p.file != "" && p.another {
		return "", errBothWays("new-password", "password-file")
	}
	ids, err := k.byEmail(ctx, a, arg)
	isNew := len(ids) == 0 && strings.Contains(arg, "@")
	switch {
	case err != nil:
		return "", err
	case isNew && p.another:
		return "", k.none(arg)
	case isNew:
		return "", nil
	case p.file == "" && !p.another && len(ids) == 0:
		return "", fmt.Errorf("%s is no e-mail address, which names a new user, such as %s: --new-password or --password-file "+
			"gives the user of this id another password", terminal.Printable(arg), k.example)
	case p.file == "" && !p.another:
		return "", fmt.Errorf("there is a user %s: --new-password or --password-file gives them another password",
			terminal.Printable(arg))
	}
	list, id, err := k.split(arg)
	if len(ids) > 0 {
		id = ids[0]
	}
	return list + "/" + terminal.PathSegment(id), err
}

// read reads the password. Without a file it is empty, and the gateway makes one.
func (p *passwordFlags) read(in io.Reader) (string, error) {
	if p.file == "" {
		return "", nil
	}
	return terminal.ReadSecret(in, p.file)
}

// sayPassword prints whose password was printed, or, when none was made, what was done.
func sayPassword(cmd *cobra.Command, password, whose, done string) {
	if password == "" {
		fmt.Fprintln(cmd.OutOrStdout(), whose, done)
		return
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "It is the password of %s, and is not shown again.\n", whose)
}

// readSecrets reads several secrets, each from a file of its own. It returns an empty slice, not nil, without files.
func readSecrets(in io.Reader, files []string) (secrets []string, err error) {
	secrets = []string{}
	for _, file := range files {
		secret, err := terminal.ReadSecret(in, file)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// errBothWays is the error of two flags of which the one sets what the other removes.
func errBothWays(set, remove string) error {
	return errors.New("--" + set + " and --" + remove + " exclude each other: leave one out")
}
