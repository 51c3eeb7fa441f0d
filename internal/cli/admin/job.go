package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Job returns the command `hiregate job`.
func Job() *cobra.Command {
	return group(&cobra.Command{
		Use:   "job",
		Short: "Lists, shows, sets, removes, closes and opens jobs, and imports their questions",
		Long: `Lists, shows, sets and removes the jobs of a tenant with what their applicants are asked, closes
and opens them, and imports lists of questions.`,
		Example: `  hiregate job list initech
  hiregate job show initech/NURSE-1
  hiregate job import-questions initech/NURSE-1 questions.csv
  hiregate job close initech/NURSE-1
  hiregate job open initech/NURSE-1`,
	}, jobs.list, jobs.show, jobs.set, jobs.remove, jobClose, jobOpen, jobImport)
}

// jobs are named by their job board codes, which may have slashes in them.
var jobs = noun[model.Job]{
	kind: kind{command: "job", at: "jobs", arg: "TENANT/JOBBOARDCODE", example: "initech/NURSE-1", id: "jobBoardCode",
		json: `{"id":"j-1","title":"Nurse"}`},
	listHelp: help{short: "Lists the jobs of a tenant, those that are closed among them"},
	filters: []filter{
		{flag: "state", help: "open or closed ones only"},
		{flag: "text", parameter: "q", help: "those of whose title, job board code or id words begin so"},
	},
	removeHelp: help{short: "Removes a job without job applications; close one that has some"},
	columns:    []string{"job board code", "title", "state", "questions", "compliance groups", "updated"},
	fields: func(j *model.Job) []field {
		state := "open"
		switch {
		case j.Closed:
			state = "closed"
		case j.Syndicate:
			state = "open, in the feed"
		}
		return []field{
			{"job board code", j.BoardCode},
			{"tenant", j.Tenant},
			{"id", j.ID},
			{"legacy id", j.LegacyID},
			{"title", j.Title},
			{"uri", j.URI},
			{"place", j.Place},
			{"description", terminal.Reason(j.Description)},
			{"state", terminal.State(state)},
			{"closes", j.ClosesAt},
			{"applications kept", daysOf(j.KeepApplications)},
			{"questions", inList{len(j.Questions)}},
			{"compliance groups", strings.Join(j.ComplianceGroups, ", ")},
			{"updated", j.UpdatedAt},
		}
	},
	below: func(w io.Writer, j *model.Job) error {
		if len(j.Questions) == 0 {
			return nil
		}
		fmt.Fprintln(w)
		table := terminal.NewTable(w, "question", "format", "required", "label", "options", "max length", "check")
		for _, q := range j.Questions {
			required, most := "", ""
			if q.IsRequired {
				required = "yes"
			}
			if q.MaxLength != nil {
				most = fmt.Sprint(*q.MaxLength)
			}
			table.Row(q.ID, q.Format, required, q.Label, model.JoinOptions(q.Options), most, q.Check)
		}
		return table.Flush()
	},
}

// daysOf says for how many days something is kept.
func daysOf(n int) any {
	if n == 0 {
		return nil
	}
	return fmt.Sprintf("%d days", n)
}

func jobClose(a *Client) *cobra.Command {
	return jobClosed(a, true, "close", "Closes a job: it takes no applications and is not in the feed", "is closed")
}

func jobOpen(a *Client) *cobra.Command {
	return jobClosed(a, false, "open", "Opens a job again", "is open")
}

// jobClosed is the command that sets whether a job is closed. All else of it is sent back as it came: a newer gateway may
// know more of a job.
func jobClosed(a *Client, closed bool, verb, short, done string) *cobra.Command {
	return jobs.verb(a, &cobra.Command{Use: verb, Short: short},
		func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
			var all map[string]json.RawMessage
			before, err := a.Send(ctx, http.MethodGet, path, nil, nil, &all)
			if err != nil {
				return err
			}
			all["closed"] = json.RawMessage(fmt.Sprint(closed))
			var at time.Time
			if json.Unmarshal(all["closesAt"], &at) == nil && !closed && !at.After(time.Now()) {
				delete(all, "closesAt") // it would close at once
			}
			unchanged := http.Header{"If-Match": {before.Get("ETag")}}
			if shown, err := a.askWith(ctx, cmd, http.MethodPut, path, unchanged, all, nil); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", terminal.Printable(args[0]), done)
			return nil
		})
}

// maxQuestions is the largest list of questions that the management API takes, in bytes.
const maxQuestions = 1 << 20

func jobImport(a *Client) *cobra.Command {
	var format string
	var empty bool
	cmd := jobs.verb(a, &cobra.Command{
		Use:   "import-questions FILE",
		Short: "Puts a list of questions, JSON or CSV, in the place of those that a job has",
		Long: `Puts a list of questions in the place of those that a job has. When one row is refused, nothing is
changed, and what is wrong with each is shown, with its line. A list without questions is refused,
unless --empty says that it is meant.

A JSON file holds an array of questions, as the Apply API shows them. A CSV file is in UTF-8, and
its first line names its columns, in any order: id, format and label, and what is needed of
isRequired, options, maxLength and check. Options are separated by "|"; a "|" within an option is
written as "\|". The check email makes a Text question take only e-mail addresses.

"-" reads standard input; it is taken for JSON when it begins with "[", unless --format says
otherwise.`,
		Example: `  hiregate job import-questions initech/NURSE-1 questions.csv
  hiregate job import-questions initech/NURSE-1 - --format csv < questions.csv`,
		Args: terminal.Exactly(2, "job import-questions takes a job and a file, such as: hiregate job import-questions "+
			"initech/NURSE-1 questions.csv"),
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		raw, err := terminal.ReadInput(cmd.InOrStdin(), args[1], maxQuestions)
		if err != nil {
			return err
		}
		media, err := questionsType(format, args[1], raw)
		if err != nil {
			return err
		}
		if !empty && noQuestions(media, raw) {
			return errors.New("the list has no question, and would remove all that the job asks: add --empty if that is meant")
		}
		var j model.Job
		header := http.Header{"Content-Type": {media}}
		shown, err := a.askWith(ctx, cmd, http.MethodPut, path+"/questions", header, verbatim(raw), &j)
		if !shown && err == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s asks %d questions of its own\n", terminal.Printable(args[0]), len(j.Questions))
		}
		return err
	})
	cmd.Flags().StringVar(&format, "format", "", "json or csv (default: by the file's name)")
	cmd.Flags().BoolVar(&empty, "empty", false, "take a list without questions: the job then asks none of its own")
	return cmd
}

// noQuestions reports whether a list is an empty array, or only a header line. The gateway refuses lists that can't be
// read.
func noQuestions(media string, raw []byte) bool {
	if media == "text/csv" {
		lines := strings.TrimSpace(strings.TrimPrefix(string(raw), "\ufeff"))
		return lines != "" && !strings.ContainsRune(lines, '\n')
	}
	var all []json.RawMessage
	return json.Unmarshal(raw, &all) == nil && all != nil && len(all) == 0
}

// questionsType returns the media type of a list of questions.
func questionsType(format, file string, raw []byte) (string, error) {
	if format == "" {
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	}
	switch {
	case format == "json", file == "-" && format == "" && strings.HasPrefix(strings.TrimSpace(string(raw)), "["):
		return "application/json", nil
	case format == "csv", file == "-" && format == "":
		return "text/csv", nil
	}
	return "", errors.New("is this JSON or CSV? say so with --format json or --format csv")
}
