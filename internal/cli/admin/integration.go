package admin

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/hiring"
)

// Integration returns the command `hiregate integration`, which lists integrations and enables them again.
func Integration() *cobra.Command {
	return group(&cobra.Command{
		Use:   "integration",
		Short: "Lists, adds, enables and removes integrations",
		Long: `Lists where the exports of a running gateway go, adds and removes integrations of tenants that are kept in its database, and
enables what its partner has disabled.

These commands ask the gateway, at Caddy's admin endpoint.`,
		Example: `  hiregate integration list
  hiregate integration add initech/hris --url https://hr.example.com/inbound/initech --secret-file hris.secret
  hiregate integration enable acme/hris`,
	}, integrationList, integrationAdd, integrationEnable, integrationRemove)
}

// integrationRow is what the tables show of an integration.
type integrationRow struct {
	Tenant    string    `json:"tenant"`
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Reason    string    `json:"reason"`
	Attempts  int       `json:"attempts"`
	UpdatedAt time.Time `json:"updatedAt"`
	URL       string    `json:"url"`
	Documents string    `json:"documents"`
}

func integrationList(a *Client) *cobra.Command {
	p := &pages{path: "/v1/integrations"}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists the integrations of all tenants, and whether they are configured",
		Args:  terminal.Exactly(0, "integration list takes no argument"),
	}
	columns := []string{"tenant", "integration", "state", "verifications", "updated", "documents", "url", "reason"}
	return listing(a, p, cmd, columns, func(i *integrationRow) []any {
		return []any{i.Tenant, i.Name, i.State, i.Attempts, i.UpdatedAt, i.Documents, i.URL, i.Reason}
	})
}

func integrationEnable(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "enable TENANT/NAME",
		Short: "Verifies an integration again and releases what is held for it",
		Long: `Verifies an integration again: one that its partner disabled by answering 410, or one that is not configured yet and
would be verified later. What is held for it goes out once it answers VERIFY with 200.`,
		Args: terminal.Exactly(1, "integration enable takes one integration, such as: hiregate integration enable acme/hris"),
		RunE: func(cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			ctx, stop := terminal.Interruptible(cmd)
			defer stop()
			var i integrationRow
			if shown, err := a.ask(ctx, cmd, http.MethodPost, integrationPath(tenant, name)+"/enable", nil, &i); shown || err != nil {
				return err
			}
			what := "VERIFY is on its way; what is held goes out once that is answered with 200"
			if i.State == string(hiring.Configured) {
				what = "it is configured; what is held goes out by itself within a minute"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s/%s: %s\n", tenant, name, what)
			return nil
		},
	}
}
