package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
)

// Compliance returns the command `hiregate compliance`.
func Compliance() *cobra.Command {
	return group(&cobra.Command{
		Use:   "compliance",
		Short: "Shows the report on the compliance groups",
		Long:  `Reports on what applicants answered to the questions of the compliance groups.`,
		Example: `  hiregate compliance show initech
  hiregate compliance show initech --job NURSE-1 --json`,
	}, complianceShow)
}

func complianceShow(a *Client) *cobra.Command {
	var job string
	cmd := tenants.verb(a, &cobra.Command{
		Use:   "show",
		Short: "Counts the applicants' answers to the compliance groups' questions",
		Long: `Counts what the applicants for a job, or for all jobs of a tenant together, answered to the
questions of the compliance groups. Nobody's answer can be read off it: fewer than five people are
not counted, and as many other counts are hidden as it takes so that those can't be worked out,
from the number of applications or from the reports of other jobs.

Who reads a report is in the gateway's log.`,
		Args: terminal.Exactly(1, "whose applicants? name the tenant, such as: hiregate compliance show initech"),
	}, func(ctx context.Context, cmd *cobra.Command, path string, _ []string) error {
		query := url.Values{}
		if job != "" {
			query.Set("job", job)
		}
		var all api.ComplianceReport
		path += "/compliance-report?" + query.Encode()
		if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &all); shown || err != nil {
			return err
		}
		return printReports(cmd, all.Groups)
	})
	cmd.Flags().StringVar(&job, "job", "", "job board code of one job (default: all jobs together)")
	return cmd
}

func printReports(cmd *cobra.Command, groups []model.ComplianceGroupReport) error {
	if len(groups) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "Nobody was asked the questions of a compliance group.")
		return nil
	}
	count := func(n *int) string {
		if n == nil {
			return "hidden"
		}
		return fmt.Sprint(*n)
	}
	table := terminal.NewTable(cmd.OutOrStdout(), "group", "question", "option", "applicants")
	hidden := false
	for _, g := range groups {
		for _, q := range g.Questions {
			for _, o := range q.Options {
				table.Row(g.Group, q.ID, o.Option, count(o.Count))
				hidden = hidden || o.Count == nil
			}
			table.Row(g.Group, q.ID, "(all)", count(q.Answers))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if hidden {
		fmt.Fprintf(cmd.ErrOrStderr(), "Hidden: fewer than %d, or a number from which such a one could be worked out.\n",
			compliance.Fewest)
	}
	return nil
}
