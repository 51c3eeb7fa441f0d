package recruiting

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
	"github.com/hiregate/hiregate/schemas"
)

// showQuestions answers with what applicants for a job are asked.
func showQuestions(r *rest.Request) (any, error) {
	job, err := jobs.Named(r)
	if err != nil {
		return nil, err
	}
	shown := api.JobQuestions{Questions: compliance.Ask(job), Groups: []api.GroupNotice{}}
	for _, group := range compliance.Groups { // in the order of the questions
		if form, ok := compliance.Find(group); ok && slices.Contains(job.ComplianceGroups, group) {
			shown.Groups = append(shown.Groups,
				api.GroupNotice{ComplianceNotice: form.Notice(), Expired: form.Expired(r.Now())})
		}
	}
	return &shown, nil
}

// maxCheck bounds the body of a check: a file as large as a question may ask for, and what would be too large.
const maxCheck = 24 << 20

// placeOfCheck waits for a place for a check of answers: its body is large, and its tenant may have many under way.
func placeOfCheck(r *rest.Request) (release func(), err error) {
	tenant, places := r.PathValue("tenant"), r.Gateway.Runtime.Previews
	if !places.Acquire(r.Context(), tenant, 1, rest.Patience) {
		return nil, problem.New(http.StatusTooManyRequests, "too many answers are being checked: send the same again in a "+
			"moment").RetryAfter(time.Second).Closing()
	}
	return func() { places.Release(tenant, 1) }, nil
}

// checkAnswers answers what the Apply API would refuse of an application. Nothing is stored.
func checkAnswers(r *rest.Request) (any, error) {
	job, err := jobs.Named(r)
	if err != nil {
		return nil, err
	}
	in, err := rest.Decode[api.CheckInput](r)
	if err != nil {
		return nil, err
	}
	r.Content = nil // the values have it
	if len(in.Answers) > schemas.MaxAnswers {
		return nil, problem.Newf(http.StatusUnprocessableEntity, "there are more than %d answers: leave some out",
			schemas.MaxAnswers)
	}
	schema, err := schemas.NewAnswers(compliance.Ask(job))
	if err != nil {
		return nil, err
	}
	given, texts := make([]schemas.Answer, len(in.Answers)), 0
	for n, a := range in.Answers {
		given[n].QuestionID = a.QuestionID
		q, ok := schema.Question(a.QuestionID)
		switch {
		case !ok:
		case a.File != nil && (q.Format != model.File || a.Value != ""):
			return nil, problem.Newf(http.StatusUnprocessableEntity, "answers[%d].file goes in the place of the value of a "+
				"File question: leave it or the value out", n)
		case a.File != nil:
			given[n].File = &schemas.File{MediaType: a.File.MediaType, Size: a.File.Size}
		case q.Format == model.File:
			if err := readFile(&given[n], q, a.Value); err != nil {
				return nil, err
			}
		case len(a.Value) > schemas.MaxText:
			given[n].Fault = schemas.TooLarge
		case texts+len(a.Value) > schemas.MaxTexts:
			given[n].Fault = schemas.TooLargeAll
		default:
			given[n].Text = a.Value
			texts += len(a.Value)
		}
	}
	shown := api.AnswerErrors{Errors: []api.AnswerError{}}
	for _, wrong := range schema.Check(given) {
		shown.Errors = append(shown.Errors, api.AnswerError{QuestionID: wrong.QuestionID, Messages: wrong.Messages})
	}
	return shown, nil
}

// readFile finds what a file is that was sent as base64.
func readFile(a *schemas.Answer, q *model.Question, value string) error {
	in, err := documents.OpenValue(strings.NewReader(value))
	switch {
	case err != nil || in == nil:
		return err
	case in.DataURL:
		a.Fault = schemas.HasPrefix
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(in, schemas.FileLimit(q)))
	switch {
	case errors.Is(err, documents.ErrBase64):
		a.Fault = schemas.NotBase64
		return nil
	case err != nil:
		return err
	case int64(len(content)) == schemas.FileLimit(q):
		a.Fault = schemas.LargeFileMessage(q)
		return nil
	}
	found, err := filetype.Detect(bytes.NewReader(content), int64(len(content)))
	a.File = &schemas.File{MediaType: found.Name, Size: int64(len(content))}
	return err
}

// showReceived answers how many job applications there are for a job, and how often the Apply API refused answers, by
// question: in the last week, or since a time.
func showReceived(r *rest.Request) (any, error) {
	job, err := jobs.Named(r)
	if err != nil {
		return nil, err
	}
	since, err := r.Since(7 * 24 * time.Hour)
	if err != nil {
		return nil, err
	}
	if first := r.Now().Add(-store.HealthKept); since.Before(first) {
		since = first
	}
	since = since.Truncate(time.Hour)
	n, err := r.DB.CountJobApplications(r.Context(), job.Tenant, job.BoardCode)
	if err != nil {
		return nil, err
	}
	refused, err := r.DB.ListRefusedAnswers(r.Context(), job.Tenant, job.BoardCode, since)
	if err != nil {
		return nil, err
	}
	shown := api.JobReceived{Applications: n.Count, Latest: n.Latest, Since: since.UTC(), Refused: []api.RefusedAnswer{}}
	for _, one := range refused {
		shown.Refused = append(shown.Refused, api.RefusedAnswer(one))
	}
	return &shown, nil
}
