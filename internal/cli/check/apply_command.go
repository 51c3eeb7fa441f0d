package check

import (
	"context"
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

type applyFlags struct {
	flags
	user, password, job string
}

func applyCommand() *cobra.Command {
	f := new(applyFlags)
	cmd := f.command(&cobra.Command{
		Use:   "apply URL",
		Short: "Plays a partner: checks an Apply API",
		Long: `Plays a partner: asks an Apply API for a token and for a job's questions, sends applications, right and wrong ones, and reports
which requirements of the contract it meets, with what was sent, what came back and what to do.

The applicants are invented and marked: the source of their applications and their e-mail addresses begin with check-. The more
formats of questions the job has, the more is checked. A check sends at most 60 requests, the whole run takes at most ` +
			runBound.String() + `.`,
		Example: `  hiregate check apply http://localhost:8080/apply --user partner@example.com --password password.txt --job NURSE-1
  hiregate check apply --list`,
		Args: f.oneURL("check apply takes one URL, such as: hiregate check apply http://localhost:8080/apply --user U --password FILE " +
			"--job CODE"),
	}, f.run)
	fl := cmd.Flags()
	fl.StringVar(&f.user, "user", "", "user name at the Apply API, an e-mail address")
	fl.StringVar(&f.password, "password", "", "file with the password; - is standard input")
	fl.StringVar(&f.job, "job", "", "job board code of an open job")
	return cmd
}

func (f *applyFlags) run(ctx context.Context, cmd *cobra.Command, args []string) error {
	checks, err := begin(cmd, &f.flags, applyChecks)
	if err != nil || f.list {
		return err
	}
	target, err := terminal.ParseTarget(args[0])
	if err != nil {
		return terminal.Usage(err)
	}
	switch {
	case f.user == "" || f.password == "":
		return terminal.Usage(errors.New("who applies? name the user and a file with the password, such as: --user partner@example.com " +
			"--password password.txt"))
	case f.job == "":
		return terminal.Usage(errors.New("which job? name one that is open, such as: --job NURSE-1"))
	}
	password, err := secret(cmd, f.password)
	if err != nil {
		return err
	}
	if err := f.open(ctx, cmd, target); err != nil {
		return err
	}
	a := newApplicant(target.String(), f.user, password, f.job)
	defer a.Close()
	token, r := a.authenticate(ctx, f.user, password)
	switch {
	case r.Status/100 == 3, r.Status == http.StatusNotFound, r.Status == http.StatusMethodNotAllowed, r.Status == http.StatusNotImplemented:
		return terminal.Unable(errors.New("there is no Apply API at this URL (" + r.got() + "): give the address that /v2/authentication " +
			"is below"))
	case r.Status == http.StatusTooManyRequests:
		return terminal.Unable(errors.New("the Apply API takes no more requests (" + r.got() + "): run the checks later, or raise its limit"))
	case r.refused():
		return terminal.Unable(errors.New("the Apply API refuses the user name and the password (" + r.got() + "): correct --user or the " +
			"file of --password"))
	}
	if token != "" {
		r := a.ask(ctx, f.job, "Bearer "+token)
		if r.Status == http.StatusBadRequest || r.Status == http.StatusNotFound {
			return terminal.Unable(errors.New("the Apply API shows no questions for the job (" + r.got() + "): name one that is open with --job"))
		}
		if questions, malformed, ok := questionsOf(r); ok && malformed.Do == "" && len(questions) == 0 {
			return terminal.Unable(errors.New("the job asks no questions: name one that asks some with --job"))
		}
	}
	return play(ctx, cmd, &f.flags, checks, a)
}
