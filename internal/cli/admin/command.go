package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// group is a command that only has others.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
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

// at finds what is named by its id.
func at(path string) find {
	return func(_ context.Context, _ *Client, id string) (string, error) {
		return path + terminal.PathSegment(id), nil
	}
}

// disabling completes a command that disables what its argument names.
func disabling(a *Client, find find, cmd *cobra.Command) *cobra.Command {
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
		fmt.Fprintf(cmd.OutOrStdout(), "%s is disabled\n", terminal.Printable(args[0]))
		return nil
	}
	return cmd
}
