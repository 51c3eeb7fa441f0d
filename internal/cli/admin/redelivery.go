package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
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
	}, redeliveryList, redeliveryShow, redeliveryPause, redeliveryResume, redeliveryCancel)
}

// redeliveryRow is what the tables show of a redelivery.
type redeliveryRow struct {
	ID          string                `json:"id"`
	Tenant      string                `json:"tenant"`
	Integration string                `json:"integration"`
	Mode        string                `json:"mode"`
	Since       time.Time             `json:"since"`
	Until       time.Time             `json:"until"`
	Rate        int                   `json:"rate"`
	State       model.RedeliveryState `json:"state"`
	Reason      string                `json:"reason"`
	Total       int64                 `json:"total"`
	Done        int64                 `json:"done"`
	Failed      int64                 `json:"failed"`
	Waiting     int64                 `json:"waiting"`
	Skipped     int64                 `json:"skipped"`
	CreatedAt   time.Time             `json:"createdAt"`
}

// name is how commands name a redelivery.
func (j *redeliveryRow) name() string { return j.Tenant + "/" + j.ID }

// counts says in a line what became of the exports.
func (j *redeliveryRow) counts() string {
	return fmt.Sprintf("%d delivered, %d failed, %d on their way, %d skipped", j.Done, j.Failed, j.Waiting, j.Skipped)
}

func redeliveryList(a *Client) *cobra.Command {
	p := new(pages)
	p.choose = func(args []string) error {
		if len(args) == 0 {
			p.path = "/v1/redeliveries"
			return nil
		}
		p.path = tenantPath(args[0], "redeliveries")
		return model.ValidateTenantName(args[0])
	}
	return listing(a, p, &cobra.Command{
		Use:   "list [TENANT]",
		Short: "Lists the redeliveries of a tenant, or of all tenants, newest first",
		Args:  atMostTenant("redelivery"),
	}, []string{"redelivery", "integration", "mode", "begun", "state", "exports", "delivered", "failed", "on their way",
		"skipped"},
		func(j *redeliveryRow) []any {
			return []any{j.name(), terminal.ID(j.Integration), j.Mode, j.CreatedAt, terminal.State(j.State), j.Total,
				j.Done, j.Failed, j.Waiting,
				j.Skipped}
		})
}

func redeliveryShow(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "show TENANT/ID",
		Short: "Shows how far a redelivery is",
		Args:  terminal.Exactly(1, "redelivery show takes one redelivery, as hiregate redelivery list names it"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := redeliveryPath(args[0])
			if err != nil {
				return err
			}
			var j redeliveryRow
			if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &j); shown || err != nil {
				return err
			}
			table := terminal.NewTable(cmd.OutOrStdout())
			table.Row("redelivery", j.name())
			table.Row("integration", j.Integration)
			table.Row("exports", fmt.Sprintf("%d, mode %s, received from %s to %s", j.Total, j.Mode,
				j.Since.UTC().Format(time.RFC3339), j.Until.UTC().Format(time.RFC3339)))
			table.Row("rate", fmt.Sprintf("%d a second at most", j.Rate))
			table.Row("state", terminal.State(j.State))
			table.Row("reason", j.Reason)
			table.Row("so far", j.counts())
			return table.Flush()
		}),
	}
}

func redeliveryPause(a *Client) *cobra.Command {
	return redeliveryTo(a, "pause", "Has a redelivery begin no more exports until it is resumed",
		"is paused; what it began goes on")
}

func redeliveryResume(a *Client) *cobra.Command {
	return redeliveryTo(a, "resume", "Has a paused redelivery go on where it was", "goes on")
}

func redeliveryCancel(a *Client) *cobra.Command {
	return redeliveryTo(a, "cancel", "Ends a redelivery: it begins no more exports",
		"is cancelled; what it began goes on")
}

// redeliveryTo is a command that changes the state of a redelivery. done says what that has come to.
func redeliveryTo(a *Client, verb, short, done string) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " TENANT/ID",
		Short: short,
		Args: terminal.Exactly(1,
			"redelivery "+verb+" takes one redelivery, as hiregate redelivery list names it"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := redeliveryPath(args[0])
			if err != nil {
				return err
			}
			var j redeliveryRow
			if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/"+verb, nil, &j); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s\n", terminal.Printable(args[0]), done, j.counts())
			return nil
		}),
	}
}

// redeliveryPath reads TENANT/ID.
func redeliveryPath(arg string) (string, error) {
	tenant, id, err := cutTenant(arg, "whose redelivery is it? write it as TENANT/ID, as hiregate redelivery list does")
	return tenantPath(tenant, "redeliveries", id), err
}
