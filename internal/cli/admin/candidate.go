package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/hiring"
)

// Candidate returns the command `hiregate candidate`.
func Candidate() *cobra.Command {
	return group(&cobra.Command{
		Use:   "candidate",
		Short: "Lists candidates and exports them",
		Long: `Lists the candidates of a tenant, and exports one of them.

These commands ask the gateway, at Caddy's admin endpoint.`,
		Example: `  hiregate candidate list initech
  hiregate candidate export initech/c-zoe`,
	}, candidateList, candidateExport)
}

func candidateList(a *Client) *cobra.Command {
	return listing(a, pagesOf("candidates"), &cobra.Command{
		Use:   "list TENANT",
		Short: "Lists the candidates of a tenant",
		Args:  terminal.Exactly(1, "candidate list takes one tenant, such as: hiregate candidate list initech"),
	}, []string{"candidate", "name", "e-mail", "applied", "updated"}, func(c *hiring.Candidate) []any {
		name := c.Name.Formatted
		if name == "" {
			name = strings.TrimSpace(c.Name.Given + " " + c.Name.Family)
		}
		return []any{c.ID, name, strings.Join(c.Email, ", "), c.ApplyDate, c.UpdatedAt}
	})
}

// exported is what the gateway answers to the export of a candidate.
type exported struct {
	UUID       string `json:"uuid"`
	Deliveries []struct {
		Integration string    `json:"integration"`
		Outcome     string    `json:"outcome"`
		Reason      string    `json:"reason"`
		NextAt      time.Time `json:"nextAt"`
	} `json:"deliveries"`
}

func candidateExport(a *Client) *cobra.Command {
	var integration, application string
	cmd := &cobra.Command{
		Use:   "export TENANT/CANDIDATE",
		Short: "Exports a candidate, and shows what came of the first attempt",
		Args:  terminal.Exactly(1, "candidate export takes one candidate, such as: hiregate candidate export initech/c-zoe"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, id, err := cutTenant(args[0], "whose candidate is it? write it as TENANT/CANDIDATE, such as initech/c-zoe")
			if err != nil {
				return err
			}
			in := map[string]string{}
			if integration != "" {
				in["integration"] = integration
			}
			if application != "" {
				in["jobApplication"] = application
			}
			var e exported
			if shown, err := a.ask(ctx, cmd, http.MethodPost, tenantPath(tenant, "candidates", id, "exports"), in,
				&e); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "export %s/%s\n", tenant, e.UUID)
			table := terminal.NewTable(cmd.OutOrStdout(), "integration", "outcome", "reason", "next attempt")
			for _, d := range e.Deliveries {
				table.Row(d.Integration, d.Outcome, d.Reason, d.NextAt)
			}
			return table.Flush()
		}),
	}
	cmd.Flags().StringVar(&integration, "integration", "", "integration to export to (default: every configured one)")
	cmd.Flags().StringVar(&application, "job-application", "",
		"the job application that the export is about, when there are several")
	return cmd
}
