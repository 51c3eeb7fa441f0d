package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Cause returns the command `hiregate cause`, which shows what keeps exports from integrations, over all tenants.
func Cause() *cobra.Command {
	return group(&cobra.Command{
		Use:   "cause",
		Short: "Lists, retries and acknowledges what keeps exports from integrations, over all tenants",
		Long: `Lists what keeps exports from integrations: those with the same answer, or the same kind of error, have one
cause. What is acknowledged is not counted by hiregate status and the console until a time; metrics, alerts and
notifications stay as they are.`,
		Example: `  hiregate cause list
  hiregate cause retry 0f3a91c2d4e5b687
  hiregate cause acknowledge 0f3a91c2d4e5b687 --hours 24 --note "acme renews its certificate"`,
	}, causeList, causeRetry, causeAcknowledge, causeForget)
}

func causeList(a *Client) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists the causes, the one whose first export is given up the soonest first, and what is acknowledged at the end",
		Args:  terminal.Exactly(0, "cause list takes no argument"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			var s api.GatewayStatus
			query := url.Values{"grouped": {"true"}}
			if err := labelFilter.apply(cmd.Flags(), query, false); err != nil {
				return err
			}
			if shown, err := a.ask(ctx, cmd, http.MethodGet, "/v1/status?"+query.Encode(), nil, &s); shown || err != nil {
				return err
			}
			table := terminal.NewTable(cmd.OutOrStdout(), "cause", "answer", "integrations", "exports", "since", "first lost", "helps",
				"last try", "acknowledged")
			for _, needs := range [][]model.Need{s.Needs, s.Acknowledged} {
				for _, need := range needs {
					if need.Cause != nil {
						table.Row(causeRow(&need)...)
					}
				}
			}
			return table.Flush()
		}),
	}
	labelFilter.add(cmd.Flags())
	return cmd
}

func causeRow(need *model.Need) []any {
	c := need.Cause
	answer, where, known := c.FirstLine, c.Integrations[0], ""
	switch {
	case c.Status > 0:
		answer = fmt.Sprint(c.Status, " ", answer)
	case answer == "":
		answer = need.Sentence
	}
	if others := len(c.Integrations) - 1 + c.More; others > 0 {
		where += fmt.Sprintf(" and %d more", others)
	}
	if k := c.Acknowledged; k != nil {
		known = fmt.Sprintf("until %s by %s", k.Until.UTC().Format("2006-01-02 15:04 UTC"), k.Author)
		if k.Note != "" {
			known += ": " + k.Note
		}
	}
	tried := ""
	if t := c.LastTry; t != nil {
		tried = fmt.Sprintf("received %d, not received %d", t.Received, t.Failed)
		if t.Running > 0 {
			tried += fmt.Sprintf(", under way at %d", t.Running)
		}
	}
	return []any{c.ID, answer, where, need.Count, need.Since, need.LostAt, string(c.Helps), tried, known}
}

func causeRetry(a *Client) *cobra.Command {
	return causeTo(a, "retry", "Tries the oldest export at each integration of a cause, then the rest", "", func(ctx context.Context, cmd *cobra.Command,
		path string) error {
		var begun api.CauseRetry
		shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/retry", nil, &begun)
		if !shown && err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "the oldest is tried at %d integrations; the others follow where it is received\n", begun.Begun)
			if begun.Refused > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%d take no exports: they are disabled, or not verified\n", begun.Refused)
			}
		}
		return err
	})
}

func causeAcknowledge(a *Client) *cobra.Command {
	hours, note := 24, ""
	cmd := causeTo(a, "acknowledge", "Notes that you know of a cause: it is not counted for some hours",
		"The cause of another answer is another one, and counts.", func(ctx context.Context, cmd *cobra.Command, path string) error {
			in := api.AcknowledgeInput{Note: note, Until: time.Now().Add(time.Duration(hours) * time.Hour)}
			var k model.Acknowledgement
			shown, err := a.ask(ctx, cmd, http.MethodPut, path+"/acknowledgement", in, &k)
			if !shown && err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "it is not counted until %s\n", k.Until.UTC().Format(time.RFC3339))
			}
			return err
		})
	cmd.Flags().IntVar(&hours, "hours", hours, "for how many hours, 720 at most")
	cmd.Flags().StringVar(&note, "note", "", "one line for those who look at the cause")
	return cmd
}

func causeForget(a *Client) *cobra.Command {
	return causeTo(a, "forget", "Has an acknowledged cause counted again", "", func(ctx context.Context, cmd *cobra.Command, path string) error {
		err := a.Call(ctx, http.MethodDelete, path+"/acknowledgement", nil, nil)
		if err == nil {
			fmt.Fprintln(cmd.OutOrStdout(), "it is counted again")
		}
		return err
	})
}

// causeTo is a command about one cause.
func causeTo(a *Client, verb, short, long string, do func(context.Context, *cobra.Command, string) error) *cobra.Command {
	return &cobra.Command{Use: verb + " CAUSE", Short: short, Long: short + ".\n\n" + long,
		Args: terminal.Exactly(1, "name one cause, as hiregate cause list has it"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return do(ctx, cmd, "/v1/causes/"+url.PathEscape(args[0]))
		})}
}
