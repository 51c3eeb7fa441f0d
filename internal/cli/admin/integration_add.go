package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/hiring"
)

// integrationOf reads TENANT/NAME.
func integrationOf(arg string) (tenant, name string, err error) {
	tenant, name, ok := strings.Cut(arg, "/")
	if !ok {
		return "", "", errors.New("whose integration is it? write it as TENANT/NAME, such as acme/hris")
	}
	if err := hiring.CheckTenantName(tenant); err != nil {
		return "", "", err
	}
	return tenant, name, hiring.CheckIntegrationName(name)
}

func integrationPath(tenant, name string) string {
	return "/v1/tenants/" + terminal.PathSegment(tenant) + "/integrations/" + terminal.PathSegment(name)
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
		Args: terminal.Exactly(1, "integration add takes one integration, such as: hiregate integration add acme/hris --url https://hr.acme.example/inbound/acme --secret-file hris.secret"),
		RunE: func(cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			if url == "" || file == "" {
				return errors.New("say where it is and what signs its exports: --url https://hr.acme.example/inbound/acme --secret-file hris.secret")
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
			ctx, stop := terminal.Interruptible(cmd)
			defer stop()
			if shown, err := a.ask(ctx, cmd, http.MethodPost, "/v1/tenants/"+terminal.PathSegment(tenant)+"/integrations", in, nil); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s/%s answered VERIFY with 200 and is configured\n", tenant, name)
			return nil
		},
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
		return integrationPath(tenant, name), err
	}
	return deletion(a, path, "is removed", &cobra.Command{
		Use:   "remove TENANT/NAME",
		Short: "Removes an integration and ends the deliveries that are on their way to it",
		Args:  terminal.Exactly(1, "integration remove takes one integration, such as: hiregate integration remove acme/hris"),
	})
}
