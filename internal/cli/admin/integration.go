package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Integration returns the command `hiregate integration`, which lists integrations and enables them again.
func Integration() *cobra.Command {
	return group(&cobra.Command{
		Use:   "integration",
		Short: "Lists, shows, sets, tests, retries, disables, enables and removes integrations",
		Long: `Lists where the exports of a running gateway go, sets and removes integrations of tenants that are
kept in its database, and disables and enables any: what comes for one that is disabled is held,
and goes out after it is enabled.`,
		Example: `  hiregate integration list
  hiregate integration show acme/hris
  hiregate integration causes acme/hris --since 7d
  hiregate integration set initech/hris --url https://hr.example.com/inbound/initech --secret-file hris.secret
  hiregate integration disable acme/hris --reason "they move their servers until noon"
  hiregate integration test acme/hris
  hiregate integration enable acme/hris
  hiregate integration retry acme/hris`,
	}, integrations.list, integrationShow, integrationCauses, integrationSet, integrationTest, integrationRetry,
		integrationDisable, integrationEnable, integrationRemove)
}

var integrations = noun[api.IntegrationHours]{
	kind: kind{command: "integration", at: "integrations", all: true, arg: "TENANT/NAME", example: "acme/hris", id: "name",
		valid: model.ValidateIntegrationName},
	listHelp: help{short: "Lists the integrations of a tenant, or of all tenants, and whether they are configured"},
	filters:  []filter{labelFilter},
	columns:  []string{"integration", "state", "since", "waiting", "oldest waiting", "last success", "url", "reason"},
	fields: func(i *api.IntegrationHours) []field {
		breaker := i.Breaker.State
		if !i.Breaker.NextProbe.IsZero() {
			breaker += ", next probe " + i.Breaker.NextProbe.UTC().Format(time.RFC3339)
		}
		rotatedBy := ""
		if i.RotatedBy != nil {
			rotatedBy = i.RotatedBy.String()
		}
		var rotated any = i.RotatedAt
		if i.Rotating && i.RotatedAt.IsZero() { // in the Caddyfile
			rotated = "not known"
		}
		return slices.Concat([]field{
			{"integration", i.Tenant + "/" + i.Name},
			{"url", i.URL},
		}, ifSet("same url", strings.Join(i.SameURL, ", ")), []field{
			{"documents", i.Documents},
			{"in flight", i.InFlight},
			{"rate", rateOf(i.Rate)},
		}, ifSet("retry", strings.Join(i.Retry.Words(), ", ")), ifSet("standard webhooks", i.StandardWebhooks),
			ifSet("traceparent", i.Traceparent), []field{
				{"authentication", authenticationOf(i.Authentication)},
				{"certificate ends", certificateEnd(i.Authentication)},
				{"rotation began", rotated},
				{"rotation begun by", rotatedBy},
				{"state", terminal.State(i.State)},
				{"since", i.Since},
				{"reason", terminal.Reason(i.Reason)},
				{"waiting", i.Waiting},
				{"oldest waiting", i.OldestWaiting},
				{"last success", i.LastSuccess},
				{"failures in a row", i.Failures},
				{"breaker", breaker},
				{"24 h", ratesOf(&i.Day)},
				{"7 d", ratesOf(&i.Week)},
			})
	},
	below: func(w io.Writer, i *api.IntegrationHours) error {
		if len(i.Hours) == 0 {
			return nil
		}
		fmt.Fprintln(w)
		table := terminal.NewTable(w, "hour", "attempts", "delivered", "p50", "p95")
		for _, h := range i.Hours {
			table.Row(h.Begin, h.Attempts, share(&h.Rates), milliseconds(h.P50), milliseconds(h.P95))
		}
		return table.Flush()
	},
}

// rateOf returns a rate as it is written in a Caddyfile; empty: there is none.
func rateOf(r *model.Rate) string {
	if r == nil {
		return ""
	}
	return r.String()
}

// share returns how many of the attempts were received, in percent; empty without any.
func share(r *api.Rates) string {
	if r.SuccessRate == nil {
		return ""
	}
	return fmt.Sprintf("%.4g %%", 100**r.SuccessRate)
}

func ratesOf(r *api.Rates) string {
	if r.Attempts == 0 {
		return "0 attempts"
	}
	return fmt.Sprintf("%d attempts, %s delivered, p50 %s, p95 %s", r.Attempts, share(r),
		terminal.FormatDuration(milliseconds(r.P50)), terminal.FormatDuration(milliseconds(r.P95)))
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func integrationShow(a *Client) *cobra.Command {
	var since string
	cmd := integrations.verb(a, &cobra.Command{
		Use:   "show",
		Short: "Shows how an integration does: its state and since when, what waits for it, how its attempts went",
		Long: `Shows how an integration does: its state and since when, what waits for it, its last success, and how its
attempts went by the hour.

It is failing when its last three attempts failed, or more, without those that it refused for their data. After ten
failures in a row its breaker opens: an attempt is made every 15 seconds at most, until one is received.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, _ []string) error {
		query := url.Values{}
		if err := setTime(query, "since", "since", since); err != nil {
			return err
		}
		var i api.IntegrationHours
		if shown, err := a.ask(ctx, cmd, http.MethodGet, path+"/health?"+query.Encode(), nil, &i); shown || err != nil {
			return err
		}
		return integrations.print(cmd.OutOrStdout(), &i)
	})
	cmd.Flags().StringVar(&since, "since", "", "the hours since then: a time such as 2026-11-20T12:00:00Z, or how long "+
		"ago, such as 7d (default: a day)")
	return cmd
}

func integrationDisable(a *Client) *cobra.Command {
	var in api.DisableInput
	cmd := integrations.verb(a, &cobra.Command{
		Use:   "disable",
		Short: "Holds what comes for an integration until it is enabled",
		Long: `Disables an integration, whether it is declared in the Caddyfile or kept in the gateway's
database: its exports are accepted and held, also after a restart or a reload, until hiregate
integration enable. An attempt that is under way comes to its end.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/disable", in, nil); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%[1]s is disabled: its exports are held until hiregate integration enable %[1]s\n",
			args[0])
		return nil
	})
	cmd.Flags().StringVar(&in.Reason, "reason", "", "why, for the people who look at what is held; no personal data")
	return cmd
}

func integrationEnable(a *Client) *cobra.Command {
	return integrations.verb(a, &cobra.Command{
		Use:   "enable",
		Short: "Verifies an integration again and releases what is held for it",
		Long: `Verifies an integration again: one that an operator disabled, or its receiver by answering 410, or
one that is not configured yet and would be verified later. What is held for it goes out once it
answers VERIFY with 200.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var i api.Integration
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/enable", nil, &i); shown || err != nil {
			return err
		}
		what := "VERIFY is on its way; what is held goes out once that is answered with 200"
		if i.State == model.Configured {
			what = "it is configured; what is held goes out by itself within a minute"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", args[0], what)
		a.sayMissed(ctx, cmd, args[0])
		return nil
	})
}

// sayMissed prints how many exports of the last days were not addressed to an integration: it was not in the
// configuration then. The command has done its work: without an answer it prints nothing.
func (a *Client) sayMissed(ctx context.Context, cmd *cobra.Command, arg string) {
	tenant, name, _ := strings.Cut(arg, "/")
	in := api.RedeliveryInput{Integration: name, Since: time.Now().Add(-7 * 24 * time.Hour), Mode: model.RedeliverMissing,
		DryRun: true}
	var missed api.RedeliveryPreview
	err := a.Call(ctx, http.MethodPost, tenantPath(tenant, "redeliveries"), in, &missed)
	if err == nil && missed.Count > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d exports of the last 7 days were never addressed to it; to deliver them: "+
			"hiregate export redeliver --tenant %s --integration %s --since 7d --mode missing\n", missed.Count, tenant,
			name)
	}
}

var integrationSettings = settings[api.Integration, api.IntegrationInput]{
	kept: (*api.Integration).Input,
	flags: []setting[api.IntegrationInput]{
		{"url", func(i *api.IntegrationInput) any { return &i.URL },
			"the webhook's address; it must hold an identifier, in its path or its query"},
		{"documents", func(i *api.IntegrationInput) any { return (*string)(&i.Documents) },
			"how documents reach it: rehost (default), passthrough or inline"},
		{"standard-webhooks", func(i *api.IntegrationInput) any { return &i.StandardWebhooks },
			"add the signature headers of the Standard Webhooks specification"},
		{"traceparent", func(i *api.IntegrationInput) any { return &i.Traceparent },
			"send it the trace of each attempt, in the header traceparent"},
		{"in-flight", func(i *api.IntegrationInput) any { return &i.InFlight }, "how many attempts may be under way at once"},
		{"rate", func(i *api.IntegrationInput) any { return &i.Rate },
			`how many attempts it gets, such as "10/s burst 20"; empty: as many as there are`},
		{"retry", func(i *api.IntegrationInput) any { return &i.Retry }, "gaps between attempts, such as 5s,30s,2m; the last one repeats"},
	},
}

func integrationSet(a *Client) *cobra.Command {
	var in api.IntegrationInput
	var file, former, credentials string
	var endFormer bool
	cmd := integrations.verb(a, &cobra.Command{
		Use:   "set",
		Short: "Makes an integration, or changes what the flags name of one, once it answers VERIFY with 200",
		Long: `Makes an integration of a tenant that is kept in the gateway's database, or changes what the flags
name of one; all else of it stays. Where its URL, secret or authentication is new, a VERIFY event is sent there
first: unless that is answered with exactly 200, nothing is saved, and what came of it is shown.

The secret is read from a file that has nothing else in it, so that no list of processes shows it;
"-" reads it from standard input.`,
		Example: `  hiregate integration set initech/hris --url https://hr.example.com/inbound/initech \
    --secret-file hris.secret
  hiregate integration set initech/hris --documents inline --in-flight 2`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) (err error) {
		var secret, formerSecret string
		if file != "" {
			if secret, err = terminal.ReadSecret(cmd.InOrStdin(), file); err != nil {
				return err
			}
		}
		if former != "" && endFormer {
			return errBothWays("former-secret-file", "end-former")
		}
		if former != "" {
			if formerSecret, err = terminal.ReadSecret(cmd.InOrStdin(), former); err != nil {
				return err
			}
		}
		var authentication *model.Authentication
		if credentials != "" {
			if authentication, err = terminal.ReadAuthentication(cmd.InOrStdin(), credentials); err != nil {
				return err
			}
		}
		unchanged, made, err := integrationSettings.keep(ctx, a, cmd, path, &in)
		switch {
		case err != nil:
			return err
		case made && (in.URL == "" || secret == ""):
			return errors.New("say where it is and what signs its exports: --url https://hr.acme.example/inbound/acme " +
				"--secret-file hris.secret")
		}
		in.Secret, in.Authentication = secret, authentication // empty: it stays, as the URL does
		if former != "" || endFormer {
			in.Former = &formerSecret
		}
		var after api.Integration
		if shown, err := a.askWith(ctx, cmd, http.MethodPut, path, unchanged, in, &after); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is set, and %s\n", args[0], strings.ReplaceAll(string(after.State), "_", " "))
		if len(after.SameURL) > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s has this URL as well, so that the receiver can't tell by the identifier in it "+
				"whose exports come in: give each integration an identifier of its own\n", terminal.Printable(strings.Join(after.SameURL, ", ")))
		}
		if made {
			a.sayMissed(ctx, cmd, args[0])
		}
		return nil
	})
	integrationSettings.add(cmd.Flags(), &in)
	fl := cmd.Flags()
	fl.StringVar(&file, "secret-file", "", "file with the secret that signs what is sent there")
	fl.StringVar(&credentials, "authentication-file", "", "file with the credentials that the receiver wants beside the "+
		`signature, as JSON: {"bearer":"…"}, or {} for none`)
	fl.StringVar(&former, "former-secret-file", "",
		"file with the secret before it, which signs as well during a rotation")
	fl.BoolVar(&endFormer, "end-former", false, "end the secret before it: only the new one signs")
	return cmd
}

// integrationRemove is the command remove, which may be forced.
func integrationRemove(a *Client) *cobra.Command {
	cmd := &cobra.Command{Use: "remove", Short: "Removes an integration and ends the deliveries that are on their way to it",
		Long: "Removes an integration and ends the deliveries that are on their way to it. Where the helper of a\n" +
			"step names it, it is removed with --force only."}
	force := cmd.Flags().Bool("force", false, "also where helpers of steps name it: each export that they make for it fails")
	ask := a.asking(cmd)
	return integrations.verb(a, cmd, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		if err := ask(ctx, cmd, args[0]); err != nil {
			return err
		}
		if *force {
			path += "?force=true"
		}
		return a.do(ctx, cmd, http.MethodDelete, path, args[0]+" is removed")
	})
}
