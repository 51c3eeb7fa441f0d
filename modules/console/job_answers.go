package console

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

const (
	maxUpload = 16 << 20 // bytes of the body of a form with files
	// What such a form may have beside its files: as many parts as the page has fields, and as much text as the Apply API
	// takes.
	maxParts = model.MaxQuestions * (shownOptions + 20)
	maxTexts = schemas.MaxTexts
)

// filled holds the answers of a form, by the names of its fields.
type filled struct {
	texts map[string][]string
	files map[string]*api.File
}

// checkJob shows what the Apply API would refuse of what was filled in. Nothing is stored.
func checkJob(v *visitor) error {
	form, err := v.readForm()
	if large := new(http.MaxBytesError); errors.As(err, &large) || errors.Is(err, multipart.ErrMessageTooLarge) {
		return &failure{status: http.StatusRequestEntityTooLarge, Text: "PreviewTooLarge"}
	}
	if err != nil {
		return err
	}
	shown, err := v.job()
	if err != nil {
		return err
	}
	answers := []api.AnswerInput{}
	for _, f := range shown.fields() {
		if a, given := form.answerTo(f); given {
			answers = append(answers, a)
		}
	}
	var found api.AnswerErrors
	path := at("tenants", shown.Tenant, "jobs", v.PathValue("id"), "questions", "check")
	if err := v.post(path, api.CheckInput{Answers: answers}, &found); err != nil {
		return err
	}
	wrong := map[string][]string{}
	for _, one := range found.Errors {
		wrong[one.QuestionID] = one.Messages
	}
	shown.Checked, shown.Wrong = true, len(found.Errors)
	for _, f := range shown.fields() {
		f.Wrong = wrong[f.ID]
	}
	return v.page(http.StatusOK, "job", "Job", shown)
}

// readForm reads a form with files as it arrives. Of a file it keeps what it is; the content is never in memory as a
// whole. The error is errUnreadable for what is no such form, a *http.MaxBytesError or multipart.ErrMessageTooLarge.
func (v *visitor) readForm() (*filled, error) {
	in, err := v.MultipartReader()
	if err != nil {
		return nil, errUnreadable
	}
	form, left := &filled{map[string][]string{}, map[string]*api.File{}}, int64(maxTexts)
	for range maxParts {
		part, err := in.NextPart()
		switch large := new(http.MaxBytesError); {
		case errors.Is(err, io.EOF):
			return form, nil
		case errors.As(err, &large):
			return nil, err
		case err != nil:
			return nil, errUnreadable
		}
		name := part.FormName()
		if part.FileName() != "" {
			if form.files[name], err = v.readFile(part); err != nil {
				return nil, err
			}
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, left+1))
		if err != nil {
			return nil, err
		}
		if left -= int64(len(text)); left < 0 {
			return nil, multipart.ErrMessageTooLarge
		}
		form.texts[name] = append(form.texts[name], string(text))
	}
	return nil, multipart.ErrMessageTooLarge
}

// readFile finds out what a file is, by way of a temporary one. Of one that is too large for any question the size is
// not its own, but too large as well.
func (v *visitor) readFile(in io.Reader) (s *api.File, err error) {
	scratch, err := v.console.Gateway.Runtime.Archive.Files.Scratch()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	size, err := io.Copy(io.NewOffsetWriter(scratch, 0), io.LimitReader(in, schemas.MaxFile))
	if err != nil {
		return nil, err
	}
	found, err := filetype.Detect(scratch, size)
	return &api.File{MediaType: found.Name, Size: size}, err
}

// answerTo returns the answer of a form to a question. It notes in the field what was filled in.
func (f *filled) answerTo(to *field) (a api.AnswerInput, given bool) {
	a.QuestionID = to.ID
	if to.Format == model.File {
		a.File = f.files[to.Name()]
		return a, a.File != nil
	}
	to.Given = f.texts[to.Name()]
	a.Value = to.Value()
	if to.Format == model.Checkbox {
		a.Value = model.JoinOptions(to.Given)
	}
	return a, len(to.Given) > 0
}
