// Package apply has the command `hiregate apply`: a partner that applies for jobs.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// passwordVariable may hold the password instead of --password-file.
const passwordVariable = "HIREGATE_PASSWORD"

type flags struct {
	url, job, user, passwordFile, answers, source, key string
	questions, json                                    bool
}

// Command returns the command `hiregate apply`, which plays a partner of the contract's part C.
func Command() *cobra.Command {
	f := new(flags)
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Plays a partner: applies for a job through the Apply API",
		Long: `Plays a partner of the Apply API: signs in, reads what a job asks, and applies for it.

Without --answers it asks the questions one after the other, as a form; the text of a compliance group stands once before its
questions. Answers that are not valid are asked again, with what is wrong with them.

--answers takes a JSON file: an object with the question ids as names, such as
  {"firstName": "Zoë", "resume": "resume.pdf", "1000123": ["Day", "Weekend | Holiday"]}
where the answer to a File question is the file's path, beside the JSON file unless it is absolute, and that to a Checkbox question
may be an array; or an application as the contract has it, {"source": …, "answers": [{"questionId": …, "value": …}]}, in which
"file" with a path may stand for "value". Files are encoded while they are sent. An application is sent as it is, without asking
what the job asks: under its --idempotency-key it can be sent again for 15 days, also when the job is closed by then.

The password is read from --password-file, the environment variable ` + passwordVariable + `, or the terminal. The token is kept in your
cache folder, readable only by you, and renewed when the API answers 401. Each application carries an Idempotency-Key, and is
sent again when the connection breaks: it is taken once.

The id of the application (the header X-Application-Id) is printed.`,
		Example: `  hiregate apply --url http://localhost:8080/apply --job NURSE-1 --user partner@example.com
  hiregate apply --url http://localhost:8080/apply --job NURSE-1 --user partner@example.com --questions
  hiregate apply --url https://gate.example.com/apply --job NURSE-1 --user partner@example.com --password-file password --answers zoe.json`,
		SilenceUsage: true,
		Args: terminal.Exactly(0, "apply takes flags only, such as: hiregate apply --url "+
			"http://localhost:8080/apply --job NURSE-1 --user partner@example.com"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := terminal.Interruptible(cmd)
			defer stop()
			return f.run(ctx, cmd)
		},
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	fl := cmd.Flags()
	fl.StringVar(&f.url, "url", "", "address of the Apply API, such as http://localhost:8080/apply")
	fl.StringVar(&f.job, "job", "", "job board code of the job")
	fl.StringVar(&f.user, "user", "", "user name, an e-mail address")
	fl.StringVar(&f.passwordFile, "password-file", "",
		"file with the password; - is standard input (or the environment variable "+passwordVariable+")")
	fl.StringVar(&f.answers, "answers", "",
		"JSON file with the answers; - is standard input (default: they are asked for)")
	fl.StringVar(&f.source, "source", "hiregate", "where the applicant came from")
	fl.StringVar(&f.key, "idempotency-key", "",
		"names the application, to send it once more safely (default: a fresh one)")
	fl.BoolVar(&f.questions, "questions", false, "show what the job asks, and end")
	fl.BoolVar(&f.json, "json", false, "print JSON, one object a line")
	return cmd
}

func (f *flags) check() error {
	switch {
	case f.url == "":
		return errors.New("where is the Apply API? name its address, such as: --url http://localhost:8080/apply")
	case f.job == "":
		return errors.New("which job? name its job board code, such as: --job NURSE-1")
	case f.user == "":
		return errors.New("who applies? name a user of the Apply API, such as: --user partner@example.com")
	case f.passwordFile == "-" && (f.answers == "-" || f.answers == "" && !f.questions):
		return errors.New("standard input can't be the password and the answers: put one of them into a file")
	case f.key != "" && !webhook.ValidUUID(f.key):
		return errors.New("--idempotency-key must be 1 to 255 visible ASCII characters, without spaces")
	}
	return nil
}

func (f *flags) run(ctx context.Context, cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return terminal.Usage(err)
	}
	target, err := terminal.ParseTarget(f.url)
	if err != nil {
		return terminal.Usage(err)
	}
	c := newClient(strings.TrimRight(target.String(), "/"), f.user,
		func() (string, error) { return f.password(ctx, cmd) }, cmd.ErrOrStderr())
	defer c.Close()
	if f.answers != "" && !f.questions {
		return f.file(ctx, cmd, c)
	}
	questions, err := c.questions(ctx, f.job)
	if err != nil {
		return err
	}
	if f.questions {
		return f.show(cmd, questions)
	}
	return f.form(ctx, cmd, c, questions)
}

// file sends the answers of a file.
func (f *flags) file(ctx context.Context, cmd *cobra.Command, c *client) error {
	all, source, err := readAnswers(cmd.InOrStdin(), f.answers, func() ([]applyclient.Question, error) { return c.questions(ctx, f.job) })
	if err != nil {
		return err
	}
	if source == nil || cmd.Flags().Changed("source") {
		source = &f.source
	}
	items, err := f.submit(ctx, cmd, c, *source, all)
	if err != nil || len(items) == 0 {
		return err
	}
	if err := f.showItems(cmd, items); err != nil {
		return err
	}
	return fmt.Errorf("%d answers are not valid, and nothing was kept: mend them, and apply again", len(items))
}

// form asks the questions, and those again whose answers are not valid.
func (f *flags) form(ctx context.Context, cmd *cobra.Command, c *client, questions []applyclient.Question) error {
	form := newForm(cmd.InOrStdin(), cmd.ErrOrStderr(),
		func(group string) (*legalText, error) { return c.legalText(ctx, group) })
	var items []model.InvalidAnswer
	for {
		if err := form.ask(ctx, questions, items); err != nil {
			return err
		}
		var err error
		if items, err = f.submit(ctx, cmd, c, f.source, form.answers(questions)); err != nil || len(items) == 0 {
			return err
		}
		if !form.has(items) {
			if err := f.showItems(cmd, items); err != nil {
				return err
			}
			return errors.New("the job asks something else by now: apply again")
		}
		f.key = "" // the answers will be others
	}
}

// submit sends an application, and prints its id; otherwise it returns what is not valid.
func (f *flags) submit(ctx context.Context, cmd *cobra.Command, c *client, source string,
	answers []givenAnswer) ([]model.InvalidAnswer, error) {
	key := cmp.Or(f.key, uuid.NewString())
	id, items, err := c.apply(ctx, f.job, source, answers, key)
	if err != nil || len(items) > 0 {
		return items, err
	}
	if f.json {
		return nil, terminal.WriteJSON(cmd.OutOrStdout(), map[string]string{"applicationId": id, "idempotencyKey": key})
	}
	fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(id))
	fmt.Fprintf(cmd.ErrOrStderr(), "It is the id of the application for %s, which is taken.\n", terminal.Printable(f.job))
	return nil, nil
}

// show prints what a job asks.
func (f *flags) show(cmd *cobra.Command, questions []applyclient.Question) error {
	if f.json {
		return terminal.WriteJSONLines(cmd.OutOrStdout(), questions)
	}
	table := terminal.NewTable(cmd.OutOrStdout(), "question", "format", "required", "label", "options", "max length",
		"group")
	for _, q := range questions {
		required, most, group := "", "", ""
		if q.IsRequired {
			required = "yes"
		}
		if q.MaxLength != nil {
			most = fmt.Sprint(*q.MaxLength)
		}
		if q.Group != nil {
			group = *q.Group
		}
		table.Row(q.ID, q.Format, required, q.Label, model.JoinOptions(q.Options), most, group)
	}
	return table.Flush()
}

// showItems prints what is not valid, by question.
func (f *flags) showItems(cmd *cobra.Command, items []model.InvalidAnswer) error {
	if f.json {
		return terminal.WriteJSONLines(cmd.OutOrStdout(), items)
	}
	table := terminal.NewTable(cmd.OutOrStdout(), "question", "what is wrong")
	for _, item := range items {
		for _, message := range item.Messages {
			table.Row(item.QuestionID, message)
		}
	}
	return table.Flush()
}

// password reads the password; it is called if there is no token.
func (f *flags) password(ctx context.Context, cmd *cobra.Command) (string, error) {
	if f.passwordFile != "" {
		return terminal.ReadSecret(cmd.InOrStdin(), f.passwordFile)
	}
	if password := os.Getenv(passwordVariable); password != "" {
		return password, nil
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", fmt.Errorf("there is no password: give one with --password-file, or in the environment variable %s",
			passwordVariable)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Password of %s: ", terminal.Printable(f.user))
	defer fmt.Fprintln(cmd.ErrOrStderr())
	return typedPassword(ctx, int(in.Fd()))
}

// typedPassword reads a line that the terminal does not show. An interrupt ends that, and restores the terminal.
func typedPassword(ctx context.Context, fd int) (string, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("reading the password: %w", terminal.Cause(err))
	}
	line, err := terminal.Await(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	switch {
	case ctx.Err() != nil:
		return "", errors.Join(errors.New("interrupted before there was a password"), term.Restore(fd, before))
	case err != nil:
		return "", fmt.Errorf("reading the password: %w", terminal.Cause(err))
	}
	return string(line), nil
}
