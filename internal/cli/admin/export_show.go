package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

// phases says how long the parts of an attempt took that there were.
func phases(a *api.Attempt) string {
	var parts []string
	for _, one := range []struct {
		name string
		ms   float64
	}{{"dns", a.Phases.DNS}, {"connect", a.Phases.Connect}, {"tls", a.Phases.TLS}, {"first byte", a.Phases.FirstByte}} {
		if one.ms > 0 {
			parts = append(parts, one.name+" "+terminal.FormatDuration(milliseconds(one.ms)))
		}
	}
	return strings.Join(parts, ", ")
}

func exportShow(a *Client) *cobra.Command {
	var body, forClient, answer bool
	cmd := &cobra.Command{
		Use:   "show TENANT/UUID | UUID",
		Short: "Shows an export: its deliveries, each attempt, and its documents",
		Long: `Shows an export: its deliveries, each attempt with the head of what was answered, and its
documents. Of more than 100 attempts at a delivery the last 100 are shown. The tenant may be left out,
and all but the first 8 characters of the UUID, as long as they name only one export.

An answer is shown in part; --json has all that was kept of it, at most 64 KiB.

With --body it prints the body of the export instead, byte for byte as it came. That is personal
data, and the URLs of documents that are in it are credentials: who reads it is in the audit.

With --for-client it prints what the client can be told about the last attempt that failed at each of
its systems: nothing secret, and nothing of the candidate. --answer adds the text of the answer, which
may repeat the candidate's data.`,
		Args: terminal.Exactly(1, "export show takes one export, such as: hiregate export show "+
			"acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, _, err := a.findExport(ctx, args[0])
			if err != nil {
				return err
			}
			if body {
				return a.printBody(ctx, cmd, path)
			}
			var e api.ExportDetail
			if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &e); shown || err != nil {
				return err
			}
			if forClient {
				return printForClient(cmd.OutOrStdout(), &e, answer)
			}
			return exports.print(cmd.OutOrStdout(), &e)
		}),
	}
	cmd.Flags().BoolVar(&body, "body", false, "print the body of the export, which is personal data; the audit notes it")
	cmd.Flags().BoolVar(&forClient, "for-client", false, "print what the client can be told of the attempts that failed last")
	cmd.Flags().BoolVar(&answer, "answer", false, "with --for-client: the text of the answers as well")
	return cmd
}

// printForClient prints what the client can be told about the last failed attempt at each integration.
func printForClient(w io.Writer, e *api.ExportDetail, answer bool) error {
	none := true
	for n := range e.Deliveries {
		d := &e.Deliveries[n]
		last := len(d.History) - 1
		if !d.Current || last < 0 || d.History[last].Class == model.ClassDelivered {
			continue
		}
		if !none {
			fmt.Fprintln(w)
		}
		none = false
		fmt.Fprint(w, e.ForClient(d, &d.History[last], answer))
	}
	if none {
		return errors.New("no integration refused this export at its last attempt: hiregate export show has all attempts")
	}
	return nil
}

// printBody prints the body of the export at a path, byte for byte; only a terminal gets a line end after it.
func (a *Client) printBody(ctx context.Context, cmd *cobra.Command, path string) error {
	var e api.ExportBody
	if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/body", nil, &e); shown || err != nil {
		return err
	}
	if terminal.IsTerminal(cmd.OutOrStdout()) {
		e.Body += "\n"
	}
	_, err := io.WriteString(terminal.Exact(cmd.OutOrStdout()), e.Body)
	return err
}

// printExport prints what an export has beside its fields, a table for each.
func printExport(w io.Writer, e *api.ExportDetail) error {
	var findings []schemas.Finding
	if len(e.Findings) > 0 {
		if err := json.Unmarshal(e.Findings, &findings); err != nil {
			return fmt.Errorf("reading what the gateway answered: %w", err)
		}
		fmt.Fprintln(w)
		table := terminal.NewTable(w, "at", "rule", "found")
		for _, f := range findings {
			table.Row(f.Pointer, terminal.ID(f.Rule), terminal.Reason(f.Found))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if err := printDeliveries(w, e); err != nil {
		return err
	}
	if len(e.Documents) > 0 {
		fmt.Fprintln(w)
		table := terminal.NewTable(w, "document", "state", "tries", "bytes", "type", "fetched", "sha256", "fault", "reason")
		for _, d := range e.Documents {
			table.Row(d.Position, terminal.State(d.State), d.Tries, d.Size, d.MimeType, d.FetchedAt, d.SHA256,
				d.Fault, terminal.Reason(d.Reason))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(e.Audit) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := terminal.NewTable(w, "at", "who", "did")
	for _, entry := range e.Audit {
		table.Row(entry.At, terminal.ID(entry.Author.String()), terminal.State(entry.Action))
	}
	return table.Flush()
}

func printDeliveries(w io.Writer, e *api.ExportDetail) error {
	attempts := false
	if len(e.Deliveries) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := terminal.NewTable(w, "integration", "round", "outcome", "class", "attempts", "updated", "next attempt",
		"reason")
	for _, d := range e.Deliveries {
		table.Row(cmp.Or(d.Integration, "none"), d.Round, terminal.State(d.Outcome), d.Class, d.Attempts, d.UpdatedAt, d.NextAt,
			terminal.Reason(d.Reason))
		attempts = attempts || len(d.History) > 0
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range e.Deliveries {
		if received := received(e, d.Integration); d.Current && len(received) > 1 {
			fmt.Fprintf(w, "\n%s received it %d times:\n", d.Integration, len(received))
			table = terminal.NewTable(w)
			for _, one := range received {
				table.Row("", one.UpdatedAt, askedBy(e, one))
			}
			if err := table.Flush(); err != nil {
				return err
			}
		}
	}
	if !attempts {
		return nil
	}
	fmt.Fprintln(w)
	for _, d := range e.Deliveries {
		for _, a := range d.History {
			if err := printAttempt(w, &d, &a); err != nil {
				return err
			}
		}
	}
	return nil
}

// askedBy says who asked for a delivery, named as in the audit of the export where that has them.
func askedBy(e *api.ExportDetail, d *api.DeliveryDetail) string {
	author := model.Author{Actor: d.BegunBy}
	for _, entry := range e.Audit {
		if entry.Actor == d.BegunBy && !entry.Claimed { // several may claim to be behind one actor
			author = entry.Author
		}
	}
	switch {
	case d.Redelivery != "":
		return fmt.Sprintf("asked for by %s, with the range %s", author, d.Redelivery)
	case d.BegunBy != "":
		return "asked for by " + author.String()
	case d.Round == 0:
		return "as it came"
	}
	return fmt.Sprintf("in round %d", d.Round)
}

// printAttempt prints an attempt narrow: what it was on one line, and below it where it went and what came back.
func printAttempt(w io.Writer, d *api.DeliveryDetail, a *api.Attempt) error {
	took := terminal.FormatDuration(milliseconds(a.DurationMs))
	status := "no answer"
	if a.Status > 0 {
		status = terminal.StatusText(a.Status)
	}
	made := "automatic"
	if a.Manual {
		made = "manual"
	}
	fmt.Fprintf(w, "%s, round %d, attempt %d (%s): %s, took %s: %s\n", d.Integration, d.Round, a.Number, made,
		a.StartedAt.UTC().Format(time.RFC3339), took, status)
	table := terminal.NewTable(w)
	for _, line := range []struct{ name, value string }{
		{"  error", a.Error}, {"  address", a.Address}, {"  phases", phases(a)},
		{"  header", head(strings.ReplaceAll(strings.TrimSpace(a.Header), "\n", "; "))}, {"  answer", head(a.Answer)},
	} {
		if line.value != "" {
			table.Row(line.name, line.value)
		}
	}
	return table.Flush()
}

// maxHead is the length of a head in characters.
const maxHead = 300

// head returns as much of an answer as a line takes.
func head(answer string) string {
	n := 0
	for i := range answer {
		if n == maxHead {
			return answer[:i] + "…"
		}
		n++
	}
	return answer
}
