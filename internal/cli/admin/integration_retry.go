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
		Long: `Attempts all exports at once that wait for their next attempt at an integration: after its partner was
repaired. The oldest are first, and no more are under way than the integration's in_flight says. It
ends early where the integration still takes nothing. What is held or in quarantine waits on.

After an outage that happens by itself with the first export that is received; not so with exports
that the partner refused because of their data (422).

It exits with 1 if exports failed again.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var c api.Retry
		path += "/retry"
		if err := a.Call(ctx, http.MethodPost, path, nil, &c); err != nil {
			return err
		}
		waited := c.Waiting
		if !detach && waited > 0 {
			if err := a.countDown(ctx, cmd.ErrOrStderr(), path, &c); err != nil {
				return err
			}
		}
		if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &c); err != nil {
			return err
		} else if !shown {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", args[0], caughtUp(&c, waited))
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
func caughtUp(c *api.Retry, waited int64) string {
	switch {
	case waited == 0:
		return "no export waits for its next attempt"
	case c.State == "running":
		return fmt.Sprintf("%d exports are attempted now; %d still wait", waited, c.Waiting)
	}
	text := fmt.Sprintf("%d of %d exports were received, %d failed again", c.Received, waited, c.Failed)
	if c.Reason != "" {
		text += fmt.Sprintf(", %d were not attempted: %s", c.Waiting, terminal.Printable(c.Reason))
	}
	return text
}

// countDown waits until all that waited was attempted. A person at the terminal sees how many still wait. An interrupt
// ends the wait, not the attempts.
func (a *Client) countDown(ctx context.Context, w io.Writer, path string, c *api.Retry) error {
	person := terminal.IsTerminal(os.Stderr)
	waited := c.Waiting
	count := func(end string) {
		if person {
			fmt.Fprintf(w, "\r\x1b[K%d of %d still wait%s", c.Waiting, waited, end)
		}
	}
	for c.State == "running" {
		count("")
		if !wait.For(ctx, followEvery) {
			return fmt.Errorf("they are attempted all the same; %d still wait", c.Waiting)
		}
		if err := a.Call(ctx, http.MethodGet, path, nil, c); err != nil && ctx.Err() == nil {
			return fmt.Errorf("they are attempted, but can't be counted: %w", err)
		}
	}
	count("\n")
	return nil
}
