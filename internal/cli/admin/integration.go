package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
and goes out after it is enabled.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate integration list
  hiregate integration show acme/hris
  hiregate integration set initech/hris --url https://hr.example.com/inbound/initech --secret-file hris.secret
  hiregate integration disable acme/hris --reason "they move their servers until noon"
  hiregate integration test acme/hris
  hiregate integration enable acme/hris
  hiregate integration retry acme/hris`,
	}, integrationList, integrationShow, integrationSet, integrationTest, integrationRetry, integrationDisable,
		integrationEnable, integrationRemove)
}

// integrationRow is what the tables show of an integration.
type integrationRow struct {
	Tenant    string    `json:"tenant"`
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Reason    string    `json:"reason"`
	Attempts  int       `json:"attempts"`
	UpdatedAt time.Time `json:"updatedAt"`
	URL       string    `json:"url"`
	Documents string    `json:"documents"`

	Since         time.Time `json:"since"`
	Waiting       int64     `json:"waiting"`
	OldestWaiting time.Time `json:"oldestWaiting"`
	LastSuccess   time.Time `json:"lastSuccess"`
	Failures      int64     `json:"consecutiveFailures"`
	Breaker       struct {
		State     string    `json:"state"`
		NextProbe time.Time `json:"nextProbe"`
	} `json:"breaker"`
	Day  ratesRow `json:"lastDay"`
	Week ratesRow `json:"lastWeek"`
}

type ratesRow struct {
	Attempts    int64    `json:"attempts"`
	SuccessRate *float64 `json:"successRate"`
	P50         float64  `json:"p50Ms"`
	P95         float64  `json:"p95Ms"`
}

func integrationList(a *Client) *cobra.Command {
	p := new(pages)
	p.choose = func(args []string) error {
		if len(args) == 0 {
			p.path = "/v1/integrations"
			return nil
		}
		p.path = tenantPath(args[0], "integrations")
		return model.ValidateTenantName(args[0])
	}
	return listing(a, p, &cobra.Command{
		Use:   "list [TENANT]",
		Short: "Lists the integrations of a tenant, or of all tenants, and whether they are configured",
		Args:  atMostTenant("integration"),
	}, []string{"integration", "state", "since", "waiting", "oldest waiting", "last success", "url", "reason"},
		func(i *integrationRow) []any {
			return []any{i.Tenant + "/" + i.Name, terminal.State(i.State), i.Since, i.Waiting, i.OldestWaiting,
				i.LastSuccess, i.URL, terminal.Reason(i.Reason)}
		})
}

// atMostTenant takes a tenant, or none for all of them.
func atMostTenant(command string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%[1]s list takes one tenant at most, such as: hiregate %[1]s list acme", command)
		}
		return nil
	}
}

func integrationDisable(a *Client) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "disable TENANT/NAME",
		Short: "Holds what comes for an integration until it is enabled",
		Long: `Disables an integration, whether it is declared in the Caddyfile or kept in the gateway's
database: its exports are accepted and held, also after a restart or a reload, until hiregate
integration enable. An attempt that is under way comes to its end.`,
		Args: terminal.Exactly(1, "integration disable takes one integration, such as: "+
			"hiregate integration disable acme/hris"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			in := map[string]string{"reason": reason}
			if shown, err := a.ask(ctx, cmd, http.MethodPost, tenantPath(tenant, "integrations", name, "disable"), in,
				nil); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%[1]s/%[2]s is disabled: its exports are held until hiregate integration "+
				"enable %[1]s/%[2]s\n", tenant, name)
			return nil
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the people who look at what is held; no personal data")
	return cmd
}

func integrationEnable(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "enable TENANT/NAME",
		Short: "Verifies an integration again and releases what is held for it",
		Long: `Verifies an integration again: one that an operator disabled, or its partner by answering 410, or
one that is not configured yet and would be verified later. What is held for it goes out once it
answers VERIFY with 200.`,
		Args: terminal.Exactly(1, "integration enable takes one integration, such as: hiregate integration enable acme/hris"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			var i integrationRow
			if shown, err := a.ask(ctx, cmd, http.MethodPost, tenantPath(tenant, "integrations", name, "enable"), nil,
				&i); shown || err != nil {
				return err
			}
			what := "VERIFY is on its way; what is held goes out once that is answered with 200"
			if i.State == string(model.Configured) {
				what = "it is configured; what is held goes out by itself within a minute"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s/%s: %s\n", tenant, name, what)
			a.tellMissed(ctx, cmd, tenant, name)
			return nil
		}),
	}
}

// tellMissed says how many exports of the last days were not addressed to an integration: it was not in the
// configuration then. What the command was for is done: without an answer it says nothing.
func (a *Client) tellMissed(ctx context.Context, cmd *cobra.Command, tenant, name string) {
	since := time.Now().Add(-7 * 24 * time.Hour)
	var missed struct{ Count int64 }
	err := a.Call(ctx, http.MethodPost, tenantPath(tenant, "redeliveries"), map[string]any{
		"integration": name, "since": since, "mode": model.RedeliverMissing, "dryRun": true}, &missed)
	if err == nil && missed.Count > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d exports of the last 7 days were never addressed to it; to deliver them: "+
			"hiregate export redeliver --tenant %s --integration %s --since 7d --mode missing\n", missed.Count, tenant,
			name)
	}
}

// integrationOf reads TENANT/NAME.
func integrationOf(arg string) (tenant, name string, err error) {
	tenant, name, err = cutTenant(arg, "whose integration is it? write it as TENANT/NAME, such as acme/hris")
	if err != nil {
		return "", "", err
	}
	return tenant, name, model.ValidateIntegrationName(name)
}

func integrationSet(a *Client) *cobra.Command {
	var url, file, former, documents string
	var standard, endFormer bool
	var inFlight int
	var retry []string
	cmd := &cobra.Command{
		Use:   "set TENANT/NAME",
		Short: "Makes an integration, or changes what the flags name of one, once it answers VERIFY with 200",
		Long: `Makes an integration of a tenant that is kept in the gateway's database, or changes what the flags
name of one; all else of it stays. Where its URL or secret is new, a VERIFY event is sent there
first: unless that is answered with exactly 200, nothing is saved, and what came of it is shown.

The secret is read from a file, the secret alone, so that it shows up in no list of processes; "-"
reads it from standard input.`,
		Example: `  hiregate integration set initech/hris --url https://hr.example.com/inbound/initech \
    --secret-file hris.secret
  hiregate integration set initech/hris --documents inline --in-flight 2`,
		Args: terminal.Exactly(1, "integration set takes one integration, such as: hiregate integration set acme/hris "+
			"--url https://hr.acme.example/inbound/acme --secret-file hris.secret"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			changed := map[string]any{}
			for flag, value := range map[string]any{"url": url, "documents": documents, "standard-webhooks": standard,
				"in-flight": inFlight, "retry": retry} {
				if cmd.Flags().Changed(flag) {
					changed[integrationFields[flag]] = value
				}
			}
			if file != "" {
				if changed["secret"], err = terminal.ReadSecret(cmd.InOrStdin(), file); err != nil {
					return err
				}
			}
			switch {
			case former != "" && endFormer:
				return errors.New("--former-secret-file and --end-former exclude each other: leave one out")
			case endFormer:
				changed["formerSecret"] = ""
			case former != "":
				if changed["formerSecret"], err = terminal.ReadSecret(cmd.InOrStdin(), former); err != nil {
					return err
				}
			}
			return changeIntegration(ctx, cmd, a, tenant, name, changed)
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&url, "url", "", "the webhook's address; it must hold an identifier, in its path or its query")
	fl.StringVar(&file, "secret-file", "", "file with the secret that signs what is sent there")
	fl.StringVar(&former, "former-secret-file", "",
		"file with the secret before it, which signs as well during a rotation")
	fl.BoolVar(&endFormer, "end-former", false, "end the secret before it: the new one signs alone")
	fl.StringVar(&documents, "documents", "", "how documents reach it: rehost (default), passthrough or inline")
	fl.BoolVar(&standard, "standard-webhooks", false, "add the signature headers of the Standard Webhooks specification")
	fl.IntVar(&inFlight, "in-flight", 0, "how many attempts may be under way at once")
	fl.StringSliceVar(&retry, "retry", nil, "gaps between attempts, such as 5s,30s,2m; the last one repeats")
	return cmd
}

// integrationFields are the names that flags have in the management API.
var integrationFields = map[string]string{"url": "url", "documents": "documents", "standard-webhooks": "standardWebhooks",
	"in-flight": "inFlight", "retry": "retry"}

// changeIntegration makes an integration, or changes it. The gateway keeps its URL and secret where they are left out,
// since no answer shows them; the other settings that stay are sent as they were.
func changeIntegration(
	ctx context.Context, cmd *cobra.Command, a *Client, tenant, name string, changed map[string]any,
) error {
	path := tenantPath(tenant, "integrations", name)
	in, unchanged, made := map[string]any{}, http.Header{}, false
	var before map[string]json.RawMessage
	header, err := a.Send(ctx, http.MethodGet, path, nil, nil, &before)
	refused := new(Refusal)
	switch {
	case err == nil:
		for _, field := range []string{"documents", "standardWebhooks", "inFlight", "retry"} {
			if value, ok := before[field]; ok {
				in[field] = value
			}
		}
		unchanged.Set("If-Match", header.Get("ETag"))
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
		if changed["url"] == nil || changed["secret"] == nil {
			return errors.New("say where it is and what signs its exports: --url https://hr.acme.example/inbound/acme " +
				"--secret-file hris.secret")
		}
		unchanged.Set("If-None-Match", "*")
		made = true
	default:
		return err
	}
	maps.Copy(in, changed)
	var answer json.RawMessage
	if _, err := a.Send(ctx, http.MethodPut, path, unchanged, in, &answer); err != nil {
		return err
	}
	if a.json {
		return terminal.WriteJSON(cmd.OutOrStdout(), answer)
	}
	var after integrationRow
	if err := json.Unmarshal(answer, &after); err != nil {
		return fmt.Errorf("reading what the gateway answered: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s/%s is set, and %s\n", tenant, name, strings.ReplaceAll(after.State, "_", " "))
	if made {
		a.tellMissed(ctx, cmd, tenant, name)
	}
	return nil
}

func integrationRemove(a *Client) *cobra.Command {
	path := func(_ context.Context, _ *Client, arg string) (string, error) {
		tenant, name, err := integrationOf(arg)
		return tenantPath(tenant, "integrations", name), err
	}
	return deletion(a, path, "is removed", &cobra.Command{
		Use:   "remove TENANT/NAME",
		Short: "Removes an integration and ends the deliveries that are on their way to it",
		Args: terminal.Exactly(1,
			"integration remove takes one integration, such as: hiregate integration remove acme/hris"),
	})
}
