package admin

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

func exportRelease(a *Client) *cobra.Command {
	var tenant string
	cmd := &cobra.Command{
		Use:   "release [TENANT/]UUID",
		Short: "Releases an export from quarantine: it goes out as it came",
		Long: `Releases an export from quarantine. Its body breaks the schema, and it goes out as it came all the same; look at what is wrong
with it first, with hiregate export show. Those in quarantine are listed by hiregate export list --quarantined.`,
		Args: terminal.Exactly(1, "export release takes one export, such as: hiregate export release acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, name, err := exportOf(args[0], tenant)
			if err != nil {
				return err
			}
			ctx, stop := terminal.Interruptible(cmd)
			defer stop()
			var res struct {
				Released []string `json:"released"`
			}
			if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/release", nil, &res); shown || err != nil {
				return err
			}
			table := terminal.NewTable(cmd.OutOrStdout(), "export", "integration", "what happens")
			if len(res.Released) == 0 {
				table.Row(name, "", "released; no delivery of it had begun")
			}
			for _, i := range res.Released {
				table.Row(name, i, "released; it goes out now")
			}
			return table.Flush()
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "the tenant whose export it is, when the argument is the UUID alone")
	return cmd
}
