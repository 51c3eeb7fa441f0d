package applyclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Body is the body of a request. It can be sent more than once, byte for byte.
type Body struct {
	Size int64
	Open func() io.ReadCloser // nil: there is no body
}

// Bytes returns the body with these bytes.
func Bytes(raw []byte) Body {
	return Body{int64(len(raw)), func() io.ReadCloser { return io.NopCloser(bytes.NewReader(raw)) }}
}

// Credentials returns the body that gets a token.
func Credentials(user, password string) Body {
	return Bytes(encode(map[string]string{"userName": user, "password": password}))
}

// Answer is an answer of an application: a value, or a file that is encoded while it is sent.
type Answer struct {
	QuestionID string `json:"questionId"`
	Value      string `json:"value"`
	File       *File  `json:"-"` // instead of a value
}

// File is the content of an answer.
type File struct {
	Size int64
	Open func() (io.ReadCloser, error)
}

// FileError is an error of reading the file that answers a question.
type FileError struct {
	QuestionID string
	Err        error
}

func (e *FileError) Error() string {
	return "the file that answers " + e.QuestionID + ": " + e.Err.Error()
}

func (e *FileError) Unwrap() error { return e.Err }

// ErrShorter means that a file had fewer bytes than its size says.
var ErrShorter = errors.New("the file has become shorter")

// Application returns the body of an application. Its files are read and encoded while it is sent, so that memory does
// not grow with them.
func Application(job, source string, answers []Answer) Body {
	type part struct {
		text []byte // before the file
		Answer
	}
	text := fmt.Appendf(nil, `{"jobBoardCode":%s,"source":%s,"answers":[`, encode(job), encode(source))
	var parts []part
	var size int64
	for n, a := range answers {
		if n > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `{"questionId":%s,"value":`, encode(a.QuestionID))
		if a.File == nil {
			text = fmt.Appendf(text, `%s}`, encode(a.Value))
			continue
		}
		text = append(text, '"')
		size += int64(len(text)) + (a.File.Size+2)/3*4
		parts = append(parts, part{text, a})
		text = []byte(`"}`)
	}
	text = append(text, "]}"...)
	write := func(w io.Writer) error {
		for _, p := range parts {
			if _, err := w.Write(p.text); err != nil {
				return err
			}
			if err := p.encodeFile(w); err != nil {
				return err
			}
		}
		_, err := w.Write(text)
		return err
	}
	return Body{size + int64(len(text)), func() io.ReadCloser {
		r, w := io.Pipe()
		go func() { w.CloseWithError(write(w)) }() // ends at the latest when the reader is closed
		return r
	}}
}

// encodeFile writes the file as base64. Errors that are not the writer's are *FileError.
func (a *Answer) encodeFile(w io.Writer) error {
	in, err := a.File.Open()
	if err != nil {
		return &FileError{a.QuestionID, err}
	}
	defer in.Close()
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	content := &Source{Reader: io.LimitReader(in, a.File.Size)}
	n, err := io.Copy(encoder, content)
	switch {
	case content.Err != nil:
		return &FileError{a.QuestionID, content.Err}
	case err == nil && n != a.File.Size:
		return &FileError{a.QuestionID, ErrShorter}
	}
	return errors.Join(err, encoder.Close())
}

// Source keeps the error of a reader, which io.Copy does not tell from the writer's.
type Source struct {
	io.Reader
	Err error
}

func (s *Source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.Err = err
	}
	return n, err
}

func encode(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic("applyclient: " + err.Error()) // texts and maps of them always can be
	}
	return raw
}
