package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

func tenantAddSecret(a *Client) *cobra.Command {
	var file string
	cmd := tenants.verb(a, &cobra.Command{
		Use:   "add-secret",
		Short: "Gives a tenant another inbound secret, beside those it has",
		Long: `Gives a tenant another inbound secret, beside those it has. Without a file one is made, and shown this once.
A rotation: add one, have the service sign with it, and end the former one once it is used no more (tenant show).`,
		Example: `  hiregate tenant add-secret initech
  hiregate tenant add-secret initech --secret-file initech-next.secret
  hiregate tenant end-secret initech 1 --at 7d`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) (err error) {
		var in api.TenantSecretInput
		if file != "" {
			if in.Secret, err = terminal.ReadSecret(cmd.InOrStdin(), file); err != nil {
				return err
			}
		}
		var made api.TenantSecret
		shown, err := a.reveal(ctx, cmd, path+"/secrets", in, &made, func() (secret, replace string) {
			return made.Secret, fmt.Sprintf("end it with `hiregate tenant end-secret %s %d`, and add another", args[0], made.Number)
		})
		if !shown && err == nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "It is secret %d of tenant %s, and is not shown again.\n", made.Number, args[0])
		}
		return err
	})
	cmd.Flags().StringVar(&file, "secret-file", "", "file with the secret; - is standard input (default: one is made, and shown this once)")
	return cmd
}

func tenantEndSecret(a *Client) *cobra.Command {
	var at string
	var never bool
	cmd := tenants.verb(a, &cobra.Command{
		Use:   "end-secret NUMBER",
		Short: "Ends an inbound secret of a tenant, now or at a time",
		Long: `Ends an inbound secret of a tenant: what is signed with it is refused from then on, on all nodes. "tenant show" says
which number it has, and when it was last used. "hiregate status" warns for a week before a secret ends that is still used.`,
		Example: `  hiregate tenant end-secret initech 1
  hiregate tenant end-secret initech 1 --at 2026-12-24T08:00:00Z
  hiregate tenant end-secret initech 1 --never`,
		Args: terminal.Exactly(2, "tenant end-secret takes a tenant and the number of a secret, such as: hiregate tenant end-secret initech 1"),
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var end api.TenantSecretEnd
		switch {
		case at != "" && never:
			return errBothWays("at", "never")
		case at != "":
			var err error
			if end.EndsAt, err = terminal.ParseEnd(at, time.Now()); err != nil {
				return fmt.Errorf("--at: %w", err)
			}
		}
		before, err := a.Send(ctx, http.MethodGet, path, nil, nil, nil)
		if err != nil {
			return err
		}
		unchanged := http.Header{"If-Match": {before.Get("ETag")}} // the numbers change with each
		secret := path + "/secrets/" + terminal.PathSegment(args[1])
		said := "has ended"
		switch {
		case at != "":
			said = "ends at " + end.EndsAt.UTC().Format(time.RFC3339)
		case never:
			said = "goes on"
		}
		if at != "" || never {
			_, err = a.Send(ctx, http.MethodPut, secret, unchanged, end, nil)
		} else {
			_, err = a.Send(ctx, http.MethodDelete, secret, unchanged, nil, nil)
		}
		if err != nil || a.json {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "secret %s of tenant %s %s\n", terminal.Printable(args[1]), args[0], said)
		return nil
	})
	cmd.Flags().StringVar(&at, "at", "", "a time to come, or how long it is until then, such as 7d (default: it ends now)")
	cmd.Flags().BoolVar(&never, "never", false, "it goes on")
	return cmd
}
