package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

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
and opens them, and imports lists of questions.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate job list initech
  hiregate job show initech/NURSE-1
  hiregate job import-questions initech/NURSE-1 questions.csv
  hiregate job close initech/NURSE-1
  hiregate job open initech/NURSE-1`,
	}, jobList, jobShow, jobSet, jobRemove, jobClose, jobOpen, jobImport)
}

// A job board code may have slashes in it.
var jobResource = resource{word: "job", path: "jobs", arg: "TENANT/JOBBOARDCODE", example: "initech/NURSE-1",
	json: `{"id":"j-1","title":"Nurse"}`}

func jobSet(a *Client) *cobra.Command { return jobResource.setting(a, "job") }

func jobRemove(a *Client) *cobra.Command {
	return jobResource.removal(a, "job", "Removes a job without job applications; close one that has some")
}

func openOrClosed(j *model.Job) string {
	switch {
	case j.Closed:
		return "closed"
	case j.Syndicate:
		return "open, in the feed"
	}
	return "open"
}

func jobList(a *Client) *cobra.Command {
	return listing(a, pagesOf("jobs"), &cobra.Command{
		Use:   "list TENANT",
		Short: "Lists the jobs of a tenant, those that are closed among them",
		Args:  terminal.Exactly(1, "job list takes one tenant, such as: hiregate job list initech"),
	}, []string{"job board code", "title", "state", "questions", "compliance groups", "updated"},
		func(j *model.Job) []any {
			return []any{j.BoardCode, j.Title, terminal.State(openOrClosed(j)), len(j.Questions),
				strings.Join(j.ComplianceGroups, ", "), j.UpdatedAt}
		})
}

func jobShow(a *Client) *cobra.Command {
	return shown(a, "job", jobResource, jobResource.find, printJob)
}

func printJob(cmd *cobra.Command, j *model.Job) error {
	about := terminal.NewTable(cmd.OutOrStdout())
	about.Row("job board code", j.BoardCode)
	about.Row("tenant", j.Tenant)
	about.Row("id", j.ID)
	about.Row("legacy id", j.LegacyID)
	about.Row("title", j.Title)
	about.Row("uri", j.URI)
	about.Row("state", openOrClosed(j))
	about.Row("compliance groups", strings.Join(j.ComplianceGroups, ", "))
	about.Row("updated", j.UpdatedAt)
	if err := about.Flush(); err != nil || len(j.Questions) == 0 {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	asked := terminal.NewTable(cmd.OutOrStdout(), "question", "format", "required", "label", "options", "max length",
		"check")
	for _, q := range j.Questions {
		required, most := "", ""
		if q.IsRequired {
			required = "yes"
		}
		if q.MaxLength != nil {
			most = fmt.Sprint(*q.MaxLength)
		}
		asked.Row(q.ID, q.Format, required, q.Label, model.JoinOptions(q.Options), most, q.Check)
	}
	return asked.Flush()
}

func jobClose(a *Client) *cobra.Command {
	return jobClosed(a, true, "close", "Closes a job: it takes no applications and is not in the feed",
		"is closed")
}

func jobOpen(a *Client) *cobra.Command {
	return jobClosed(a, false, "open", "Opens a job again", "is open")
}

// jobClosed is the command that sets whether a job is closed.
func jobClosed(a *Client, closed bool, word, short, done string) *cobra.Command {
	return &cobra.Command{
		Use:   word + " TENANT/JOBBOARDCODE",
		Short: short,
		Args:  terminal.Exactly(1, "job "+word+" takes one job, such as: hiregate job "+word+" initech/NURSE-1"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := jobResource.pathOf(args[0])
			if err != nil {
				return err
			}
			var all map[string]json.RawMessage // all that a newer gateway knows of a job stays
			shown, err := a.Send(ctx, http.MethodGet, path, nil, nil, &all)
			if err != nil {
				return err
			}
			all["closed"] = json.RawMessage(fmt.Sprint(closed))
			unchanged := http.Header{"If-Match": {shown.Get("ETag")}}
			var raw json.RawMessage
			if _, err := a.Send(ctx, http.MethodPut, path, unchanged, all, &raw); err != nil {
				return err
			}
			if a.json {
				return terminal.WriteJSON(cmd.OutOrStdout(), raw)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", terminal.Printable(args[0]), done)
			return nil
		}),
	}
}

// maxQuestions is how many bytes the management API takes.
const maxQuestions = 1 << 20

func jobImport(a *Client) *cobra.Command {
	var kind string
	var empty bool
	cmd := &cobra.Command{
		Use:   "import-questions TENANT/JOBBOARDCODE FILE",
		Short: "Puts a list of questions, JSON or CSV, in the place of those that a job has",
		Long: `Puts a list of questions in the place of those that a job has. When one row is refused, nothing is
changed, and what is wrong with each is told, with its line. A list without questions is refused,
unless --empty says that it is meant.

A JSON file holds an array of questions, as the Apply API shows them. A CSV file is in UTF-8, and
its first line names its columns, in any order: id, format and label, and what is needed of
isRequired, options, maxLength and check. Options are separated by "|"; a "|" within an option is
written as "\|". The check email makes a Text question take e-mail addresses alone.

"-" reads standard input; it is taken for JSON when it begins with "[", unless --format says
otherwise.`,
		Example: `  hiregate job import-questions initech/NURSE-1 questions.csv
  hiregate job import-questions initech/NURSE-1 - --format csv < questions.csv`,
		Args: terminal.Exactly(2, "job import-questions takes a job and a file, such as: hiregate job import-questions "+
			"initech/NURSE-1 questions.csv"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := jobResource.pathOf(args[0])
			if err != nil {
				return err
			}
			raw, err := terminal.ReadInput(cmd.InOrStdin(), args[1], maxQuestions)
			if err != nil {
				return err
			}
			media, err := questionsType(kind, args[1], raw)
			if err != nil {
				return err
			}
			if !empty && noQuestions(media, raw) {
				return errors.New("the list has no question, and would remove all that the job asks: add --empty if that is meant")
			}
			var answer json.RawMessage
			if _, err := a.Send(ctx, http.MethodPut, path+"/questions", http.Header{"Content-Type": {media}}, verbatim(raw),
				&answer); err != nil {
				return err
			}
			if a.json {
				return terminal.WriteJSON(cmd.OutOrStdout(), answer)
			}
			var j model.Job
			if err := json.Unmarshal(answer, &j); err != nil {
				return fmt.Errorf("reading what the gateway answered: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s asks %d questions of its own\n", terminal.Printable(args[0]), len(j.Questions))
			return nil
		}),
	}
	cmd.Flags().StringVar(&kind, "format", "", "json or csv (default: by the file's name)")
	cmd.Flags().BoolVar(&empty, "empty", false, "take a list without questions: the job then asks none of its own")
	return cmd
}

// noQuestions reports whether a list is an empty array, or a header line alone. What can't be read is the gateway's to
// refuse.
func noQuestions(media string, raw []byte) bool {
	if media == "text/csv" {
		lines := strings.TrimSpace(strings.TrimPrefix(string(raw), "\ufeff"))
		return lines != "" && !strings.ContainsRune(lines, '\n')
	}
	var all []json.RawMessage
	return json.Unmarshal(raw, &all) == nil && all != nil && len(all) == 0
}

// questionsType is the media type of a list of questions.
func questionsType(kind, file string, raw []byte) (string, error) {
	if kind == "" {
		kind = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	}
	switch {
	case kind == "json", file == "-" && kind == "" && strings.HasPrefix(strings.TrimSpace(string(raw)), "["):
		return "application/json", nil
	case kind == "csv", file == "-" && kind == "":
		return "text/csv", nil
	}
	return "", errors.New("is this JSON or CSV? say so with --format json or --format csv")
}
