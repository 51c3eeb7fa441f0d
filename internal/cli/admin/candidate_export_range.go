package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/wait"
)

// exportAgainFlags choose triggered exports whose candidates are exported again, as new events: what was triggered can't be
// redelivered once its document URLs have ended.
type exportAgainFlags struct {
	tenant, since, until, step string
	mode                       model.RedeliveryMode
	rate                       int
	dryRun                     bool
}

func (f *exportAgainFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.tenant, "tenant", "", "with --since: the tenant whose candidates they are")
	fl.StringVar(&f.since, "since", "", "export those again whose exports were triggered since then: a time such as "+
		"2026-11-20T12:00:00Z, or how long ago, such as 24h")
	fl.StringVar(&f.until, "until", "", "and before then, written like --since (default: now)")
	fl.StringVar(&f.step, "step", "", "those alone whose job application entered the step with this id")
	fl.StringVar((*string)(&f.mode), "mode", string(model.RedeliverFailed), "failed: what failed or expired; all: also what was "+
		"delivered, which arrives once more")
	fl.IntVar(&f.rate, "rate", 0, "exports a second (default: half of the integration's in_flight)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show how many exports that would be, and export nothing")
}

// exportAgain is what is exported again: the candidate for a job application, after a former export.
type exportAgain struct {
	candidate, application string
	former                 api.Export
}

// exportRange exports the candidates of a range again, or says how many that would be.
func (a *Client) exportRange(ctx context.Context, cmd *cobra.Command, f *exportAgainFlags, integration string) error {
	if f.tenant == "" || integration == "" {
		return errors.New("with --since name the tenant and one integration, such as --tenant initech --integration hris --since 24h")
	}
	if f.mode != model.RedeliverFailed && f.mode != model.RedeliverAll {
		return errors.New("--mode: use failed or all")
	}
	if err := model.ValidateTenantName(f.tenant); err != nil {
		return err
	}
	var to api.IntegrationHealth
	if err := a.Call(ctx, http.MethodGet, tenantPath(f.tenant, "integrations", integration), nil, &to); err != nil {
		return err
	}
	if f.rate == 0 {
		f.rate = model.DefaultRedeliveryRate(to.Options)
	}
	if f.rate < 1 || f.rate > model.MaxRedeliveryRate {
		return fmt.Errorf("--rate: use 1 to %d exports a second", model.MaxRedeliveryRate)
	}
	all, err := a.toExportAgain(ctx, f, integration)
	if err != nil {
		return err
	}
	if f.dryRun {
		return printExportAgain(cmd, f, all)
	}
	if len(all) == 0 {
		return errors.New("there is nothing to export again: no export was triggered so in this time")
	}
	return a.exportEach(ctx, cmd, f, integration, all)
}

// toExportAgain finds what is exported again, each job application once, the oldest export first. What a later export
// delivered, or is still to deliver, has not failed.
func (a *Client) toExportAgain(ctx context.Context, f *exportAgainFlags, integration string) (all []exportAgain, err error) {
	query := url.Values{"limit": {strconv.Itoa(maxPage)}, "order": {"oldest"}, "integration": {integration}}
	for name, text := range map[string]string{"since": f.since, "until": f.until} {
		if err := setTime(query, name, name, text); err != nil {
			return nil, err
		}
	}
	found := map[[2]string]int{}
	for {
		page, err := a.page(ctx, http.MethodGet, tenantPath(f.tenant, "exports"), query, nil)
		if err != nil {
			return nil, err
		}
		for _, raw := range page.Items {
			var e api.Export
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, fmt.Errorf("reading what the gateway answered: %w", err)
			}
			of := [2]string{e.Candidate, e.JobApplication}
			if n, ok := found[of]; ok {
				all[n].candidate = ""
				delete(found, of)
			}
			if f.chooses(&e, integration) {
				found[of] = len(all)
				all = append(all, exportAgain{e.Candidate, e.JobApplication, e})
			}
		}
		if page.Next == nil {
			return slices.DeleteFunc(all, func(one exportAgain) bool { return one.candidate == "" }), nil
		}
		query.Set("cursor", *page.Next)
	}
}

// chooses reports whether an export is one whose candidate is to be exported again.
func (f *exportAgainFlags) chooses(e *api.Export, integration string) bool {
	if e.Origin != model.Triggered || e.Candidate == "" || !e.ErasedAt.IsZero() || f.step != "" && e.Step != f.step {
		return false
	}
	return slices.ContainsFunc(e.Deliveries, func(d api.Delivery) bool {
		return d.Integration == integration && d.Current && d.Outcome.Final() &&
			(f.mode == model.RedeliverAll || d.Outcome != model.Delivered)
	})
}

func printExportAgain(cmd *cobra.Command, f *exportAgainFlags, all []exportAgain) error {
	table := terminal.NewTable(cmd.OutOrStdout())
	table.Row("exports", len(all))
	if len(all) > 0 {
		table.Row("oldest", all[0].former.ReceivedAt)
		table.Row("newest", all[len(all)-1].former.ReceivedAt)
	}
	takes := time.Duration((len(all)+f.rate-1)/f.rate) * time.Second
	table.Row("rate", fmt.Sprintf("%d a second: it takes %s at least", f.rate, takes))
	err := table.Flush()
	fmt.Fprintln(cmd.ErrOrStderr(), "Nothing was exported: leave out --dry-run to do so.")
	return err
}

// exportEach makes the exports, no more a second than the rate. A command that was interrupted can be given again: within a
// day, what was exported again after an export is not once more.
func (a *Client) exportEach(ctx context.Context, cmd *cobra.Command, f *exportAgainFlags, integration string,
	all []exportAgain) error {
	made := 0
	for n, one := range all {
		if n > 0 && !wait.For(ctx, time.Second/time.Duration(f.rate)) {
			return fmt.Errorf("%d of %d were exported: give the command again to go on", made, len(all))
		}
		in := api.ExportInput{Integration: integration, JobApplication: one.application, NoWait: true}
		header := http.Header{"Idempotency-Key": {"again:" + one.former.ID + ":" + integration}}
		_, err := a.Send(ctx, http.MethodPost, tenantPath(f.tenant, "candidates", one.candidate, "exports"), header, in, nil)
		refused := new(Refusal)
		switch {
		case err == nil:
			made++
		case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError:
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", terminal.Printable(one.candidate), terminal.Printable(err.Error()))
		default:
			return fmt.Errorf("%d of %d were exported; give the command again to go on: %w", made, len(all), err)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "exported %d candidates again: hiregate export list --tenant %s --integration %s --since 1h "+
		"shows what becomes of it\n", made, f.tenant, integration)
	if made < len(all) {
		return fmt.Errorf("%d were refused", len(all)-made)
	}
	return nil
}
