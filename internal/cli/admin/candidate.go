package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Candidate returns the command `hiregate candidate`.
func Candidate() *cobra.Command {
	return group(&cobra.Command{
		Use:   "candidate",
		Short: "Lists, shows, sets, removes, exports and dumps candidates",
		Long: `Lists, shows, sets and removes the candidates of a tenant, exports one of them, or writes out all
that is held of one. A candidate is named by their id, or by one of their e-mail addresses.`,
		Example: `  hiregate candidate list initech
  hiregate candidate show initech/zoe@example.com
  hiregate candidate export initech/c-zoe
  hiregate candidate dump initech/c-zoe --output c-zoe`,
	}, candidates.list, candidates.show, candidates.set, candidates.remove, candidateExport, candidateDump)
}

var candidates = noun[model.Candidate]{
	kind: kind{command: "candidate", at: "candidates", arg: "TENANT/CANDIDATE|EMAIL", example: "initech/c-zoe",
		email: "email", atInID: true, json: `{"name":{"given":"Zoë","family":"Park"},"email":["zoe@example.com"]}`},
	listHelp: help{short: "Lists the candidates of a tenant"},
	filters: []filter{
		{flag: "name", help: "those of whose name words begin so, in any script and without marks; of sealed names, whole words"},
		{flag: "email", help: "those with this e-mail address"},
		{flag: "phone", help: "those with this phone number, with the code of the country or without"},
	},
	removeHelp: help{short: "Removes a candidate who has no job applications"},
	columns:    []string{"candidate", "name", "e-mail", "applied", "updated"},
	fields: func(c *model.Candidate) []field {
		var addresses []string
		for _, a := range c.Address {
			addresses = append(addresses, cmp.Or(a.Formatted, strings.Join([]string{a.Line, a.PostalCode, a.City}, " ")))
		}
		var custom []field
		for _, f := range c.CustomFields {
			custom = append(custom, field{f.Name, f.Value})
		}
		return slices.Concat([]field{
			{"candidate", c.ID},
			{"tenant", c.Tenant},
			{"alternate ids", strings.Join(c.AlternateIDs, ", ")},
			{"name", cmp.Or(c.Name.Formatted, joined(c.Name.Given, c.Name.Family))},
			{"e-mail", strings.Join(c.Email, ", ")},
			{"phone", strings.Join(c.Phone, ", ")},
		}, repeated("address", addresses), []field{{"applied", c.ApplyDate}}, custom, []field{{"updated", c.UpdatedAt}})
	},
}

func candidateExport(a *Client) *cobra.Command {
	var in api.ExportInput
	var again exportAgainFlags
	cmd := candidates.verb(a, &cobra.Command{
		Use:   "export",
		Short: "Exports a candidate, and shows what came of the first attempt",
		Long: `Exports a candidate, and shows what came of the first attempt. It exits with 1 if that was made and not
received; the next attempts follow by themselves.

With --since it exports those of a range again, as new events, to one integration: what was triggered
here can't be redelivered once its document URLs have ended.`,
		Example: `  hiregate candidate export initech/c-zoe
  hiregate candidate export --tenant initech --integration hris --since 24h --step hired --dry-run`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var e api.Exported
		shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/exports", in, &e)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if shown { // as JSON; the exit code says what came of it
			out = io.Discard
		}
		tenant, _, _ := strings.Cut(args[0], "/")
		fmt.Fprintf(out, "export %s/%s\n", tenant, e.UUID)
		table := terminal.NewTable(out, "integration", "outcome", "reason", "next attempt")
		var where []string
		for _, d := range e.Deliveries {
			table.Row(d.Integration, terminal.State(d.Outcome), terminal.Reason(d.Reason), d.NextAt)
			if d.Outcome != model.Delivered && (d.Attempts > 0 || d.Outcome.Final()) {
				where = append(where, notReceived(&d.Delivery))
			}
		}
		if err := table.Flush(); err != nil || len(where) == 0 {
			return err
		}
		return errors.New(strings.Join(where, "; "))
	})
	cmd.Flags().StringVar(&in.Integration, "integration", "", "integration to export to (default: all of them)")
	cmd.Flags().StringVar(&in.JobApplication, "application", "",
		"the job application that the export is about, when there are several")
	again.add(cmd)
	one, exportOne := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if again.since != "" && len(args) == 0 {
			return nil
		}
		return one(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return exportOne(cmd, args)
		}
		return interruptible(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			return a.exportRange(ctx, cmd, &again, in.Integration)
		})(cmd, args)
	}
	return cmd
}
