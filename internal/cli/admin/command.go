package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// group completes a command that only has others below it, which share a client.
func group(cmd *cobra.Command, below ...func(*Client) *cobra.Command) *cobra.Command {
	a := new(Client)
	a.flags(cmd)
	var names []string
	for _, one := range below {
		c := one(a)
		a.takesTenant(c)
		c.RunE = a.judged(c.RunE)
		c.SilenceUsage = true // it would hide the sentence that says what is wrong
		c.ValidArgsFunction = a.complete
		a.completeFlags(c)
		cmd.AddCommand(c)
		names = append(names, c.Name())
	}
	cmd.Long = strings.TrimSpace(cmd.Long + "\n\nThese commands ask the gateway, at Caddy's admin endpoint or through its " +
		"management API.")
	cmd.SilenceUsage = true
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		has := "it has"
		if nearest := terminal.Nearest(args[0], names); nearest != "" {
			has = "did you mean " + nearest + "? It has"
		}
		return terminal.Usage(fmt.Errorf("hiregate %s has no command %q: %s %s", cmd.Name(), args[0], has,
			strings.Join(names, ", ")))
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	return cmd
}

// judged returns run with its errors marked as errors of the command line if no request was sent, or the gateway answered
// 400.
func (a *Client) judged(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		refused := new(Refusal)
		if !a.asked || errors.As(err, &refused) && refused.Status == http.StatusBadRequest {
			err = terminal.Usage(err)
		}
		return err
	}
}

// interruptible returns run with a context that an interrupt ends.
func interruptible(
	run func(ctx context.Context, cmd *cobra.Command, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := terminal.Interruptible(cmd)
		defer stop()
		return run(ctx, cmd, args)
	}
}

// tenantPath returns a path below a tenant; the segments are escaped.
func tenantPath(tenant string, segments ...string) string {
	path := "/v1/tenants/" + terminal.PathSegment(tenant)
	for _, segment := range segments {
		path += "/" + terminal.PathSegment(segment)
	}
	return path
}

// asking adds the flag --yes to a command that removes something for good, and returns the question whether to. A script
// is asked nothing.
func (a *Client) asking(cmd *cobra.Command) func(ctx context.Context, cmd *cobra.Command, what string) error {
	yes := cmd.Flags().Bool("yes", false, "remove it without asking")
	return func(ctx context.Context, cmd *cobra.Command, what string) error {
		if *yes || !terminal.Attended(cmd) {
			return nil
		}
		return a.confirm(ctx, cmd, fmt.Sprintf("Remove %s?", terminal.Printable(what)))
	}
}

// confirm asks the person at the terminal whether to do something that can't be undone. A request before it names the
// gateway that would do it.
func (a *Client) confirm(ctx context.Context, cmd *cobra.Command, question string) error {
	err := a.Call(ctx, http.MethodGet, "/v1/tenants?limit=1", nil, nil)
	if refused := new(Refusal); err != nil && !errors.As(err, &refused) {
		return err
	}
	return terminal.Confirm(ctx, cmd, question+" This can't be undone.")
}
