package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

var applicationResource = resource{word: "job application", path: "job-applications", arg: "TENANT/APPLICATION",
	example: "initech/a-zoe", json: `{"candidate":"c-zoe","jobBoardCode":"NURSE-1","languageCode":"en"}`}

// Application returns the command `hiregate application`.
func Application() *cobra.Command {
	return group(&cobra.Command{
		Use:   "application",
		Short: "Lists, shows, sets, moves and removes job applications",
		Long: `Lists, shows, sets and removes the job applications of a tenant, and has one enter a step of the
hiring workflow.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate application list initech --job NURSE-1
  hiregate application show initech/a-zoe
  hiregate application enter initech/a-zoe hired`,
	}, applicationList, applicationShow, applicationSet, applicationEnter, applicationRemove)
}

func applicationList(a *Client) *cobra.Command {
	p := pagesOf("job-applications")
	var candidate, job, step string
	tenant := p.choose
	p.choose = func(args []string) error {
		p.query = url.Values{}
		for name, value := range map[string]string{"candidate": candidate, "job": job, "step": step} {
			if value != "" {
				p.query.Set(name, value)
			}
		}
		return tenant(args)
	}
	cmd := &cobra.Command{
		Use:   "list TENANT",
		Short: "Lists the job applications of a tenant",
		Args:  terminal.Exactly(1, "application list takes one tenant, such as: hiregate application list initech"),
	}
	fl := cmd.Flags()
	fl.StringVar(&candidate, "candidate", "", "those of the candidate with this id only")
	fl.StringVar(&job, "job", "", "those for the job with this job board code only")
	fl.StringVar(&step, "step", "", "those that stand at the step with this id only")
	return listing(a, p, cmd, []string{"application", "candidate", "job board code", "step", "entered", "updated"},
		func(j *model.JobApplication) []any {
			return []any{j.ID, terminal.ID(j.Candidate), terminal.ID(j.Job), terminal.State(j.Status.Step), j.Status.EnteredAt, j.UpdatedAt}
		})
}

func applicationShow(a *Client) *cobra.Command {
	return shown(a, "application", applicationResource, applicationResource.find,
		func(cmd *cobra.Command, j *model.JobApplication) error {
			table := terminal.NewTable(cmd.OutOrStdout())
			table.Row("application", j.ID)
			table.Row("tenant", j.Tenant)
			table.Row("legacy id", j.LegacyID)
			table.Row("candidate", j.Candidate)
			table.Row("job board code", j.Job)
			table.Row("language", j.LanguageCode)
			if j.StartDate != nil {
				table.Row("start date", j.StartDate.Date)
			}
			table.Row("step", j.Status.Step)
			table.Row("status", strings.TrimSpace(j.Status.Name+" "+j.Status.Category))
			table.Row("entered", j.Status.EnteredAt)
			table.Row("updated", j.UpdatedAt)
			return table.Flush()
		})
}

func applicationSet(a *Client) *cobra.Command { return applicationResource.setting(a, "application") }

func applicationRemove(a *Client) *cobra.Command {
	return applicationResource.removal(a, "application", "Removes a job application, with its documents and answers")
}

func applicationEnter(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "enter " + applicationResource.arg + " STEP",
		Short: "Has a job application enter a step, whose helper then exports the candidate",
		Args: terminal.Exactly(2, "application enter takes a job application and a step, such as: "+
			"hiregate application enter initech/a-zoe hired"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := applicationResource.pathOf(args[0])
			if err != nil {
				return err
			}
			var entered struct {
				Step      string    `json:"step"`
				EnteredAt time.Time `json:"enteredAt"`
				Export    string    `json:"export"`
			}
			in := map[string]string{"step": args[1]}
			if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/transitions", in, &entered); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s entered %s\n", terminal.Printable(args[0]),
				terminal.Printable(entered.Step))
			if entered.Export != "" {
				tenant, _, _ := strings.Cut(args[0], "/")
				fmt.Fprintf(cmd.OutOrStdout(), "export %s/%s\n", tenant, entered.Export)
			}
			return nil
		}),
	}
}
