package admin

import (
	"context"
	"errors"
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
		Short: "Lists, adds, tests, disables, enables and removes integrations",
		Long: `Lists where the exports of a running gateway go, adds and removes integrations of tenants that are kept in its database, and
disables and enables any: what comes for one that is disabled is held, and goes out after it is enabled.

These commands ask the gateway, at Caddy's admin endpoint.`,
		Example: `  hiregate integration list
  hiregate integration add initech/hris --url https://hr.example.com/inbound/initech --secret-file hris.secret
  hiregate integration disable acme/hris --reason "they move their servers until noon"
  hiregate integration test acme/hris
  hiregate integration enable acme/hris`,
	}, integrationList, integrationAdd, integrationDisable, integrationEnable, integrationTest,
		integrationRemove)
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
	return listing(a, &pages{path: "/v1/integrations"}, &cobra.Command{
		Use:   "list",
		Short: "Lists the integrations of all tenants, and whether they are configured",
		Args:  terminal.Exactly(0, "integration list takes no argument"),
	}, []string{"tenant", "integration", "state", "verifications", "updated", "documents", "url", "reason"},
		func(i *integrationRow) []any {
			return []any{i.Tenant, i.Name, i.State, i.Attempts, i.UpdatedAt, i.Documents, i.URL, i.Reason}
		})
}

func integrationDisable(a *Client) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "disable TENANT/NAME",
		Short: "Holds what comes for an integration until it is enabled",
		Long: `Disables an integration, whether it is declared in the Caddyfile or kept in the gateway's database: its
exports are accepted and held, also after a restart or a reload, until hiregate integration enable. An attempt that is
under way comes to its end.`,
		Args: terminal.Exactly(1, "integration disable takes one integration, such as: "+
			"hiregate integration disable acme/hris"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			in := map[string]string{"reason": reason}
			if shown, err := a.ask(ctx, cmd, http.MethodPost, tenantPath(tenant, "integrations", name, "disable"), in,
				nil); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%[1]s/%[2]s is disabled: its exports are held until hiregate integration "+
				"enable %[1]s/%[2]s\n", tenant, name)
			return nil
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for whoever looks at what is held; no personal data")
	return cmd
}

func integrationEnable(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "enable TENANT/NAME",
		Short: "Verifies an integration again and releases what is held for it",
		Long: `Verifies an integration again: one that an operator disabled, or its partner by answering 410, or one that
is not configured yet and would be verified later. What is held for it goes out once it answers VERIFY with 200.`,
		Args: terminal.Exactly(1, "integration enable takes one integration, such as: hiregate integration enable acme/hris"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			var i integrationRow
			if shown, err := a.ask(ctx, cmd, http.MethodPost, tenantPath(tenant, "integrations", name, "enable"), nil,
				&i); shown || err != nil {
				return err
			}
			what := "VERIFY is on its way; what is held goes out once that is answered with 200"
			if i.State == string(hiring.Configured) {
				what = "it is configured; what is held goes out by itself within a minute"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s/%s: %s\n", tenant, name, what)
			return nil
		}),
	}
}

// integrationOf reads TENANT/NAME.
func integrationOf(arg string) (tenant, name string, err error) {
	tenant, name, err = cutTenant(arg, "whose integration is it? write it as TENANT/NAME, such as acme/hris")
	if err != nil {
		return "", "", err
	}
	return tenant, name, hiring.ValidateIntegrationName(name)
}

func integrationAdd(a *Client) *cobra.Command {
	var url, file, documents string
	var standard bool
	cmd := &cobra.Command{
		Use:   "add TENANT/NAME",
		Short: "Adds an integration, once it answers VERIFY with 200",
		Long: `Adds an integration to a tenant that is kept in the gateway's database. A VERIFY event is sent to its URL first: unless that is
answered with exactly 200, nothing is added, and what came of it is shown.

The secret is read from a file, the secret alone, so that it shows up in no list of processes; "-" reads it from standard input.`,
		Args: terminal.Exactly(1, "integration add takes one integration, such as: hiregate integration add acme/hris "+
			"--url https://hr.acme.example/inbound/acme --secret-file hris.secret"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			if url == "" || file == "" {
				return errors.New("say where it is and what signs its exports: --url https://hr.acme.example/inbound/acme " +
					"--secret-file hris.secret")
			}
			secret, err := terminal.ReadSecret(cmd.InOrStdin(), file)
			if err != nil {
				return err
			}
			in := map[string]any{"name": name, "url": url, "secret": secret}
			if documents != "" {
				in["documents"] = documents
			}
			if standard {
				in["standardWebhooks"] = true
			}
			if shown, err := a.ask(ctx, cmd, http.MethodPost, tenantPath(tenant, "integrations"), in, nil); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s/%s answered VERIFY with 200 and is configured\n", tenant, name)
			return nil
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&url, "url", "", "the webhook's address; it must hold an identifier, in its path or its query")
	fl.StringVar(&file, "secret-file", "", "file with the secret that signs what is sent there")
	fl.StringVar(&documents, "documents", "", "how documents reach it: rehost (default), passthrough or inline")
	fl.BoolVar(&standard, "standard-webhooks", false, "add the signature headers of the Standard Webhooks specification")
	return cmd
}

func integrationRemove(a *Client) *cobra.Command {
	path := func(_ context.Context, _ *Client, arg string) (string, error) {
		tenant, name, err := integrationOf(arg)
		return tenantPath(tenant, "integrations", name), err
	}
	return deletion(a, path, "is removed", &cobra.Command{
		Use:   "remove TENANT/NAME",
		Short: "Removes an integration and ends the deliveries that are on their way to it",
		Args: terminal.Exactly(1,
			"integration remove takes one integration, such as: hiregate integration remove acme/hris"),
	})
}
