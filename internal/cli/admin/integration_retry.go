package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/wait"
)

func integrationRetry(a *Client) *cobra.Command {
	var detach bool
	cmd := integrations.verb(a, &cobra.Command{
		Use:   "retry",
		Short: "Attempts all exports at once that wait for their next attempt at an integration",
		Long: `Attempts all exports at once that wait for their next attempt at an integration: after its receiver was
repaired. The oldest is tried first. Once one is received the others follow, no more at a time than
the integration's in_flight says. It goes on after one that is refused for its data (400, 413, 415,
422), and ends where the fault is the receiver's. Attempts by hand use up no gap of the retry
schedule, and leave the planned ones. What is held or in quarantine waits on.

After an outage that happens by itself with the first export that is received; not so with exports
that the receiver refused because of their data (422).

It exits with 1 if exports failed again.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var c api.Retry
		path += "/retry"
		if err := a.Call(ctx, http.MethodPost, path, nil, &c); err != nil {
			return err
		}
		before := c
		if !detach && c.Waiting > 0 {
			if err := a.countDown(ctx, cmd.ErrOrStderr(), path, &c); err != nil {
				return err
			}
		}
		if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &c); err != nil {
			return err
		} else if !shown {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", args[0], caughtUp(&c, &before))
		}
		if c.Failed > 0 || c.Reason != "" {
			tenant, name, _ := strings.Cut(args[0], "/")
			return fmt.Errorf("exports failed again, or were not attempted: they keep their schedule; hiregate export "+
				"list --tenant %s --integration %s --outcome retrying lists them", tenant, name)
		}
		return nil
	})
	cmd.Flags().BoolVar(&detach, "detach", false, "don't wait until all were attempted")
	return cmd
}

// caughtUp says in a line what became of the exports that waited.
func caughtUp(c, before *api.Retry) string {
	switch {
	case before.Waiting == 0:
		return "no export waits for its next attempt"
	case c.State == "running":
		return fmt.Sprintf("%s exports are attempted now; %s still wait", waited(before), waited(c))
	}
	text := fmt.Sprintf("%d of %s exports were received, %d failed again", c.Received, waited(before), c.Failed)
	if c.Reason != "" {
		text += ": " + terminal.Printable(c.Reason)
	}
	return text
}

// waited returns how many exports wait, with a plus where there are more.
func waited(c *api.Retry) string {
	if c.More {
		return fmt.Sprintf("%d+", c.Waiting)
	}
	return fmt.Sprint(c.Waiting)
}

// countDown waits until all that waited was attempted. A person at the terminal sees how many still wait. An interrupt
// ends the wait, not the attempts.
func (a *Client) countDown(ctx context.Context, w io.Writer, path string, c *api.Retry) error {
	person := terminal.IsTerminal(os.Stderr)
	before := waited(c)
	count := func(end string) {
		if person {
			fmt.Fprintf(w, "\r\x1b[K%s of %s still wait%s", waited(c), before, end)
		}
	}
	for c.State == "running" {
		count("")
		if !wait.For(ctx, followEvery) {
			return fmt.Errorf("they are attempted all the same; %s still wait", waited(c))
		}
		if err := a.Call(ctx, http.MethodGet, path, nil, c); err != nil && ctx.Err() == nil {
			return fmt.Errorf("they are attempted, but can't be counted: %w", err)
		}
	}
	count("\n")
	return nil
}
