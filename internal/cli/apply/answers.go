package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/applyclient"
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
func readAnswers(in io.Reader, name string, ask func() ([]applyclient.Question, error)) (all []givenAnswer, source *string,
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
func byQuestion(values map[string]json.RawMessage, questions []applyclient.Question) (all []givenAnswer, err error) {
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

// applicationBody is the body of an application. Its files are read and encoded while it is sent.
func applicationBody(job, source string, answers []givenAnswer) (applyclient.Body, error) {
	all := make([]applyclient.Answer, len(answers))
	for n, a := range answers {
		all[n] = applyclient.Answer{QuestionID: a.QuestionID, Value: a.Value}
		if a.File == "" {
			continue
		}
		about, err := os.Stat(a.File)
		if err == nil && !about.Mode().IsRegular() {
			err = errors.New("it is not a file")
		}
		if err != nil {
			return applyclient.Body{}, fmt.Errorf("the answer to %s is the file %s, which can't be sent: %w",
				terminal.Printable(a.QuestionID), terminal.Printable(a.File), terminal.Cause(err))
		}
		all[n].File = &applyclient.File{Size: about.Size(), Open: func() (io.ReadCloser, error) { return os.Open(a.File) }}
	}
	return applyclient.Application(job, source, all), nil
}
