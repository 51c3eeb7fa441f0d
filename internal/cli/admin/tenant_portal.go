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

func tenantPortal(a *Client) *cobra.Command {
	var bodies bool
	c := &cobra.Command{
		Use:   "portal TENANT",
		Short: "Makes a link with which a partner sees its exports in the console",
		Long: `Makes a link to the console that works for an hour. Whoever has it sees the exports and the
integrations of the tenant and may redeliver its exports, without signing in.`,
		Args: terminal.Exactly(1, "tenant portal takes one tenant, such as: hiregate tenant portal initech"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := model.ValidateTenantName(args[0]); err != nil {
				return err
			}
			var made struct {
				URL       string    `json:"url"`
				ExpiresAt time.Time `json:"expiresAt"`
			}
			body := map[string]bool{"bodies": bodies}
			path := tenantPath(args[0], "portal")
			if shown, err := a.ask(ctx, cmd, http.MethodPost, path, body, &made); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\nIt works until %s.\n", made.URL,
				made.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"))
			return nil
		}),
	}
	c.Flags().BoolVar(&bodies, "bodies", false, "the bodies of exports, which are personal data, may be seen as well")
	return c
}
