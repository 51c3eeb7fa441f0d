package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// group completes a command that only has others, which ask the gateway through one client.
func group(cmd *cobra.Command, below ...func(*Client) *cobra.Command) *cobra.Command {
	a := new(Client)
	a.flags(cmd)
	var commands []*cobra.Command
	for _, one := range below {
		commands = append(commands, one(a))
	}
	cmd.SilenceUsage = true
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, one := range commands {
			names = append(names, one.Name())
		}
		return fmt.Errorf("hiregate %s %q is unknown: there are %s", cmd.Name(), args[0], strings.Join(names, ", "))
	}
	cmd.AddCommand(commands...)
	for _, one := range append(commands, cmd) {
		one.SilenceUsage = true // it would hide the sentence that says what is wrong
		one.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
			path := cmd.Name()
			if c.Name() != path {
				path += " " + c.Name()
			}
			return terminal.WrongFlag(err, path)
		})
	}
	return cmd
}

// find gives the path of what an argument names.
type find func(ctx context.Context, a *Client, arg string) (path string, err error)

// at finds what is named by its id, which takes the place of %s in the path.
func at(path string) find {
	return func(_ context.Context, _ *Client, id string) (string, error) {
		return fmt.Sprintf(path, terminal.PathSegment(id)), nil
	}
}

// deletion completes a command that deletes what its argument names. done says what that has come to, after the argument.
func deletion(a *Client, find find, done string, cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := terminal.Interruptible(cmd)
		defer stop()
		path, err := find(ctx, a, args[0])
		if err != nil {
			return err
		}
		if err := a.Call(ctx, http.MethodDelete, path, nil, nil); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(args[0]), done)
		return nil
	}
	return cmd
}
