package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// Submission returns the command `hiregate submission`, for the applications that are relayed to a service.
func Submission() *cobra.Command {
	return group(&cobra.Command{
		Use:   "submission",
		Short: "Lists, shows, redelivers, resolves and erases applications that are relayed to a service",
		Long: `Lists and shows the applications that are relayed to the service of a tenant with apply_upstream, sends
those again that the service refused or was away for, notes which of them somebody entered at the
service by hand, and erases what an applicant sent. It shows nothing of the applicants.`,
		Example: `  hiregate submission list acme --state refused
  hiregate submission redeliver acme/0b1c9d5e-7a0f-4f6e-8f43-0a4c2f1d9b11`,
	}, submissions.list, submissions.show, submissionRedeliver, submissionResolve, submissionErase)
}

var submissions = noun[api.Submission]{
	kind: kind{command: "submission", at: "submissions", arg: "TENANT/RECEIPT",
		example: "acme/0b1c9d5e-7a0f-4f6e-8f43-0a4c2f1d9b11"},
	listHelp: help{short: "Lists the submissions of a tenant, newest first"},
	filters: []filter{
		{flag: "state", help: "waiting, delivered, refused, failed, suspected or resolved: those only"},
		{flag: "email", help: "those of the applicant with this e-mail address"},
	},
	showHelp: help{short: "Shows a submission, without what the applicant sent"},
	columns:  []string{"receipt", "job", "title", "received", "state", "attempts", "reason"},
	fields: func(s *api.Submission) []field {
		shown := []field{{"receipt", s.ID}, {"tenant", s.Tenant}, {"job", terminal.ID(s.Job)}, {"title", s.Title}, {"received", s.ReceivedAt},
			{"state", terminal.State(s.State)}, {"attempts", s.Attempts}, {"reason", s.Reason}, {"note", s.Note},
			{"may have arrived twice", yesOrNo(s.Uncertain)}, {"next attempt", s.NextAt}, {"tried until", s.TryUntil},
			{"ended", s.EndedAt}, {"erased", s.ErasedAt}}
		for _, a := range s.LastAttempts {
			said := fmt.Sprintf("%s, %s after %.0f ms", a.StartedAt.UTC().Format(time.RFC3339), a.Class, a.DurationMs)
			if a.Status != 0 {
				said += fmt.Sprintf(", %d", a.Status)
			}
			if a.Reason != "" {
				said += ": " + a.Reason
			}
			shown = append(shown, field{fmt.Sprint("attempt ", a.Number), said})
		}
		return shown
	},
}

func submissionRedeliver(a *Client) *cobra.Command {
	return submissionTo(a, "redeliver", "Sends a submission again that was refused or has failed, and releases a suspected one", "is sent again", nil)
}

func submissionErase(a *Client) *cobra.Command {
	return submissionTo(a, "erase", "Erases what an applicant sent; a submission that waits is not sent any more",
		"is erased", nil)
}

func submissionResolve(a *Client) *cobra.Command {
	var note string
	cmd := submissionTo(a, "resolve", "Notes that somebody entered a submission at the service by hand", "is resolved",
		func() (any, error) {
			if note == "" {
				return nil, errors.New("say with --note where the application is at the service; nothing of the applicant")
			}
			return api.SubmissionResolution{Note: note}, nil
		})
	cmd.Flags().StringVar(&note, "note", "", "where it is at the service; nothing of the applicant")
	return cmd
}

// submissionTo is a command that changes a submission. done says what that has come to.
func submissionTo(a *Client, verb, short, done string, body func() (any, error)) *cobra.Command {
	return submissions.verb(a, &cobra.Command{Use: verb, Short: short},
		func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
			var in any
			if body != nil {
				var err error
				if in, err = body(); err != nil {
					return err
				}
			}
			var s api.Submission
			shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/"+verb, in, &s)
			if !shown && err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", terminal.Printable(args[0]), done)
			}
			return err
		})
}
