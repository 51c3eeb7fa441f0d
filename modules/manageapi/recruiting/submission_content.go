package recruiting

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var erasedSubmission = problem.New(http.StatusGone, "what the applicant sent was erased")

// submissionContent reads what an applicant sent, without what nobody gets to see.
func submissionContent(r *rest.Request) (*model.Submission, *model.SubmissionContent, error) {
	s, err := findSubmission(r)
	if err != nil {
		return nil, nil, err
	}
	c, err := r.DB.SubmissionContent(r.Context(), s)
	if err != nil {
		return nil, nil, rest.NotFound(err, erasedSubmission)
	}
	c.Answers = slices.DeleteFunc(c.Answers, func(a model.SubmissionAnswer) bool { return a.Compliance })
	return s, c, nil
}

// showSubmissionAnswers shows what an applicant sent. It is a POST, because it leaves an entry in the audit.
func showSubmissionAnswers(r *rest.Request) (any, error) {
	s, c, err := submissionContent(r)
	if err != nil {
		return nil, err
	}
	questions, _, err := r.DB.UpstreamQuestions(r.Context(), s.Tenant, s.Job)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	labels := map[string]string{}
	for _, q := range questions {
		labels[q.ID] = q.Label
	}
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	shown := &api.SubmissionAnswers{Source: c.Source, Answers: []api.SubmissionAnswer{}, Refusal: []model.InvalidAnswer{}}
	for _, a := range c.Answers {
		shown.Answers = append(shown.Answers, api.SubmissionAnswer{Question: a.Question, Label: labels[a.Question], Value: a.Value,
			Size: a.Size})
	}
	shown.Refusal = append(shown.Refusal, c.Refusal...)
	return shown, nil
}

// serveSubmissionFiles serves the files of a submission as a ZIP archive. Their names in it are ours. With a scanner, each
// is scanned before.
func serveSubmissionFiles(r *rest.Request) (any, error) {
	s, c, err := submissionContent(r)
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(c.Answers, func(a model.SubmissionAnswer) bool { return a.Blob == "" })
	if len(files) == 0 {
		return nil, problem.New(http.StatusNotFound, "this submission has no file")
	}
	for _, a := range files {
		if err := scanSubmitted(r, a); err != nil {
			return nil, err
		}
	}
	r.Object = "submissions/" + s.ID + "/files"
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	return rest.Stream(func(w http.ResponseWriter, _ *http.Request) error {
		archive := newArchive(w, "submission.zip")
		for _, a := range files {
			if err := writeSubmitted(r, archive, a, s.ReceivedAt); err != nil {
				return err
			}
		}
		return archive.Close()
	}), nil
}

// scanSubmitted has a file scanned, if there is a scanner.
func scanSubmitted(r *rest.Request, a model.SubmissionAnswer) error {
	scanner := r.Gateway.Config.Scanner
	if scanner == nil {
		return nil
	}
	content, err := openFile(r, a.Blob, a.Size, a.SHA256)
	if err != nil {
		return err
	}
	defer content.Close()
	found, err := scanner.Scan(r.Context(), content)
	switch {
	case err != nil:
		return problem.New(http.StatusServiceUnavailable,
			"the scanner does not answer, and nobody gets a file that was not scanned: ask again later").RetryAfter(10 * time.Second)
	case found != "":
		return problem.New(http.StatusGone, "nobody gets the files of this submission: the scanner refused one of them")
	}
	return nil
}

func writeSubmitted(r *rest.Request, to *archive, a model.SubmissionAnswer, at time.Time) error {
	content, err := openFile(r, a.Blob, a.Size, a.SHA256)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(content) // 10 MiB at most
	if err := cmp.Or(err, content.Close()); err != nil {
		return err
	}
	kind, err := filetype.Detect(bytes.NewReader(raw), a.Size)
	if err != nil {
		return err
	}
	return to.add(kind.Extension, at, bytes.NewReader(raw))
}
