package apply

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// givenAnswer is an answer that is sent: a value, or a file that is encoded while it is.
type givenAnswer struct {
	QuestionID string `json:"questionId"`
	Value      string `json:"value"`
	File       string `json:"file"` // its path
}

const maxAnswersFile = 64 << 20 // bytes; a file may be in it, encoded

// readAnswers reads a file of answers: an object by question id, for which it calls ask, or an application. source is
// nil if the file has none.
func readAnswers(in io.Reader, name string, ask func() ([]asked, error)) (all []givenAnswer, source *string,
	err error) {
	raw, err := terminal.ReadInput(in, name, maxAnswersFile)
	if err != nil {
		return nil, nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, nil, fmt.Errorf("%s is not a JSON object: write one with the question ids as names",
			terminal.Printable(name))
	}
	folder := "."
	if name != "-" {
		folder = filepath.Dir(name)
	}
	if list, ok := members["answers"]; ok && strings.HasPrefix(strings.TrimSpace(string(list)), "[") {
		if err := json.Unmarshal(list, &all); err != nil {
			return nil, nil,
				fmt.Errorf(`the answers of %s are not an array of {"questionId": …, "value": …}: write each value as a string`,
					terminal.Printable(name))
		}
		if s, ok := members["source"]; ok && json.Unmarshal(s, &source) != nil {
			return nil, nil, fmt.Errorf("the source of %s is not a string", terminal.Printable(name))
		}
	} else {
		questions, err := ask()
		if err != nil {
			return nil, nil, err
		}
		if all, err = byQuestion(members, questions); err != nil {
			return nil, nil, err
		}
	}
	for n := range all {
		if all[n].File != "" && !filepath.IsAbs(all[n].File) {
			all[n].File = filepath.Join(folder, all[n].File)
		}
	}
	return all, source, nil
}

// byQuestion makes answers of values by question id: in the order of the questions, with unknown ones last.
func byQuestion(values map[string]json.RawMessage, questions []asked) (all []givenAnswer, err error) {
	for _, q := range questions {
		raw, ok := values[q.ID]
		if !ok {
			continue
		}
		delete(values, q.ID)
		a, err := answerOf(q.ID, raw)
		if err != nil {
			return nil, err
		}
		if q.Format == model.File {
			a.File, a.Value = a.Value+a.File, ""
		}
		if string(raw) != "null" {
			all = append(all, a)
		}
	}
	var strangers []string
	for id := range values {
		strangers = append(strangers, id)
	}
	slices.Sort(strangers)
	for _, id := range strangers { // the API refuses them
		a, err := answerOf(id, values[id])
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

func answerOf(id string, raw json.RawMessage) (givenAnswer, error) {
	a := givenAnswer{QuestionID: id}
	var choices []string
	var file struct{ File string }
	switch {
	case json.Unmarshal(raw, &a.Value) == nil:
	case json.Unmarshal(raw, &choices) == nil:
		a.Value = model.JoinOptions(choices)
	case json.Unmarshal(raw, &file) == nil && file.File != "":
		a.File = file.File
	case !strings.ContainsAny(string(raw[:1]), "[{"): // a number, true or false
		a.Value = string(raw)
	default:
		return a, fmt.Errorf(`the answer to %s is neither a text, an array of options nor {"file": …}`,
			terminal.Printable(id))
	}
	return a, nil
}

// answerFileError is about a file that can't be sent.
type answerFileError struct{ error }

func (e *answerFileError) Unwrap() error { return e.error }

// applicationBody is the body of an application. Its files are read and encoded while it is sent.
func applicationBody(job, source string, answers []givenAnswer) (content, error) {
	type part struct {
		text string
		file string // after the text
		size int64
	}
	quoted := func(s string) string {
		raw, _ := json.Marshal(s) // a string always can be
		return string(raw)
	}
	text := `{"jobBoardCode":` + quoted(job) + `,"source":` + quoted(source) + `,"answers":[`
	var parts []part
	var size int64
	for n, a := range answers {
		if n > 0 {
			text += ","
		}
		text += `{"questionId":` + quoted(a.QuestionID) + `,"value":`
		if a.File == "" {
			text += quoted(a.Value) + "}"
			continue
		}
		about, err := os.Stat(a.File)
		if err == nil && !about.Mode().IsRegular() {
			err = errors.New("it is not a file")
		}
		if err != nil {
			return content{}, &answerFileError{fmt.Errorf("the answer to %s is the file %s, which can't be sent: %w",
				terminal.Printable(a.QuestionID), terminal.Printable(a.File), terminal.Cause(err))}
		}
		parts = append(parts, part{text + `"`, a.File, about.Size()})
		size += int64(len(text)) + 1 + int64(base64.StdEncoding.EncodedLen(int(about.Size())))
		text = `"}`
	}
	text += "]}"
	size += int64(len(text))
	write := func(w io.Writer) error {
		for _, p := range parts {
			if _, err := io.WriteString(w, p.text); err != nil {
				return err
			}
			if err := encodeFile(w, p.file, p.size); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, text)
		return err
	}
	return content{size: size, new: func() io.ReadCloser {
		r, w := io.Pipe()
		go func() { w.CloseWithError(write(w)) }() // ends at the latest when the reader is closed
		return r
	}}, nil
}

// encodeFile writes a file of a known size as base64.
func encodeFile(w io.Writer, name string, size int64) error {
	f, err := os.Open(name)
	if err != nil {
		return &answerFileError{fmt.Errorf("reading %s: %w", terminal.Printable(name), terminal.Cause(err))}
	}
	defer f.Close()
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	n, err := io.Copy(encoder, io.LimitReader(f, size))
	if err == nil && n != size {
		return &answerFileError{fmt.Errorf("%s became shorter while it was sent: apply again", terminal.Printable(name))}
	}
	return errors.Join(err, encoder.Close())
}
