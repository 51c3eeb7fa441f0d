package recruiting

import (
	"encoding/csv"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// applicationTable answers with all job applications that the filters choose as CSV, for people with a spreadsheet. With a
// job, it has a column for each of its questions.
func applicationTable(r *rest.Request) (any, error) {
	f, err := applicationFilterOf(r)
	if err != nil {
		return nil, err
	}
	if f.Answers || r.Query.Has("count") {
		return nil, problem.New(http.StatusBadRequest, "answers and count are of lists as JSON: leave them out")
	}
	t := &table{Request: r, filter: f, jobs: map[string]string{}}
	t.filter.Answers, t.filter.Limit = true, store.MaxPage
	if f.Job != "" {
		job, err := r.DB.Job(r.Context(), r.Tenant.Name, f.Job)
		if err != nil {
			return nil, rest.NotFound(err, noJob)
		}
		for _, q := range job.Questions {
			if q.Format != model.File {
				t.questions = append(t.questions, q)
			}
		}
	}
	r.Object = applications.Path
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	return rest.Stream(func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", api.TableType)
		w.Header().Set("Content-Disposition", `attachment; filename="job-applications.csv"`)
		if _, err := w.Write([]byte("\ufeff")); err != nil { // spreadsheets take it for another encoding without
			return err
		}
		t.out = csv.NewWriter(w)
		t.out.UseCRLF = true
		return t.write()
	}), nil
}

// table is a table of job applications.
type table struct {
	*rest.Request
	filter    store.ApplicationFilter
	questions []model.Question
	jobs      map[string]string // titles by job board code
	out       *csv.Writer
}

func (t *table) write() error {
	head := []string{"application", "arrived", "candidate", "name", "e-mail", "phone", "job board code", "job", "step", "entered", "ended",
		"source", "API user"}
	for _, q := range t.questions {
		head = append(head, q.Label)
	}
	if err := t.row(head); err != nil {
		return err
	}
	for {
		page, err := t.DB.ListJobApplications(t.Context(), t.Tenant.Name, t.filter)
		if err != nil {
			return err
		}
		for _, one := range page.Items {
			if err := t.add(one); err != nil {
				return err
			}
		}
		if t.out.Flush(); t.out.Error() != nil || !page.More {
			return t.out.Error()
		}
		t.filter.After = page.End
	}
}

func (t *table) add(one store.ListedApplication) error {
	c, err := t.DB.Candidate(t.Context(), one.Tenant, one.Candidate)
	if errors.Is(err, store.ErrNotFound) {
		return nil // erased meanwhile, and the job application with it
	}
	if err != nil {
		return err
	}
	title, known := t.jobs[one.Job]
	if !known && one.Job != "" {
		job, err := t.DB.Job(t.Context(), one.Tenant, one.Job)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil {
			title = job.Title
		}
		t.jobs[one.Job] = title
	}
	sent := one.Answers
	if sent == nil {
		sent = new(model.ApplicationAnswers)
	}
	name := c.Name.Formatted
	if name == "" {
		name = model.FormattedName(c.Name.Given, c.Name.Family)
	}
	row := []string{one.ID, moment(one.CreatedAt), c.ID, name, strings.Join(c.Email, ", "), strings.Join(c.Phone, ", "), one.Job,
		title, strings.TrimSpace(one.Status.Name), moment(one.Status.EnteredAt), string(one.State()), sent.Source, sent.APIUser}
	for _, q := range t.questions {
		answer := ""
		for _, given := range sent.Answers {
			if given.Question == q.ID {
				answer = strings.Join(given.Values, ", ")
			}
		}
		row = append(row, answer)
	}
	return t.row(row)
}

func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05")
}

func (t *table) row(cells []string) error {
	for n, cell := range cells {
		cells[n] = inert(cell)
	}
	return t.out.Write(cells)
}

// inert returns a text that no spreadsheet computes: what strangers sent could be a formula. An apostrophe before it makes
// it text. A phone number with spaces, such as +49 30 123, is no formula, and stays as it is.
func inert(cell string) string {
	begin, _ := utf8.DecodeRuneInString(strings.TrimLeft(cell, " \u00a0"))
	if !strings.ContainsRune("=+-@\t\r\n|%\uff1d\uff0b\uff0d\uff20", begin) || cell == "" {
		return cell
	}
	if begin == '+' && strings.Contains(cell, " ") && strings.Trim(cell, "+0123456789 ") == "" && strings.Count(cell, "+") == 1 {
		return cell
	}
	return "'" + cell
}
