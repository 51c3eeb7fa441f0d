package apply

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/jsonstream"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

const (
	maxName         = 4 * 255 // bytes of a name or a source of up to 255 characters
	bufferedAnswer  = 8 << 10 // bytes of an answer that are buffered in memory,
	bufferedAnswers = 1 << 18 // and of an application's answers together
)

// shapeError says why a JSON body is not an application.
type shapeError string

func (e shapeError) Error() string { return string(e) }

// content is the value of an answer: a text, or a file that is already in the document store. Until its question is
// known, a large text waits in the scratch file.
type content struct {
	text  string
	rest  *io.SectionReader // instead of text
	file  *documents.Blob   // instead of text
	fault string            // why it is neither
	blank bool
}

// answer is an answer of an application.
type answer struct {
	questionID      string
	hasID, hasValue bool
	content
}

// body reads an application as it arrives, with its members in any order.
type body struct {
	in    *jsonstream.Reader
	files *documents.Files
	// put writes a file of so many bytes at most to the document store.
	put func(value io.Reader, most int64) (documents.Blob, error)
	// job returns the questions of a job; nil: nobody can apply for it.
	job func(code string) (*sheet, error)

	code, source             string
	hasCode, hasSource, list bool
	sheet                    *sheet // nil: not known yet, or no such job
	answers                  []answer
	buffered                 int // bytes in memory
	scratch                  *documents.Scratch
	scratched                int64
	texts                    int64 // bytes of the answers that are not files
}

// close ends the scratch file.
func (b *body) close() {
	if b.scratch != nil {
		b.scratch.Close()
	}
}

// read reads the whole body. Errors: *jsonstream.Error, shapeError, and errors of the reader, the store and the
// documents.
func (b *body) read() error {
	kind, err := b.in.Next()
	if err != nil {
		return err
	}
	if kind != jsonstream.Object {
		return shapeError(schemas.NoApplication)
	}
	if err := b.in.Object(b.member); err != nil {
		return err
	}
	if err := b.in.End(); err != nil {
		return err
	}
	return b.shape()
}

// shape checks the application against its schema, without the values of the answers.
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

func (b *body) member(name string) error {
	switch name {
	case "jobBoardCode":
		b.hasCode = true
		code, long, err := b.string(schemas.CodeIsText)
		if err == nil && !long { // no job has such a long one
			b.code = code
			b.sheet, err = b.job(code)
		}
		return err
	case "source":
		b.hasSource = true
		source, long, err := b.string(schemas.SourceIsText)
		if err == nil && long {
			err = shapeError(schemas.LongSource)
		}
		b.source = source
		return err
	case "answers":
		b.list = true
		if err := b.expect(jsonstream.Array, schemas.AnswersAreList); err != nil {
			return err
		}
		return b.in.Array(b.answer)
	}
	return b.in.Skip()
}

func (b *body) expect(kind jsonstream.Kind, sentence string) error {
	got, err := b.in.Next()
	if err == nil && got != kind {
		return shapeError(sentence)
	}
	return err
}

// string reads a member that is a short text; noText is the error for any other value. long reports that it has more
// than maxName bytes, which s lacks.
func (b *body) string(noText string) (s string, long bool, err error) {
	if err := b.expect(jsonstream.String, noText); err != nil {
		return "", false, err
	}
	err = b.in.Text(func(r io.Reader) error {
		raw, err := io.ReadAll(io.LimitReader(r, maxName+1))
		long = len(raw) > maxName
		s = string(raw[:min(len(raw), maxName)])
		return err
	})
	return s, long, err
}

func (b *body) answer() error {
	if len(b.answers) > schemas.MaxAnswers { // one more than the schema allows is enough for its error
		return b.in.Skip()
	}
	if err := b.expect(jsonstream.Object, schemas.NoAnswer); err != nil {
		return err
	}
	var a answer
	err := b.in.Object(func(name string) (err error) {
		switch name {
		case "questionId":
			a.hasID = true
			var long bool
			if a.questionID, long, err = b.string(schemas.IDIsText); err == nil && long {
				err = shapeError(schemas.LongID)
			}
		case "value":
			a.hasValue = true
			if err := b.expect(jsonstream.String, schemas.ValueIsText); err != nil {
				return err
			}
			known := a.hasID && b.sheet != nil
			err = b.in.Text(func(r io.Reader) (err error) {
				a.content, err = b.value(known, a.questionID, r)
				return err
			})
		default:
			err = b.in.Skip()
		}
		return err
	})
	b.answers = append(b.answers, a)
	return err
}

// value reads the value of an answer. If its question is known, a file goes to the document store, and an answer that
// was not asked for is dropped. Otherwise it buffers the value.
func (b *body) value(known bool, id string, r io.Reader) (content, error) {
	if !known {
		return b.buffer(r)
	}
	q, asked := b.sheet.schema.Question(id)
	switch {
	case !asked || b.answered(id):
		return content{}, nil
	case q.Format == model.File:
		return b.file(q, r)
	}
	return b.text(r)
}

func (b *body) answered(id string) bool {
	for n := range b.answers {
		if b.answers[n].questionID == id {
			return true
		}
	}
	return false
}

// text buffers an answer that is not a file.
func (b *body) text(r io.Reader) (content, error) {
	c, err := b.buffer(io.LimitReader(r, schemas.MaxText+1))
	if err == nil && c.rest != nil && c.rest.Size() > schemas.MaxText {
		return content{fault: schemas.TooLarge}, nil
	}
	return c, err
}

// buffer stores a value undecoded: in memory if it is small, otherwise in the scratch file.
func (b *body) buffer(r io.Reader) (content, error) {
	head, err := io.ReadAll(io.LimitReader(r, bufferedAnswer+1))
	if err != nil {
		return content{}, err
	}
	if len(head) <= bufferedAnswer && b.buffered+len(head) <= bufferedAnswers {
		b.buffered += len(head)
		return content{text: string(head)}, nil
	}
	if b.scratch == nil {
		if b.scratch, err = b.files.Scratch(); err != nil {
			return content{}, err
		}
	}
	begin := b.scratched
	n, err := io.Copy(io.NewOffsetWriter(b.scratch, begin), io.MultiReader(bytes.NewReader(head), r))
	b.scratched += n
	return content{rest: io.NewSectionReader(b.scratch, begin, n)}, err
}

// file decodes a file into the document store.
func (b *body) file(q *model.Question, r io.Reader) (content, error) {
	value, err := documents.OpenValue(r)
	switch {
	case err != nil || value == nil:
		return content{blank: value == nil}, err
	case value.DataURL:
		return content{fault: schemas.HasPrefix}, nil
	}
	blob, err := b.put(value, schemas.FileLimit(q)-1)
	switch {
	case errors.Is(err, documents.ErrTooLarge):
		return content{fault: schemas.LargeFileMessage(q)}, nil
	case errors.Is(err, documents.ErrBase64):
		return content{fault: schemas.NotBase64}, nil
	case err != nil:
		return content{}, err
	}
	return content{file: &blob}, nil
}

// settle turns a buffered value into a text or a file, once its question is known.
func (b *body) settle(a *answer, q *model.Question) (err error) {
	if a.file != nil || a.fault != "" || a.blank {
		return nil
	}
	if q.Format == model.File {
		var r io.Reader = strings.NewReader(a.text)
		if a.rest != nil {
			r = a.rest
		}
		a.content, err = b.file(q, r)
		return err
	}
	size := int64(len(a.text))
	if a.rest != nil {
		size = a.rest.Size()
	}
	switch {
	case size > schemas.MaxText:
		a.content = content{fault: schemas.TooLarge}
		return nil
	case b.texts+size > schemas.MaxTexts:
		a.content = content{fault: schemas.TooLargeAll}
		return nil
	}
	b.texts += size
	if a.rest == nil {
		return nil
	}
	raw, err := io.ReadAll(a.rest)
	a.content = content{text: string(raw)}
	return err
}
