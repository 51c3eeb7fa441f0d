package apply

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// sheet is what a job asks.
type sheet struct {
	job     *hiring.Job
	answers *schemas.Answers // what checks the answers
}

// openJob finds a job that can be applied for: nil when there is none, it is closed or another tenant's.
func (x *exchange) openJob(ctx context.Context, code string) (*hiring.Job, error) {
	if code == "" || !utf8.ValidString(code) || strings.ContainsRune(code, 0) {
		return nil, nil
	}
	job, err := x.db.Job(ctx, x.user.Tenant, code)
	if errors.Is(err, store.ErrNotFound) || err == nil && job.Closed {
		return nil, nil
	}
	return job, err
}

func (s *submission) sheet(code string) (*sheet, error) {
	job, err := s.openJob(s.r.Context(), code)
	if job == nil || err != nil {
		return nil, err
	}
	answers, err := jobs.Answers(job)
	if err != nil {
		return nil, err
	}
	return &sheet{job, answers}, nil
}

// filled is a sheet whose answers are all right: what is kept of them.
type filled struct {
	*sheet
	candidate  hiring.Candidate // as far as the answers tell
	given      []hiring.Given
	compliance []hiring.ComplianceAnswer
	documents  []hiring.ApplicationDocument

	first map[string]*answer       // to each question, the first answer
	types map[string]filetype.Type // by question, of the files
}

// fill checks all answers. items say what is wrong, in the order of the questions, and after these what was not asked.
func (s *sheet) fill(b *body, files *documents.Files) (f *filled, items []Item, err error) {
	f = &filled{sheet: s, first: map[string]*answer{}, types: map[string]filetype.Type{}}
	told, err := f.told(b, files)
	if err != nil {
		return nil, nil, err
	}
	for _, invalid := range s.answers.Check(told) {
		metrics.InvalidAnswer(cmp.Or(string(invalid.Format), metrics.Unknown))
		items = append(items, Item{invalid.QuestionID, invalid.Messages})
	}
	if len(items) > 0 {
		return nil, items, nil
	}
	questions := s.answers.Questions()
	for n := range questions {
		q := &questions[n]
		switch a := f.first[q.ID]; {
		case a == nil:
		case a.file != nil:
			f.document(q, a.file)
		case strings.TrimSpace(a.text) != "":
			f.text(q, valuesOf(q, a.text))
		}
	}
	return f, nil, nil
}

// document keeps an answer that is a file.
func (f *filled) document(q *hiring.Question, blob *documents.Blob) {
	found := f.types[q.ID]
	d := hiring.ApplicationDocument{
		ID: uuid.NewString(), Descriptions: []string{q.Label}, FileName: strings.NewReplacer("/", "_", `\`, "_").Replace(q.ID) + found.Extension,
		MediaType: found.Name, Blob: blob.Name, SHA256: blob.SHA256[:], Size: blob.Size,
	}
	f.documents = append(f.documents, d)
	f.given = append(f.given, hiring.Given{Question: q.ID, Label: q.Label, Format: string(q.Format), Document: d.ID})
}

// text keeps an answer that is no file: those of the compliance groups apart, some others as the candidate's own as well.
func (f *filled) text(q *hiring.Question, values []string) {
	if q.Group != nil {
		f.compliance = append(f.compliance, hiring.ComplianceAnswer{Question: q.ID, Group: *q.Group, Choice: q.Format == hiring.Select, Value: strings.Join(values, "\n")})
		return
	}
	value := values[0]
	c := &f.candidate
	switch q.ID {
	case "firstName":
		c.Name.Given = value
	case "lastName":
		c.Name.Family = value
	case "email":
		c.Email = []string{value}
	case "phone":
		c.Phone = []string{value}
	case "citizenWorkStatus":
		c.CitizenShip = values
	}
	c.Name.Formatted = hiring.FormattedName(c.Name.Given, c.Name.Family)
	f.given = append(f.given, hiring.Given{Question: q.ID, Label: q.Label, Format: string(q.Format), Values: values})
}
