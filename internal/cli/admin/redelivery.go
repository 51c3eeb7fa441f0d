package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// Redelivery returns the command `hiregate redelivery`, which follows and steers the redeliveries of ranges.
func Redelivery() *cobra.Command {
	return group(&cobra.Command{
		Use:   "redelivery",
		Short: "Lists, shows, pauses, resumes and cancels redeliveries of ranges",
		Long: `Lists and shows the redeliveries that hiregate export redeliver --since begins, and pauses, resumes
and cancels them. They run in the gateway, also through restarts.`,
		Example: `  hiregate redelivery list
  hiregate redelivery pause acme/019d3c5e-7d6a-7b3f-9b0c-0c6f3f2b7a11`,
	}, redeliveries.list, redeliveries.show, redeliveryPause, redeliveryResume, redeliveryCancel)
}

var redeliveries = noun[api.Redelivery]{
	kind: kind{command: "redelivery", at: "redeliveries", all: true, arg: "TENANT/ID",
		example: "acme/019d3c5e-7d6a-7b3f-9b0c-0c6f3f2b7a11"},
	listHelp: help{short: "Lists the redeliveries of a tenant, or of all tenants, newest first"},
	filters:  []filter{labelFilter},
	showHelp: help{short: "Shows how far a redelivery is"},
	columns: []string{"redelivery", "integration", "mode", "begun", "state", "exports", "delivered", "failed",
		"on their way", "skipped"},
	fields: func(r *api.Redelivery) []field {
		return []field{
			{"redelivery", r.Tenant + "/" + r.ID},
			{"integration", terminal.ID(r.Integration)},
			{"exports", fmt.Sprintf("%d, mode %s, received from %s to %s", r.Total, r.Mode,
				r.Since.UTC().Format(time.RFC3339), r.Until.UTC().Format(time.RFC3339))},
			{"rate", fmt.Sprintf("%d a second at most", r.Rate)},
			{"state", terminal.State(r.State)},
			{"reason", r.Reason},
			{"so far", redelivered(r)},
			{"mode", inList{r.Mode}},
			{"begun", inList{r.CreatedAt}},
			{"exports", inList{r.Total}},
			{"delivered", inList{r.Done}},
			{"failed", inList{r.Failed}},
			{"on their way", inList{r.Waiting}},
			{"skipped", inList{r.Skipped}},
		}
	},
}

// redelivered says in a line what became of the exports of a redelivery.
func redelivered(r *api.Redelivery) string {
	return fmt.Sprintf("%d delivered, %d failed, %d on their way, %d skipped", r.Done, r.Failed, r.Waiting, r.Skipped)
}

func redeliveryPause(a *Client) *cobra.Command {
	return redeliveryTo(a, "pause", "Has a redelivery begin no more exports until it is resumed",
		"is paused; what it began goes on")
}

func redeliveryResume(a *Client) *cobra.Command {
	return redeliveryTo(a, "resume", "Has a paused redelivery go on where it was", "goes on")
}

func redeliveryCancel(a *Client) *cobra.Command {
	return redeliveryTo(a, "cancel", "Ends a redelivery: it begins no more exports", "is cancelled; what it began goes on")
}

// redeliveryTo is a command that changes the state of a redelivery. done says what that has come to.
func redeliveryTo(a *Client, verb, short, done string) *cobra.Command {
	return redeliveries.verb(a, &cobra.Command{Use: verb, Short: short},
		func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
			var r api.Redelivery
			shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/"+verb, nil, &r)
			if !shown && err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s\n", terminal.Printable(args[0]), done, redelivered(&r))
			}
			return err
		})
}
