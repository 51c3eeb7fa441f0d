package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// trialRow is what came of a test export.
type trialRow struct {
	UUID       string            `json:"uuid"`
	Received   bool              `json:"received"`
	Class      string            `json:"class"`
	URL        string            `json:"url"`
	Documents  string            `json:"documents"`
	Header     map[string]string `json:"header"`
	Body       string            `json:"body"`
	SentAt     time.Time         `json:"sentAt"`
	DurationMs float64           `json:"durationMs"`
	Status     int               `json:"status"`
	Answer     string            `json:"answer"`
	Error      string            `json:"error"`
}

func integrationTest(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "test TENANT/NAME",
		Short: "Sends one marked test export and shows what was answered",
		Long: `Sends one export of an invented candidate to an integration, whether that is configured or
disabled: signed, with the headers and the document mode of every export, and a UUID that begins
with test-. It is tried once and stored nowhere, and changes nothing about the integration. --json
shows the body that was sent, too.

It exits with 1 if the export was not received.`,
		Args: terminal.Exactly(1, "integration test takes one integration, such as: hiregate integration test acme/hris"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			tenant, name, err := integrationOf(args[0])
			if err != nil {
				return err
			}
			var t trialRow
			shown, err := a.ask(ctx, cmd, http.MethodPost, tenantPath(tenant, "integrations", name, "test"), nil, &t)
			if err != nil {
				return err
			}
			if !shown {
				if err := t.print(cmd); err != nil {
					return err
				}
			}
			if !t.Received {
				return fmt.Errorf("%s/%s did not receive the test export: %s", tenant, name, terminal.Printable(t.Error))
			}
			if !shown {
				fmt.Fprintf(cmd.OutOrStdout(), "\n%s/%s received the test export\n", tenant, name)
			}
			return nil
		}),
	}
}

func (t *trialRow) print(cmd *cobra.Command) error {
	table := terminal.NewTable(cmd.OutOrStdout())
	table.Row("to", t.URL)
	table.Row("uuid", t.UUID)
	table.Row("body", fmt.Sprintf("%d bytes, documents %s", len(t.Body), t.Documents))
	for _, name := range slices.Sorted(maps.Keys(t.Header)) {
		table.Row(name, t.Header[name])
	}
	table.Row("sent", t.SentAt)
	table.Row("took", time.Duration(t.DurationMs*float64(time.Millisecond)))
	if t.Status > 0 {
		table.Row("status", terminal.StatusText(t.Status))
		table.Row("answer", head(t.Answer))
	}
	return table.Flush()
}
