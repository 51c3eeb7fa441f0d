package apply

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// form asks questions in a terminal, line by line.
type form struct {
	in    *bufio.Reader
	out   io.Writer
	text  func(group string) (*legalText, error)
	shown map[string]bool // groups whose text was
	given map[string]givenAnswer
}

func newForm(in io.Reader, out io.Writer, text func(group string) (*legalText, error)) *form {
	return &form{in: bufio.NewReader(in), out: out, text: text, shown: map[string]bool{}, given: map[string]givenAnswer{}}
}

var errFormEnded = errors.New("the form ended before all questions were answered: nothing was sent")

// ask asks all questions; or again those that items name, with what is wrong.
func (f *form) ask(ctx context.Context, questions []applyclient.Question, items []model.InvalidAnswer) error {
	if items == nil {
		fmt.Fprintln(f.out, "Answers to questions with a * are required.")
	}
	for n := range questions {
		q := &questions[n]
		at := slices.IndexFunc(items, func(i model.InvalidAnswer) bool { return i.QuestionID == q.ID })
		if items != nil && at < 0 {
			continue
		}
		if err := f.introduce(q); err != nil {
			return err
		}
		f.show(q)
		if at >= 0 {
			for _, message := range items[at].Messages {
				fmt.Fprintf(f.out, "  ! %s\n", terminal.Printable(message))
			}
		}
		a, err := f.answer(ctx, q)
		if err != nil {
			return err
		}
		f.given[q.ID] = a
	}
	return nil
}

// has reports whether all items are about questions that were asked.
func (f *form) has(items []model.InvalidAnswer) bool {
	return !slices.ContainsFunc(items, func(i model.InvalidAnswer) bool { _, ok := f.given[i.QuestionID]; return !ok })
}

// answers returns the given answers, in the order of the questions.
func (f *form) answers(questions []applyclient.Question) (all []givenAnswer) {
	for _, q := range questions {
		if a := f.given[q.ID]; a.Value != "" || a.File != "" {
			all = append(all, a)
		}
	}
	return all
}

// introduce prints the text of a compliance group, once, before its first question.
func (f *form) introduce(q *applyclient.Question) error {
	if q.Group == nil || f.shown[*q.Group] {
		return nil
	}
	f.shown[*q.Group] = true
	t, err := f.text(*q.Group)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.out, "\n%s\n%s\n", terminal.Printable(t.Title), terminal.Printable(t.Form))
	for _, paragraph := range t.Text {
		fmt.Fprintf(f.out, "\n%s\n", terminal.Printable(paragraph))
	}
	return nil
}

// show prints a question, and how it is answered.
func (f *form) show(q *applyclient.Question) {
	label := q.Label
	if q.IsRequired {
		label += " *"
	}
	hint := map[model.Format]string{
		model.Checkbox: "the numbers of options, separated by commas", model.Date: "YYYY-MM-DD",
		model.File: "path of a file", model.Number: "a number",
		model.Phone: "a phone number", model.Select: "the number of an option", model.Textarea: "an empty line ends it",
	}[q.Format]
	if q.MaxLength != nil {
		hint = strings.TrimPrefix(fmt.Sprintf("%s, at most %d characters", hint, *q.MaxLength), ", ")
	}
	if hint != "" {
		hint = " (" + hint + ")"
	}
	fmt.Fprintf(f.out, "\n%s%s\n", terminal.Printable(label), hint)
	for n, option := range q.Options {
		fmt.Fprintf(f.out, "  %d  %s\n", n+1, terminal.Printable(option))
	}
}

// answer reads an answer, and asks again for an impossible one.
func (f *form) answer(ctx context.Context, q *applyclient.Question) (a givenAnswer, err error) {
	a.QuestionID = q.ID
	for {
		if ctx.Err() != nil {
			return a, errFormEnded
		}
		fmt.Fprint(f.out, "> ")
		line, err := f.line(ctx)
		if err != nil {
			return a, err
		}
		if q.Format == model.Textarea && line != "" {
			if line, err = f.rest(ctx, line); err != nil {
				return a, err
			}
		}
		if strings.TrimSpace(line) == "" {
			if !q.IsRequired {
				return a, nil
			}
			fmt.Fprintln(f.out, "  ! an answer is required")
			continue
		}
		var fault string
		switch q.Format {
		case model.Select, model.Checkbox:
			a.Value, fault = choose(q, line)
		case model.File:
			a.File = strings.TrimSpace(line)
			if about, err := os.Stat(a.File); err != nil || !about.Mode().IsRegular() {
				fault = "there is no such file"
			}
		default:
			a.Value = line
		}
		if fault == "" {
			return a, nil
		}
		fmt.Fprintf(f.out, "  ! %s\n", fault)
	}
}

// line reads a line, without its end. An interrupt ends the wait.
func (f *form) line(ctx context.Context) (string, error) {
	line, err := terminal.Await(ctx, func() (string, error) { return f.in.ReadString('\n') })
	if err != nil && line == "" {
		return "", errFormEnded
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// rest reads the further lines of a text, up to an empty one.
func (f *form) rest(ctx context.Context, text string) (string, error) {
	for {
		line, err := f.line(ctx)
		if err != nil || line == "" {
			return text, err
		}
		text += "\n" + line
	}
}

// choose reads the chosen options: by number, or one by its text if that is no option's number.
func choose(q *applyclient.Question, line string) (value, fault string) {
	chosen, fault := numbered(q, line)
	switch {
	case fault == "":
		return valueOf(q, chosen), ""
	case slices.Contains(q.Options, line):
		return valueOf(q, []string{line}), ""
	}
	return "", fault
}

// numbered reads the numbers of options.
func numbered(q *applyclient.Question, line string) (chosen []string, fault string) {
	for _, word := range strings.Split(line, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > len(q.Options) {
			return nil, fmt.Sprintf("choose from 1 to %d", len(q.Options))
		}
		if !slices.Contains(chosen, q.Options[n-1]) {
			chosen = append(chosen, q.Options[n-1])
		}
	}
	if q.Format == model.Select && len(chosen) != 1 {
		return nil, "choose one"
	}
	return chosen, ""
}

func valueOf(q *applyclient.Question, chosen []string) string {
	if q.Format == model.Select {
		return chosen[0]
	}
	return model.JoinOptions(chosen)
}
