package admin

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

func integrationTest(a *Client) *cobra.Command {
	return integrations.verb(a, &cobra.Command{
		Use:   "test",
		Short: "Sends one marked test export and shows what was answered",
		Long: `Sends one export of an invented candidate to an integration: signed, with the headers and the
document mode of every export, and a UUID that begins with test-. One that is not verified, or
disabled, gets VERIFY first, and the export only if it answers 200. The export is tried once and
stored nowhere, and changes nothing about the integration. --json shows the body that was sent, too.

It exits with 1 if the export was not received.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var t api.Trial
		shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/test", nil, &t)
		if !shown && err == nil {
			err = printTrial(cmd.OutOrStdout(), &t)
		}
		if err != nil {
			return err
		}
		if t.Event == "VERIFY" {
			return fmt.Errorf("%s was sent no test export, since it takes none before it answers VERIFY: %s", args[0],
				terminal.Printable(t.Error))
		}
		if !t.Received {
			return fmt.Errorf("%s did not receive the test export: %s", args[0], terminal.Printable(t.Error))
		}
		if !shown {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s received the test export\n", args[0])
		}
		return nil
	})
}

func printTrial(w io.Writer, t *api.Trial) error {
	table := terminal.NewTable(w)
	table.Row("to", t.URL)
	if t.Event == "VERIFY" {
		table.Row("event", t.Event)
	} else {
		table.Row("uuid", t.UUID)
		table.Row("body", fmt.Sprintf("%d bytes, documents %s", len(t.Body), t.Documents))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Header)) {
		table.Row(name, t.Header[name])
	}
	table.Row("sent", t.SentAt)
	table.Row("took", milliseconds(t.DurationMs))
	if t.Status > 0 {
		table.Row("status", terminal.StatusText(t.Status))
		table.Row("answer", head(t.Answer))
	}
	return table.Flush()
}
