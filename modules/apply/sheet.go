package apply

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// openJob returns an open job, read by read; nil if there is none, it is closed or it is another tenant's.
func (a *API) openJob(ctx context.Context, read func(ctx context.Context, tenant, code string) (*model.Job, error), tenant,
	code string) (*model.Job, error) {
	if code == "" || !utf8.ValidString(code) || strings.ContainsRune(code, 0) {
		return nil, nil
	}
	job, err := read(ctx, tenant, code)
	if errors.Is(err, store.ErrNotFound) || err == nil && !job.IsOpen(a.Gateway.Now()) {
		return nil, nil
	}
	return job, err
}

// sheet holds the questions of a job and, once it is filled, the answers in the form in which they are stored.
type sheet struct {
	job    *model.Job
	schema *schemas.Answers

	candidate  model.Candidate // as far as the answers describe them
	given      []model.Given
	compliance []model.ComplianceAnswer
	documents  []model.ApplicationDocument
}

// sheet implements backend. What the job asks, which may be 4 MiB, is read and compiled once for all applications to it,
// and for few jobs of a tenant at once.
func (b *taken) sheet(code string) (*sheet, error) {
	a, ctx, tenant := b.api, b.r.Context(), b.tenant
	job, err := a.openJob(ctx, a.db().JobWithoutQuestions, tenant, code)
	if job == nil || err != nil {
		return nil, err
	}
	jobs := a.Gateway.Runtime.Jobs
	if schema := jobs.Known(job); schema != nil {
		return &sheet{job: job, schema: schema}, nil
	}
	release, err := a.beginCheck(ctx, tenant)
	if err != nil {
		return nil, err
	}
	defer release()
	schema := jobs.Known(job) // by now
	if schema == nil {
		whole, err := a.openJob(ctx, a.db().Job, tenant, code)
		if whole == nil || err != nil {
			return nil, err
		}
		if schema, err = jobs.Answers(whole); err != nil {
			return nil, err
		}
	}
	return &sheet{job: job, schema: schema}, nil
}

// beginCheck waits for a place to check answers to a tenant's jobs. release returns the place.
func (a *API) beginCheck(ctx context.Context, tenant string) (release func(), err error) {
	checks := a.Gateway.Runtime.Checks
	if !checks.Acquire(ctx, tenant, 1, a.CheckWithin) {
		return nil, problem.New(http.StatusTooManyRequests,
			"too many applications are being checked: send the same again in a moment").RetryAfter(time.Second).Closing()
	}
	return func() { checks.Release(tenant, 1) }, nil
}

// fill checks all answers, and fills the sheet if all are valid. wrong lists the invalid ones in the order of the
// questions; answers to unknown questions come last.
func (s *sheet) fill(b *body, files *documents.Files) (wrong []schemas.InvalidAnswer, err error) {
	first, types := map[string]*answer{}, map[string]filetype.Type{} // by question: the first answer, the type of its file
	facts := make([]schemas.Answer, len(b.answers))
	for n := range b.answers {
		a := &b.answers[n]
		facts[n] = schemas.Answer{QuestionID: a.questionID}
		q, asked := s.schema.Question(a.questionID)
		if !asked || first[q.ID] != nil {
			continue
		}
		first[q.ID] = a
		if err := b.settle(a, q); err != nil {
			return nil, err
		}
		facts[n].Text, facts[n].Fault = a.text, a.fault
		if a.file != nil {
			found, err := typeOf(a.file, files)
			if err != nil {
				return nil, err
			}
			types[q.ID] = found
			facts[n].File = &schemas.File{MediaType: found.Name, Size: a.file.Size}
		}
	}
	if wrong = s.schema.Check(facts); len(wrong) > 0 {
		return wrong, nil
	}
	questions := s.schema.Questions()
	for n := range questions {
		q := &questions[n]
		switch a := first[q.ID]; {
		case a == nil:
		case a.file != nil:
			s.addDocument(q, a.file, types[q.ID])
		case strings.TrimSpace(a.text) != "":
			s.addText(q, a.text)
		}
	}
	return nil, nil
}

// typeOf detects the type of a stored file.
func typeOf(blob *documents.Blob, files *documents.Files) (t filetype.Type, err error) {
	content, size, err := files.Open(blob.Name)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return filetype.Detect(content, size)
}

func (s *sheet) addDocument(q *model.Question, blob *documents.Blob, found filetype.Type) {
	d := model.ApplicationDocument{
		ID: uuid.NewString(), Descriptions: []string{q.Label},
		FileName:  strings.NewReplacer("/", "_", `\`, "_").Replace(q.ID) + found.Extension,
		MediaType: found.Name, Blob: blob.Name, SHA256: blob.SHA256[:], Size: blob.Size,
	}
	s.documents = append(s.documents, d)
	s.given = append(s.given, model.Given{Question: q.ID, Label: q.Label, Format: string(q.Format), Document: d.ID})
}

// addText adds an answer that is not a file. Answers of the compliance groups are stored apart, and some others
// describe the candidate.
func (s *sheet) addText(q *model.Question, text string) {
	values := []string{text}
	if q.Format == model.Checkbox {
		values = s.schema.Choices(q, text)
	}
	if q.Group != nil {
		s.compliance = append(s.compliance, model.ComplianceAnswer{Question: q.ID, Group: *q.Group,
			Choice: q.Format == model.Select, Value: strings.Join(values, "\n")})
		return
	}
	value := values[0]
	c := &s.candidate
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
	c.Name.Formatted = model.FormattedName(c.Name.Given, c.Name.Family)
	s.given = append(s.given, model.Given{Question: q.ID, Label: q.Label, Format: string(q.Format), Values: values})
}
