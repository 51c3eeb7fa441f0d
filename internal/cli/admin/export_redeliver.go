package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

func exportRedeliver(a *Client) *cobra.Command {
	var integrations []string
	var f rangeFlags
	cmd := &cobra.Command{
		Use:   "redeliver (TENANT/UUID | --tenant TENANT --integration NAME --since TIME)",
		Short: "Delivers an export once more, or those of a range, with the same bytes and UUID",
		Long: `Delivers an export once more, with the same bytes and the same UUID, to the named integrations or
to all of the tenant's. Where it is still under way, the next attempt is made now. Its documents
can be downloaded for a while longer.

With --since instead of a UUID: delivers the exports of a range to one integration, at a rate. See
with --dry-run which these are. The redelivery runs in the gateway, also through restarts; the
command follows it to its end, and exits with 1 if an export failed.`,
		Example: `  hiregate export redeliver acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11 --integration hris
  hiregate export redeliver --tenant acme --integration hris --since 24h --dry-run
  hiregate export redeliver --tenant acme --integration hris --since 24h --mode missing`,
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.redeliverRange(ctx, cmd, &f, integrations)
			}
			if len(args) > 1 || f != (rangeFlags{}) {
				return errors.New("export redeliver takes one export, such as " +
					"acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11, or a range, such as --tenant acme " +
					"--integration hris --since 24h")
			}
			path, name, err := exportOf(args[0])
			if err != nil {
				return err
			}
			in := struct {
				Integrations []string `json:"integrations,omitempty"`
			}{integrations}
			var res struct {
				Round            int
				Started, Hurried []string
			}
			if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/redeliver", in, &res); shown || err != nil {
				return err
			}
			table := terminal.NewTable(cmd.OutOrStdout(), "export", "integration", "what happens")
			for _, i := range res.Started {
				table.Row(name, i, fmt.Sprintf("delivered again, in round %d", res.Round))
			}
			for _, i := range res.Hurried {
				table.Row(name, i, "under way already: the next attempt is made now")
			}
			return table.Flush()
		}),
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&integrations, "integration", nil,
		"integration to deliver to; repeat it for more (default: all of the tenant's)")
	f.add(cmd)
	return cmd
}
