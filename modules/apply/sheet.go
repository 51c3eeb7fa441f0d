package apply

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// resume is the question whose file has rules of its own.
const resume = "resume"

// sheet is what a job asks.
type sheet struct {
	job       *hiring.Job
	questions []hiring.Question
	positions map[string]int
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
	sh := &sheet{job: job, questions: compliance.Ask(job), positions: map[string]int{}}
	for n, q := range sh.questions {
		sh.positions[q.ID] = n
	}
	return sh, nil
}

// question finds a question by its id.
func (s *sheet) question(id string) (*hiring.Question, bool) {
	n, ok := s.positions[id]
	if !ok {
		return nil, false
	}
	return &s.questions[n], true
}

// filled is a sheet whose answers are all right: what is kept of them.
type filled struct {
	*sheet
	candidate  hiring.Candidate // as far as the answers tell
	given      []hiring.Given
	compliance []hiring.ComplianceAnswer
	documents  []hiring.ApplicationDocument
}

// Messages about ids that the sheet says nothing more about.
const (
	unasked  = "the job has no question of this id"
	repeated = "the question is answered more than once"
)

// fill checks all answers. items say what is wrong, in the order of the questions, and after these what was not asked.
func (s *sheet) fill(b *body, files *documents.Files) (f *filled, items []Item, err error) {
	answers := make([]*answer, len(s.questions))
	twice := make([]bool, len(s.questions))
	var strangers []Item
	seen := map[string]bool{}
	for n := range b.answers {
		a := &b.answers[n]
		at, asked := s.positions[a.questionID]
		switch {
		case asked && answers[at] == nil:
			answers[at] = a
		case asked:
			twice[at] = true
		case !seen[a.questionID]:
			seen[a.questionID] = true
			metrics.InvalidAnswer(metrics.Unknown)
			strangers = append(strangers, Item{a.questionID, []string{unasked}})
		}
	}
	f = &filled{sheet: s}
	for n := range s.questions {
		q := &s.questions[n]
		faults, err := f.take(b, q, answers[n], files)
		if err != nil {
			return nil, nil, err
		}
		if twice[n] {
			faults = append(faults, label(q)+repeated)
		}
		if len(faults) > 0 {
			metrics.InvalidAnswer(string(q.Format))
			items = append(items, Item{q.ID, faults})
		}
	}
	return f, append(items, strangers...), nil
}

// label begins a message about a question.
func label(q *hiring.Question) string {
	if q.Label == "" {
		return q.ID + ": "
	}
	return q.Label + ": "
}

// take checks an answer and keeps it; nil stands for none.
func (f *filled) take(b *body, q *hiring.Question, a *answer, files *documents.Files) (faults []string, err error) {
	if a != nil {
		if err := b.settle(a, q); err != nil {
			return nil, err
		}
	}
	switch {
	case a != nil && a.fault != "":
		return []string{label(q) + a.fault}, nil
	case a == nil || a.file == nil && strings.TrimSpace(a.text) == "":
		if q.IsRequired {
			return []string{label(q) + "an answer is required"}, nil
		}
		return nil, nil
	case a.file != nil:
		return f.document(q, a.file, files)
	}
	values, fault := checkText(q, a.text)
	if fault != "" {
		return []string{label(q) + fault}, nil
	}
	return f.text(q, values), nil
}

func (f *filled) document(q *hiring.Question, blob *documents.Blob, files *documents.Files) ([]string, error) {
	mediaType, extension, err := typeOf(q, blob, files)
	if err != nil {
		return nil, err
	}
	if mediaType == "" {
		return []string{label(q) + "this type of file is not accepted"}, nil
	}
	d := hiring.ApplicationDocument{
		ID: uuid.NewString(), Descriptions: []string{q.Label}, FileName: strings.NewReplacer("/", "_", `\`, "_").Replace(q.ID) + extension,
		MediaType: mediaType, Blob: blob.Name, SHA256: blob.SHA256[:], Size: blob.Size,
	}
	f.documents = append(f.documents, d)
	f.given = append(f.given, hiring.Given{Question: q.ID, Label: q.Label, Format: string(q.Format), Document: d.ID})
	return nil, nil
}

// maxPersonal is how many bytes of an answer a candidate can have as their own.
const maxPersonal = 4 << 10

// text keeps an answer that is no file: those of the compliance groups apart, some others as the candidate's own as well.
func (f *filled) text(q *hiring.Question, values []string) []string {
	if q.Group != nil {
		f.compliance = append(f.compliance, hiring.ComplianceAnswer{Question: q.ID, Group: *q.Group, Choice: q.Format == hiring.Select, Value: strings.Join(values, "\n")})
		return nil
	}
	value := values[0]
	c := &f.candidate
	personal := true
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
	default:
		personal = false
	}
	c.Name.Formatted = strings.TrimSpace(c.Name.Given + " " + c.Name.Family)
	if personal && (len(value) > maxPersonal || strings.ContainsRune(value, 0)) {
		return []string{label(q) + "the answer is longer than 4 KiB, or has the character U+0000: change that"}
	}
	f.given = append(f.given, hiring.Given{Question: q.ID, Label: q.Label, Format: string(q.Format), Values: values})
	return nil
}
