package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

func exportRelease(a *Client) *cobra.Command {
	var f exportRange
	cmd := &cobra.Command{
		Use:   "release (TENANT/UUID… | --tenant TENANT [--since TIME] [--until TIME] [--undelivered])",
		Short: "Releases exports from quarantine: they go out as they came",
		Long: `Releases exports from quarantine: those that are named, or all of a tenant's that were received in a
range of time. Their bodies break the schema, and they go out as they came nevertheless; look at
what is wrong with one first, with hiregate export show. Those in quarantine are listed by hiregate
export list --quarantined.`,
		Example: `  hiregate export release acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11
  hiregate export release --tenant acme --since 24h`,
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if (len(args) == 0) == !f.chosen() {
				return errors.New("export release takes either exports, such as: hiregate export release " +
					"acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11; or --tenant with --since")
			}
			r := &releasing{Client: a, cmd: cmd,
				table: terminal.NewTable(cmd.OutOrStdout(), "export", "integration", "what happens")}
			err := r.run(ctx, &f, args)
			if r.released > 0 && !a.json {
				err = errors.Join(r.table.Flush(), err)
			}
			return err
		}),
	}
	f.add(cmd, "release")
	return cmd
}

// releasing releases one export after the other, and shows each.
type releasing struct {
	*Client
	cmd      *cobra.Command
	table    *terminal.Table
	released int // exports
}

func (r *releasing) run(ctx context.Context, f *exportRange, exports []string) error {
	if f.chosen() {
		return r.eachExport(ctx, f, url.Values{"quarantined": {"true"}}, func(uuid string) error {
			return r.one(ctx, f.tenant+"/"+uuid)
		})
	}
	for _, named := range exports {
		if err := r.one(ctx, named); err != nil {
			return err
		}
	}
	return nil
}

// one releases the export that is named.
func (r *releasing) one(ctx context.Context, named string) error {
	path, name, err := r.findExport(ctx, named)
	if err != nil {
		return err
	}
	var res api.Released
	if shown, err := r.ask(ctx, r.cmd, http.MethodPost, path+"/release", nil, &res); shown || err != nil {
		return err
	}
	r.released++
	if len(res.Released) == 0 {
		r.table.Row(name, terminal.ID(""), terminal.Reason("released; no delivery of it had begun"))
	}
	for _, i := range res.Released {
		r.table.Row(name, terminal.ID(i), terminal.Reason("released; it goes out now"))
	}
	return nil
}
