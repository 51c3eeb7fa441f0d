package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Application returns the command `hiregate application`.
func Application() *cobra.Command {
	return group(&cobra.Command{
		Use:   "application",
		Short: "Lists, shows, sets, moves, ends and removes job applications",
		Long: `Lists, shows, sets, ends and removes the job applications of a tenant, shows what an applicant sent, and
has one enter a step of the hiring workflow.`,
		Example: `  hiregate application list initech --job NURSE-1
  hiregate application list initech --job NURSE-1 --csv > nurses.csv
  hiregate application show initech/a-zoe
  hiregate application answers initech/a-zoe
  hiregate application enter initech/a-zoe hired
  hiregate application end initech/a-zoe rejected --reason "no licence yet"
  hiregate application keep initech/a-zoe 2027-12-31`,
	}, applications.list, applications.show, applicationAnswers, applicationVersions,
		applications.set, applicationEnter, applicationEnd, applicationReopen, applicationKeep, applicationChoose, applications.remove)
}

var applications = noun[model.JobApplication]{
	kind: kind{command: "application", word: "job application", at: "job-applications", arg: "TENANT/APPLICATION",
		example: "initech/a-zoe", json: `{"candidate":"c-zoe","jobBoardCode":"NURSE-1","languageCode":"en"}`},
	listHelp:   help{short: "Lists the job applications of a tenant"},
	removeHelp: help{short: "Removes a job application, with its documents and answers"},
	filters: []filter{
		{flag: "candidate", help: "those of the candidate with this id only"},
		{flag: "job", help: "those for the job with this job board code only"},
		{flag: "step", help: "those that stand at the step with this id only"},
		{flag: "source", help: "those whose applicants found the job there only"},
		{flag: "api-user", parameter: "apiUser", help: "those that this user of the Apply API sent only"},
		{flag: "state", help: "open, unentered, ended, hired, rejected or withdrawn: those only"},
		{flag: "since", time: true, help: "those that arrived at this time or later only, such as 2h or 2026-11-20T12:00:00Z"},
		{flag: "until", time: true, help: "those that arrived before this time only"},
		{flag: "updated-since", parameter: "updatedSince", time: true, help: "by their last changes, those since then only"},
		{flag: "erased-before", parameter: "erasedBefore", time: true,
			help: "those that retention erases before this time only, such as 2026-12-31T00:00:00Z, the oldest first"},
		{flag: "count", boolean: true, help: "and say how many there are, up to 100,000"},
		{flag: "order", help: "oldest: the oldest first; changed: by their last changes (default: the newest first)"},
		{flag: "answers", boolean: true, help: "with what the applicants sent, in --json; the audit notes it"},
	},
	table:   true,
	columns: []string{"application", "candidate", "job board code", "step", "entered", "ended", "updated"},
	fields: func(j *model.JobApplication) []field {
		start := ""
		if j.StartDate != nil {
			start = j.StartDate.Date
		}
		var endedAt time.Time
		reason := ""
		if j.Ended != nil {
			endedAt, reason = j.Ended.At, j.Ended.Reason
		}
		return []field{
			{"application", j.ID},
			{"tenant", j.Tenant},
			{"legacy id", j.LegacyID},
			{"candidate", terminal.ID(j.Candidate)},
			{"job board code", terminal.ID(j.Job)},
			{"language", j.LanguageCode},
			{"start date", start},
			{"step", terminal.State(j.Status.Step)},
			{"status", strings.TrimSpace(j.Status.Name + " " + j.Status.Category)},
			{"entered", j.Status.EnteredAt},
			{"version of", terminal.ID(j.VersionOf)},
			{"exported version", terminal.ID(j.Chosen)},
			{"entered no step", terminal.Reason(j.Status.Unentered)},
			{"ended", terminal.State(j.State())},
			{"ended at", endedAt},
			{"reason", reason},
			{"kept until", j.KeepUntil},
			{"erased", j.ErasesAt},
			{"updated", j.UpdatedAt},
		}
	},
}

func applicationEnter(a *Client) *cobra.Command {
	return applications.verb(a, &cobra.Command{
		Use:   "enter STEP",
		Short: "Has a job application enter a step, whose helper then exports the candidate",
		Args: terminal.Exactly(2, "application enter takes a job application and a step, such as: "+
			"hiregate application enter initech/a-zoe hired"),
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var e api.Transition
		in := api.TransitionInput{Step: args[1]}
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/transitions", in, &e); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s entered %s\n", terminal.Printable(args[0]), terminal.Printable(e.Step))
		if e.Export != "" {
			tenant, _, _ := strings.Cut(args[0], "/")
			fmt.Fprintf(cmd.OutOrStdout(), "export %s/%s\n", tenant, e.Export)
		}
		return nil
	})
}

func applicationEnd(a *Client) *cobra.Command {
	var in api.EndInput
	cmd := applications.verb(a, &cobra.Command{
		Use:   "end hired|rejected|withdrawn",
		Short: "Ends a job application, which enters no step from then on",
		Args: terminal.Exactly(2, "application end takes a job application and how it ended, such as: "+
			"hiregate application end initech/a-zoe rejected"),
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		in.As = model.Ending(args[1])
		var ended model.JobApplication
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/end", in, &ended); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s ended as %s\n", terminal.Printable(args[0]), ended.State())
		return nil
	})
	cmd.Flags().StringVar(&in.Reason, "reason", "", "why, for people")
	return cmd
}

func applicationReopen(a *Client) *cobra.Command {
	return applications.verb(a, &cobra.Command{
		Use:   "reopen",
		Short: "Opens a job application again that has ended",
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var open model.JobApplication
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/reopen", nil, &open); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is open\n", terminal.Printable(args[0]))
		return nil
	})
}

func applicationKeep(a *Client) *cobra.Command {
	return applications.verb(a, &cobra.Command{
		Use:   "keep DAY|no",
		Short: "Notes until when the applicant agreed to be kept, whatever the retention",
		Long: `Notes until when the applicant agreed to be kept, through that day (UTC): retention does not erase the
job application before. "no" takes that back.`,
		Args: terminal.Exactly(2, "application keep takes a job application and a day, or no, such as: "+
			"hiregate application keep initech/a-zoe 2027-12-31"),
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var until any
		if args[1] != "no" {
			day, err := time.Parse(time.DateOnly, args[1])
			if err != nil {
				return fmt.Errorf("%s is no day: write one such as 2027-12-31, or no", terminal.Printable(args[1]))
			}
			until = day.AddDate(0, 0, 1)
		}
		var kept model.JobApplication
		header := http.Header{"Content-Type": {api.MergePatchType}}
		shown, err := a.askWith(ctx, cmd, http.MethodPatch, path, header, map[string]any{"keepUntil": until}, &kept)
		if shown || err != nil {
			return err
		}
		said := "is kept as long as others"
		if until != nil {
			said = "is kept through " + args[1]
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", terminal.Printable(args[0]), said)
		return nil
	})
}

func applicationVersions(a *Client) *cobra.Command {
	return applications.verb(a, &cobra.Command{
		Use:   "versions",
		Short: "Lists what was sent again for the same job within a day, under the same e-mail address",
		Long: `Lists what was sent again for the same job within a day, under the same e-mail address. It replaces
nothing; "application answers" and "document list" show it, "application choose" has exports have
its files.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, _ []string) error {
		var all api.List[api.JobApplicationVersion]
		if shown, err := a.ask(ctx, cmd, http.MethodGet, path+"/versions?limit=500", nil, &all); shown || err != nil {
			return err
		}
		table := terminal.NewTable(cmd.OutOrStdout(), "version", "received")
		for _, v := range all.Items {
			table.Row(v.ID, v.CreatedAt)
		}
		return table.Flush()
	})
}

func applicationChoose(a *Client) *cobra.Command {
	return applications.verb(a, &cobra.Command{
		Use:   "choose",
		Short: "Has exports have the files of this version of a job application",
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var first model.JobApplication
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/choose", nil, &first); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "exports of %s have the files of %s\n", terminal.Printable(first.ID),
			terminal.Printable(args[0]))
		return nil
	})
}

func applicationAnswers(a *Client) *cobra.Command {
	return applications.verb(a, &cobra.Command{
		Use:   "answers",
		Short: "Shows what an applicant sent",
		Long: `Shows what an applicant sent: the questions as they were then, with the answers, and for a file the
document that it became. That is personal data: it takes the role operator, and the audit notes it.
Answers to the questions of compliance groups are not among them.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, _ []string) error {
		var sent api.Answers
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/answers", nil, &sent); shown || err != nil {
			return err
		}
		table := terminal.NewTable(cmd.OutOrStdout())
		table.Row("received", sent.ReceivedAt)
		table.Row("by", sent.APIUser)
		table.Row("source", sent.Source)
		for _, one := range sent.Answers {
			value := strings.Join(one.Values, ", ")
			if one.Document != "" {
				value = "document " + one.Document
			}
			table.Row(terminal.Printable(one.Label), value)
		}
		return table.Flush()
	})
}
