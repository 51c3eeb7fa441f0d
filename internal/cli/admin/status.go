package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Status returns the command `hiregate status`, which says what needs a person.
func Status() *cobra.Command {
	a := new(Client)
	var check bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Says what needs you, and shows how all integrations do, the worst first",
		Long: `Says which integrations of a running gateway need you, why and since when, and shows how all do: the worst
first. When none does, it says: Nothing needs you.

An integration is failing when its last three attempts failed, or more. One integration is shown in full by hiregate
integration show TENANT/NAME, what waits for it by hiregate export list --undelivered.

With --check it exits with 1 when something needs you, for monitoring and scripts. With --json each need has a kind,
since when, how many exports it concerns and the command that helps.`,
		Example: `  hiregate status
  hiregate status --check >/dev/null || mail -s "hiregate needs you" ops@example.com
  hiregate status --json | jq -r '.needs[].sentence'`,
		Args:         terminal.Exactly(0, "status takes no argument"),
		SilenceUsage: true,
		RunE: a.judged(interruptible(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			var s statusAnswer
			shown, err := a.ask(ctx, cmd, http.MethodGet, "/v1/status", nil, &s)
			if err == nil && !shown {
				err = s.print(cmd.OutOrStdout())
			}
			if err == nil && check && len(s.Needs) > 0 {
				return fmt.Errorf("things that need you: %d", len(s.Needs))
			}
			return err
		})),
	}
	cmd.Flags().BoolVar(&check, "check", false, "exit with 1 when something needs you")
	cmd.SetFlagErrorFunc(terminal.FlagError)
	a.flags(cmd)
	return cmd
}

// statusAnswer is what needs a person, and how the integrations do.
type statusAnswer struct {
	Needs        []model.Need     `json:"needs"`
	Integrations []integrationRow `json:"integrations"`
	Omitted      int              `json:"omitted"`
}

func (s *statusAnswer) print(w io.Writer) error {
	for _, need := range s.Needs {
		fmt.Fprintf(w, "%s\n  %s\n", terminal.Printable(need.Sentence), terminal.Printable(need.Action))
	}
	if len(s.Needs) == 0 {
		fmt.Fprintln(w, "Nothing needs you.")
	}
	if len(s.Integrations) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := terminal.NewTable(w, "integration", "state", "since", "waiting", "oldest waiting", "last success", "24 h")
	for _, i := range s.Integrations {
		table.Row(i.Tenant+"/"+i.Name, terminal.State(i.State), i.Since, i.Waiting, i.OldestWaiting, i.LastSuccess,
			i.Day.share())
	}
	if err := table.Flush(); err != nil || s.Omitted == 0 {
		return err
	}
	fmt.Fprintf(w, "and %d more, which do better: hiregate integration list --all\n", s.Omitted)
	return nil
}

func integrationShow(a *Client) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "show TENANT/NAME",
		Short: "Shows how an integration does: its state and since when, what waits for it, how its attempts went",
		Long: `Shows how an integration does: its state and since when, what waits for it, its last success, and how its
attempts went by the hour.

It is failing when its last three attempts failed, or more, without those that it refused for their data. After ten
failures in a row its breaker opens: an attempt is made every 15 seconds at most, until one is received.`,
		Args: terminal.Exactly(1,
			"integration show takes one integration, such as: hiregate integration show acme/hris"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			path := tenantPath(tenant, "integrations", name, "health")
			query := url.Values{}
			if err := setTimes(query, since, ""); err != nil {
				return err
			}
			if len(query) > 0 {
				path += "?" + query.Encode()
			}
			var i healthRow
			if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &i); shown || err != nil {
				return err
			}
			return i.print(cmd.OutOrStdout())
		}),
	}
	cmd.Flags().StringVar(&since, "since", "", "the hours since then: a time such as 2026-11-20T12:00:00Z, or how long "+
		"ago, such as 7d (default: a day)")
	return cmd
}

// healthRow is an integration with its hours.
type healthRow struct {
	integrationRow
	Hours []struct {
		Begin time.Time `json:"hour"`
		ratesRow
	} `json:"hours"`
}

func (i *healthRow) print(w io.Writer) error {
	table := terminal.NewTable(w)
	table.Row("integration", i.Tenant+"/"+i.Name)
	table.Row("url", i.URL)
	table.Row("documents", i.Documents)
	table.Row("state", terminal.State(i.State))
	table.Row("since", i.Since)
	table.Row("reason", i.Reason)
	table.Row("waiting", i.Waiting)
	table.Row("oldest waiting", i.OldestWaiting)
	table.Row("last success", i.LastSuccess)
	table.Row("failures in a row", i.Failures)
	breaker := i.Breaker.State
	if !i.Breaker.NextProbe.IsZero() {
		breaker += ", next probe " + i.Breaker.NextProbe.UTC().Format(time.RFC3339)
	}
	table.Row("breaker", breaker)
	for _, one := range []struct {
		name string
		ratesRow
	}{{"24 h", i.Day}, {"7 d", i.Week}} {
		table.Row(one.name, fmt.Sprintf("%d attempts, %s delivered, p50 %s, p95 %s", one.Attempts, one.share(),
			terminal.FormatDuration(one.took(one.P50)), terminal.FormatDuration(one.took(one.P95))))
	}
	if err := table.Flush(); err != nil || len(i.Hours) == 0 {
		return err
	}
	fmt.Fprintln(w)
	table = terminal.NewTable(w, "hour", "attempts", "delivered", "p50", "p95")
	for _, h := range i.Hours {
		table.Row(h.Begin, h.Attempts, h.share(), h.took(h.P50), h.took(h.P95))
	}
	return table.Flush()
}

// share is the part of the attempts that was received, in percent; empty without any.
func (r *ratesRow) share() string {
	if r.SuccessRate == nil {
		return ""
	}
	return fmt.Sprintf("%.4g %%", 100**r.SuccessRate)
}

func (*ratesRow) took(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
