package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

func exportStrays(a *Client) *cobra.Command {
	var end, yes bool
	cmd := &cobra.Command{
		Use:   "strays",
		Short: "Lists the open workflows of exports that the database lacks, or ends them",
		Long: `Lists the open workflows of exports that the database lacks, and when they were started. They are
left when an older backup of the database is restored, and wait in Temporal until their time ends.
Workflows of the last minute are left out, and counted.

With --end they are terminated. Their exports are lost to this gateway, unless a newer backup is
restored: ask their services for them first. What the database has of a group of exports goes on.`,
		Example: `  hiregate export strays
  hiregate export strays --end`,
		Args: terminal.Exactly(0, "export strays takes flags only: --end ends what it lists"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			if !end {
				return a.listStrays(ctx, cmd)
			}
			if !yes {
				if !terminal.Attended(cmd) {
					return errors.New("what is ended can't be had back: look at it with hiregate export strays, and add " +
						"--yes to end it")
				}
				if err := a.confirm(ctx, cmd, "End the workflows that hiregate export strays lists?"); err != nil {
					return err
				}
			}
			return a.endStrays(ctx, cmd)
		}),
	}
	cmd.Flags().BoolVar(&end, "end", false, "terminate them, for good")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --end: do so without asking")
	return cmd
}

func (a *Client) listStrays(ctx context.Context, cmd *cobra.Command) error {
	var s api.Strays
	if shown, err := a.ask(ctx, cmd, http.MethodGet, "/v1/strays", nil, &s); shown || err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	switch {
	case s.Count > 0:
		table := terminal.NewTable(w, "workflow", "started")
		for _, one := range s.Items {
			table.Row(one.Workflow, one.StartedAt)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	case s.Young == 0 && !s.More:
		fmt.Fprintln(w, "Each open workflow has its exports in the database.")
	case s.Looked == 0:
		fmt.Fprintln(w, "No open workflow was compared.")
	default:
		fmt.Fprintf(w, "Each of the %d open workflows that were compared has its exports in the database.\n", s.Looked)
	}
	if s.Count > len(s.Items) {
		fmt.Fprintf(w, "and %d more\n", s.Count-len(s.Items))
	}
	return sayLeftOut(cmd, s.Young, s.More)
}

func (a *Client) endStrays(ctx context.Context, cmd *cobra.Command) error {
	var res api.EndedStrays
	if shown, err := a.ask(ctx, cmd, http.MethodPost, "/v1/strays/end", nil, &res); shown || err != nil {
		return err
	}
	if res.Ended == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "There was nothing to end: each open workflow that was compared has its exports in the "+
			"database.")
	} else {
		fmt.Fprintf(cmd.OutOrStdout(), "Workflows that were ended: %d\n", res.Ended)
	}
	return sayLeftOut(cmd, res.Young, res.More)
}

// sayLeftOut says how many open workflows were not compared with the database, as they are younger than a minute, and
// whether there are more than that.
func sayLeftOut(cmd *cobra.Command, young int, more bool) error {
	if young > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "Open workflows that were not compared, as they are younger than a minute: %d. Look "+
			"again in a minute.\n", young)
	}
	if more {
		fmt.Fprintln(cmd.ErrOrStderr(), "There are older open workflows, which were not compared: look again once these have "+
			"ended.")
	}
	return nil
}
