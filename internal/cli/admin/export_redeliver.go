package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/wait"
)

func exportRedeliver(a *Client) *cobra.Command {
	var integrations []string
	var patience time.Duration
	var f rangeFlags
	cmd := &cobra.Command{
		Use:   "redeliver (TENANT/UUID | --tenant TENANT --integration NAME --since TIME)",
		Short: "Delivers an export once more, or those of a range, with the same bytes and UUID",
		Long: `Delivers an export once more, with the same bytes and the same UUID, to the named integrations or
to all of the tenant's. Where it is still under way, the next attempt is made now, also while
its integration gets none because the last ones failed: then one attempt is made, and the others
follow if it is received. The command waits for the attempts, and shows the export. Its documents
can be downloaded for a while longer. It exits with 1 if an attempt was made and not received.

With --since instead of a UUID: delivers the exports of a range to one integration, at a rate. See
with --dry-run which these are, and what is left out. The redelivery runs in the gateway, also through
restarts; the command follows it to its end, and exits with 1 if an export failed, or there was none to
redeliver. Before it starts, it says how many exports were received already, and arrive once more.`,
		Example: `  hiregate export redeliver acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11 --integration hris
  hiregate export redeliver --tenant acme --integration hris --since 24h --dry-run
  hiregate export redeliver --tenant acme --integration hris --since 24h --mode missing`,
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.redeliverRange(ctx, cmd, &f, integrations)
			}
			if f.tenant = ""; len(args) > 1 || f != (rangeFlags{}) {
				return errors.New("export redeliver takes one export, such as " +
					"acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11, or a range, such as --tenant acme " +
					"--integration hris --since 24h")
			}
			path, name, err := a.findExport(ctx, args[0])
			if err != nil {
				return err
			}
			var before, after api.ExportDetail
			if err := a.Call(ctx, http.MethodGet, path, nil, &before); err != nil {
				return err
			}
			var res api.Redelivered
			shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/redeliver", api.RedeliverInput{Integrations: integrations}, &res)
			if err != nil {
				return err
			}
			for _, d := range before.Deliveries {
				if !shown && slices.Contains(res.Started, d.Integration) && d.Current && d.Outcome == model.Delivered {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s received this export at %s: it arrives there once more\n", d.Integration,
						d.UpdatedAt.UTC().Format(time.RFC3339))
				}
			}
			out := cmd.OutOrStdout()
			if shown { // as JSON; the exit code says what came of it
				out = io.Discard
			}
			table := terminal.NewTable(out, "export", "integration", "what happens")
			for _, i := range res.Started {
				table.Row(name, terminal.ID(i), terminal.Reason(fmt.Sprintf("delivered again, in round %d", res.Round)))
			}
			for _, i := range res.Hurried {
				table.Row(name, terminal.ID(i), terminal.Reason("under way already: the next attempt is made now"))
			}
			if err := table.Flush(); err != nil {
				return err
			}
			for end := time.Now().Add(patience); ; {
				if err := a.Call(ctx, http.MethodGet, path, nil, &after); err != nil {
					return err
				}
				if attempted(&res, &before, &after) || time.Now().After(end) || !wait.For(ctx, redeliverLook) {
					break
				}
				after = api.ExportDetail{}
			}
			fmt.Fprintln(out)
			return cmp.Or(exports.print(out, &after), failed(&res, &before, &after))
		}),
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&integrations, "integration", nil,
		"integration to deliver to; repeat it for more (default: all of the tenant's)")
	fl.DurationVar(&patience, "wait", 5*time.Second, "how long to wait for the attempts, before the export is shown")
	f.add(cmd)
	return cmd
}

// redeliverLook is the interval in which the command looks whether the attempts were made.
const redeliverLook = 200 * time.Millisecond

// attemptsAt counts the attempts at an integration in all rounds, and finds the latest api.DeliveryDetail to it.
func attemptsAt(e *api.ExportDetail, integration string) (attempts int, latest api.DeliveryDetail) {
	for _, d := range e.Deliveries { // by round
		if d.Integration == integration {
			attempts, latest = attempts+d.Attempts, d
		}
	}
	return attempts, latest
}

// failed says where an attempt that was asked for was made and not received; nil: nowhere.
func failed(r *api.Redelivered, before, after *api.ExportDetail) error {
	var where []string
	for _, integration := range slices.Concat(r.Started, r.Hurried) {
		former, _ := attemptsAt(before, integration)
		attempts, latest := attemptsAt(after, integration)
		if attempts > former && latest.Outcome != model.Delivered {
			where = append(where, notReceived(&latest.Delivery))
		}
	}
	if len(where) == 0 {
		return nil
	}
	return errors.New(strings.Join(where, "; "))
}

// notReceived says why an export was not received.
func notReceived(d *api.Delivery) string {
	return fmt.Sprintf("%s did not receive it: %s", d.Integration, terminal.Printable(d.Reason))
}

// attempted reports whether each attempt that was asked for was made, or nothing is to come of it.
func attempted(r *api.Redelivered, before, after *api.ExportDetail) bool {
	for _, integration := range slices.Concat(r.Started, r.Hurried) {
		former, _ := attemptsAt(before, integration)
		attempts, latest := attemptsAt(after, integration)
		if attempts <= former && !latest.Outcome.Final() && latest.Outcome != model.Held {
			return false
		}
	}
	return after.State != api.ExportWaiting
}
