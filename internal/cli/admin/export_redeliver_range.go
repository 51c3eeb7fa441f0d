package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/wait"
)

// rangeFlags choose the exports of a range.
type rangeFlags struct {
	tenant, since, until string
	detach               bool
	api.RedeliveryInput
}

func (f *rangeFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.tenant, "tenant", "", "with --since: the tenant whose exports they are")
	fl.StringVar(&f.since, "since", "", "redeliver those received since then: a time such as 2026-11-20T12:00:00Z, or "+
		"how long ago, such as 24h")
	fl.StringVar(&f.until, "until", "", "and before then, written like --since (default: now)")
	fl.StringVar((*string)(&f.Mode), "mode", "", "failed: what failed or expired (default); missing: what was never addressed to "+
		"the integration; all: these, and what was delivered, which arrives once more")
	fl.StringVar((*string)(&f.Outcome), "outcome", "", "only those whose last delivery ended so: delivered, failed or expired")
	fl.StringVar((*string)(&f.Class), "class", "", "only those whose last delivery failed so: partner_fault, data_fault or our_fault")
	fl.StringVar((*string)(&f.Status), "status", "", "only those whose last attempt was answered so: 503, 5xx, or none without an answer")
	fl.IntVar(&f.Attempts, "attempts", 0, "only those with at least so many attempts")
	fl.StringVar(&f.WaitingLonger, "waiting-longer", "", "only those received longer ago than this, such as 24h")
	fl.IntVar(&f.Rate, "rate", 0, "exports a second (default: half of the integration's in_flight)")
	fl.BoolVar(&f.DryRun, "dry-run", false, "show which exports that would be, and redeliver nothing")
	fl.BoolVar(&f.detach, "detach", false, "don't wait for the end of the redelivery")
}

// input returns the request for the redelivery.
func (f *rangeFlags) input(integrations []string) (*api.RedeliveryInput, error) {
	if f.tenant == "" || len(integrations) != 1 || f.since == "" {
		return nil, errors.New("name one export, such as acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11, or a range: " +
			"--tenant acme --integration hris --since 24h")
	}
	in := f.RedeliveryInput
	in.Integration = integrations[0]
	now := time.Now()
	for _, flag := range []struct {
		name, text string
		to         *time.Time
	}{{"since", f.since, &in.Since}, {"until", f.until, &in.Until}} {
		if flag.text == "" {
			continue
		}
		at, err := terminal.ParseTime(flag.text, now)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag.name, err)
		}
		*flag.to = at
	}
	return &in, model.ValidateTenantName(f.tenant)
}

// redeliverRange previews or begins the redelivery of a range, and follows it to its end.
func (a *Client) redeliverRange(ctx context.Context, cmd *cobra.Command, f *rangeFlags, integrations []string) error {
	in, err := f.input(integrations)
	if err != nil {
		return err
	}
	path, to := tenantPath(f.tenant, "redeliveries"), model.Place{Tenant: f.tenant, Integration: integrations[0]}
	var p api.RedeliveryPreview
	in.DryRun = true
	if f.DryRun {
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path, in, &p); shown || err != nil {
			return err
		}
		return printPreview(cmd, &p, to)
	}
	if err := a.Call(ctx, http.MethodPost, path, in, &p); err != nil {
		return err
	}
	if p.Count == 0 {
		nothing := &model.RedeliveryPreview{LeftOut: p.LeftOut}
		return fmt.Errorf("there is nothing to redeliver: %s",
			cmp.Or(nothing.Nothing(to), "no export was received in this time"))
	}
	if p.Received > 0 && !a.json {
		fmt.Fprintln(cmd.ErrOrStderr(), arriveAgain(&p))
	}
	in.DryRun, in.Until, in.WaitingLonger = false, p.Until, "" // what was counted, and nothing received since
	j := new(api.Redelivery)
	if err := a.Call(ctx, http.MethodPost, path, in, j); err != nil {
		return err
	}
	path = tenantPath(f.tenant, "redeliveries", j.ID)
	if !f.detach {
		if err := a.follow(ctx, cmd.ErrOrStderr(), path, j); err != nil {
			return err
		}
	}
	if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, j); err != nil {
		return err
	} else if !shown {
		fmt.Fprintf(cmd.OutOrStdout(), "redelivery %s/%s of %d exports is %s: %s\n", j.Tenant, j.ID, j.Total, j.State,
			redelivered(j))
	}
	if j.Failed > 0 {
		return fmt.Errorf("%d exports failed: hiregate export list --tenant %s --integration %s --outcome failed "+
			"lists them", j.Failed, j.Tenant, j.Integration)
	}
	return nil
}

// arriveAgain says how many exports arrive once more.
func arriveAgain(p *api.RedeliveryPreview) string {
	return fmt.Sprintf("%d of these %d exports were received already, and arrive once more", p.Received, p.Count)
}

// printPreview shows the preview of a redelivery to an integration.
func printPreview(cmd *cobra.Command, p *api.RedeliveryPreview, to model.Place) error {
	out := cmd.OutOrStdout()
	table := terminal.NewTable(out)
	table.Row("exports", p.Count)
	table.Row("oldest", p.Oldest)
	table.Row("newest", p.Newest)
	table.Row("received already", p.Received)
	table.Row("expired documents", fmt.Sprintf("of %d exports", p.Expired))
	takes := time.Duration((p.Count+int64(p.Rate)-1)/int64(p.Rate)) * time.Second
	table.Row("rate", fmt.Sprintf("%d a second: it takes %s at least", p.Rate, takes))
	if err := table.Flush(); err != nil {
		return err
	}
	if len(p.Samples) > 0 {
		fmt.Fprintln(out)
		table = terminal.NewTable(out, "the oldest", "received", "last delivery", "reason")
		for _, e := range p.Samples {
			table.Row(e.UUID, e.ReceivedAt, terminal.State(e.Outcome), terminal.Reason(e.Reason))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(p.LeftOut) > 0 {
		fmt.Fprintln(out, "\nLeft out of the range:")
		for _, l := range p.LeftOut {
			fmt.Fprintln(out, "  "+l.Sentence(to))
		}
	}
	if p.Received > 0 {
		fmt.Fprintln(out, "\n"+arriveAgain(p)+".")
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "Nothing was redelivered: leave out --dry-run to do so.")
	return nil
}

// followEvery is the interval in which a command looks how far something is.
const followEvery = 500 * time.Millisecond

// follow waits until a redelivery has ended, and nothing that it began is on its way any more; or somebody paused it. A
// person at the terminal sees how far it is. An interrupt ends the wait, not the redelivery.
func (a *Client) follow(ctx context.Context, w io.Writer, path string, j *api.Redelivery) error {
	person := terminal.IsTerminal(os.Stderr)
	for j.State == model.RedeliveryRunning || j.State != model.RedeliveryPaused && j.Waiting > 0 {
		if person {
			fmt.Fprintf(w, "\r\x1b[K%s", bar(j))
		}
		if !wait.For(ctx, followEvery) {
			return fmt.Errorf("the redelivery goes on: hiregate redelivery show %[1]s shows it, and hiregate redelivery "+
				"cancel %[1]s ends it", j.Tenant+"/"+j.ID)
		}
		if err := a.Call(ctx, http.MethodGet, path, nil, j); err != nil && ctx.Err() == nil {
			return fmt.Errorf("the redelivery goes on, but can't be followed: %w", err)
		}
	}
	if person {
		fmt.Fprint(w, "\r\x1b[K")
	}
	return nil
}

// bar shows how far a redelivery is, in a line.
func bar(j *api.Redelivery) string {
	const width = 30
	ended, total := j.Done+j.Failed+j.Skipped, max(j.Total, 1)
	n := int(min(ended*width/total, width))
	bar := fmt.Sprintf("[%s%s] %d of %d, %s", strings.Repeat("#", n), strings.Repeat(" ", width-n), ended, j.Total,
		redelivered(j))
	if j.Reason != "" {
		bar += "; " + terminal.Printable(j.Reason)
	}
	return bar
}
