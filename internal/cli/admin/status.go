package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// Status returns the command `hiregate status`, which says what needs a person.
func Status() *cobra.Command {
	a := new(Client)
	var check, all bool
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
			var s api.GatewayStatus
			query := url.Values{}
			if err := labelFilter.apply(cmd.Flags(), query, false); err != nil {
				return err
			}
			shown, err := a.ask(ctx, cmd, http.MethodGet, "/v1/status?"+query.Encode(), nil, &s)
			for err == nil && !shown && all && s.OmittedNeeds > 0 {
				var more api.GatewayStatus
				query.Set("from", strconv.Itoa(len(s.Needs)))
				if err = a.Call(ctx, http.MethodGet, "/v1/status?"+query.Encode(), nil, &more); len(more.Needs) == 0 {
					break
				}
				s.Needs = append(s.Needs, more.Needs...)
				s.OmittedNeeds = max(0, s.OmittedNeeds-len(more.Needs))
			}
			if err == nil && !shown {
				err = printStatus(cmd.OutOrStdout(), &s)
			}
			if err == nil && check && s.AllNeeds() > 0 {
				return fmt.Errorf("things that need you: %d", s.AllNeeds())
			}
			return err
		})),
	}
	labelFilter.add(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "all that needs you, not the 500 worst things alone")
	cmd.Flags().BoolVar(&check, "check", false, "exit with 1 when something needs you")
	cmd.SetFlagErrorFunc(terminal.FlagError)
	a.flags(cmd)
	a.completeFlags(cmd)
	return cmd
}

// remarkLine says since when how many exports had the same refusal or deviation.
func remarkLine(m *api.Remark) string {
	exports, where := "exports", ""
	if m.Count == 1 {
		exports = "export"
	}
	if m.Pointer != "" {
		where = ", the last one at " + m.Pointer
	}
	return terminal.Printable(fmt.Sprintf("since %s, %d %s: %s%s", m.Since.UTC().Format("2006-01-02 15:04 UTC"), m.Count,
		exports, m.Note, where))
}

// printClocks says what waits, what is lost when, and what was lost.
func printClocks(w io.Writer, c *api.Clocks) {
	const at = "2006-01-02 15:04 UTC"
	if d := &c.Delivery; d.Waiting > 0 || d.Lost > 0 {
		fmt.Fprintf(w, "Deliveries: waiting %d, of these held %d", d.Waiting, d.Held)
		if !d.LostAt.IsZero() {
			fmt.Fprintf(w, "; the first is given up at %s", d.LostAt.UTC().Format(at))
		}
		fmt.Fprintf(w, "; lost in 24 h %d\n", d.Lost)
	}
	if d := &c.Documents; d.ToFetch > 0 || d.Lost.All() > 0 {
		more := ""
		if d.More {
			more = " or more"
		}
		fmt.Fprintf(w, "Documents: to be fetched %d%s, of these late %d", d.ToFetch, more, d.Late)
		if !d.LostAt.IsZero() {
			fmt.Fprintf(w, "; the first is lost at %s", d.LostAt.UTC().Format(at))
		}
		fmt.Fprintf(w, "; lost in 24 h %d", d.Lost.All())
		if d.Lost.All() > 0 {
			fmt.Fprintf(w, ": the service's fault %d, ours %d", d.Lost.Service, d.Lost.Ours)
		}
		fmt.Fprintln(w)
	}
}

func printStatus(w io.Writer, s *api.GatewayStatus) error {
	for _, need := range s.Needs {
		fmt.Fprintf(w, "%s\n  %s\n", terminal.Printable(need.Sentence), terminal.Printable(need.Action))
	}
	switch {
	case s.OmittedNeeds > 0:
		fmt.Fprintf(w, "and %d more, which are less urgent: hiregate status --all\n", s.OmittedNeeds)
	case len(s.Needs) == 0:
		fmt.Fprintln(w, "Nothing needs you.")
	}
	printClocks(w, &s.Clocks)
	for n := range s.Deviations {
		d := &s.Deviations[n]
		fmt.Fprintf(w, "%s: %s\n", terminal.Printable(d.Tenant), remarkLine(d))
	}
	if e := s.ErasedAgain; e != nil {
		fmt.Fprintf(w, "At its start, %s, this gateway erased again what a backup had brought back: exports %d, candidates %d\n",
			e.At.UTC().Format("2006-01-02 15:04 UTC"), e.Exports, e.Candidates)
	}
	if len(s.Integrations) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := terminal.NewTable(w, "integration", "state", "since", "waiting", "oldest waiting", "last success", "24 h")
	for _, i := range s.Integrations {
		table.Row(i.Tenant+"/"+i.Name, terminal.State(i.State), i.Since, i.Waiting, i.OldestWaiting, i.LastSuccess,
			share(&i.Day))
	}
	if err := table.Flush(); err != nil || s.Omitted == 0 {
		return err
	}
	fmt.Fprintf(w, "and %d more, which do better: hiregate integration list --all\n", s.Omitted)
	return nil
}
