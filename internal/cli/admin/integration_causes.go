package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

func integrationCauses(a *Client) *cobra.Command {
	var since string
	cmd := integrations.verb(a, &cobra.Command{
		Use:   "causes",
		Short: "Shows why attempts at an integration were not received",
		Long: `Shows why attempts at an integration were not received, retries included, by what was answered: how many
attempts and exports, and the last answer.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, _ []string) error {
		query := url.Values{}
		if err := setTime(query, "since", "since", since); err != nil {
			return err
		}
		var causes api.Causes
		shown, err := a.ask(ctx, cmd, http.MethodGet, path+"/causes?"+query.Encode(), nil, &causes)
		if shown || err != nil {
			return err
		}
		table := terminal.NewTable(cmd.OutOrStdout(), "reason", "attempts", "exports", "first", "last", "export", "answer")
		for _, c := range causes.Items {
			table.Row(c.Reason, c.Attempts, c.Exports, c.First, c.Last, c.Sample.UUID, head(c.Sample.Answer))
		}
		if err := table.Flush(); err != nil || !causes.More {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "and more, which are not counted: choose a later --since")
		return nil
	})
	cmd.Flags().StringVar(&since, "since", "", "attempts since then: a time such as 2026-11-20T12:00:00Z, or how long "+
		"ago, such as 7d (default: a day)")
	return cmd
}
