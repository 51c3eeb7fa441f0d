package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/wait"
)

func exportFetch(a *Client) *cobra.Command {
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "fetch TENANT/UUID",
		Short: "Fetches the documents of an export now that are still to be fetched",
		Long: `Fetches the documents of an export now that are still to be fetched, and not at their next try. The
command waits for the tries, and shows the export. What is not here when the URLs end, 2 h 30 min after the
export came, is lost: only a new export from the service has new URLs. It exits with 1 if a document is
still to be fetched then, or was lost. Exports with late documents are listed by hiregate export list
--late-documents.`,
		Example: `  hiregate export fetch acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11`,
		Args: terminal.Exactly(1, "export fetch takes one export, such as: hiregate export fetch "+
			"acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, name, err := a.findExport(ctx, args[0])
			if err != nil {
				return err
			}
			var before, after api.ExportDetail
			if err := a.Call(ctx, http.MethodGet, path, nil, &before); err != nil {
				return err
			}
			var res api.Fetching
			if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/fetch", nil, &res); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: documents that are tried now: %d\n\n", name, res.Documents)
			for end := time.Now().Add(patience); ; {
				after = api.ExportDetail{}
				if err := a.Call(ctx, http.MethodGet, path, nil, &after); err != nil {
					return err
				}
				if documentsTried(&before, &after) || time.Now().After(end) || !wait.For(ctx, redeliverLook) {
					break
				}
			}
			if err := exports.print(cmd.OutOrStdout(), &after); err != nil {
				return err
			}
			if missing := len(after.Documents) - after.Fetched; missing > 0 {
				return fmt.Errorf("documents of %s that are not here: %d of %d", name, missing, len(after.Documents))
			}
			return nil
		}),
	}
	cmd.Flags().DurationVar(&patience, "wait", 5*time.Second, "how long to wait for the tries, before the export is shown")
	return cmd
}

// documentsTried reports whether each document that was to be fetched was tried once more.
func documentsTried(before, after *api.ExportDetail) bool {
	if len(after.Documents) < len(before.Documents) {
		return false
	}
	for n, d := range before.Documents {
		if now := after.Documents[n]; d.State == model.Fetching && now.State == model.Fetching && now.Tries == d.Tries {
			return false
		}
	}
	return true
}
