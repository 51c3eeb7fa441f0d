package apply

import (
	"errors"
	"strings"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/schemas"
)

// jobs keeps the schemas of jobs' answers; it outlives a configuration.
var jobs = schemas.NewJobs()

// shape applies the schema of applications to what was read, without the answers' values.
func (b *body) shape() error {
	application, answers := map[string]any{}, make([]any, len(b.answers))
	for n := range b.answers {
		a := map[string]any{}
		if b.answers[n].hasID {
			a["questionId"] = b.answers[n].questionID
		}
		if b.answers[n].hasValue {
			a["value"] = ""
		}
		answers[n] = a
	}
	if b.hasCode {
		application["jobBoardCode"] = b.code
	}
	if b.hasSource {
		application["source"] = b.source
	}
	if b.list {
		application["answers"] = answers
	}
	if faults := schemas.CheckApplication(application); len(faults) > 0 {
		return shapeError(strings.Join(faults, "; "))
	}
	return nil
}

// told makes of the answers what the schema of the job's answers looks at: a file is there by its type and size.
func (f *filled) told(b *body, files *documents.Files) ([]schemas.Answer, error) {
	all := make([]schemas.Answer, len(b.answers))
	for n := range b.answers {
		a := &b.answers[n]
		all[n] = schemas.Answer{QuestionID: a.questionID}
		q, asked := f.answers.Question(a.questionID)
		if _, again := f.first[a.questionID]; !asked || again {
			continue
		}
		f.first[a.questionID] = a
		if err := b.settle(a, q); err != nil {
			return nil, err
		}
		all[n].Text, all[n].Fault = a.text, a.fault
		if a.file != nil {
			found, err := typeOf(a.file, files)
			if err != nil {
				return nil, err
			}
			f.types[q.ID] = found
			all[n].File = &schemas.File{MediaType: found.Name, Size: a.file.Size}
		}
	}
	return all, nil
}

// typeOf finds the type of a file that was kept.
func typeOf(blob *documents.Blob, files *documents.Files) (t filetype.Type, err error) {
	content, size, err := files.Open(blob.Name)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return filetype.Detect(content, size)
}

// valuesOf are the values of an answer that is right and no file: one, or the options that were chosen.
func valuesOf(q *hiring.Question, text string) []string {
	if q.Format == hiring.Checkbox {
		return schemas.Choices(q, text)
	}
	return []string{text}
}
