package schemas

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xeipuuv/gojsonschema"

	"github.com/hiregate/hiregate/internal/model"
)

// Answer is an answer to a question of a job, to be checked. One of Text, File and Fault says what came.
type Answer struct {
	QuestionID string
	Text       string
	File       *File
	Fault      string // the value could not even be read: one of the messages, such as NotBase64
}

// File stands for the value of an answer that is a file.
type File struct {
	MediaType string // by content, as package filetype names it; of no account where the size is wrong
	Size      int64  // decoded bytes
}

// InvalidAnswer says all that is wrong with the answer to a question, or with there being none.
type InvalidAnswer struct {
	QuestionID string
	Format     model.Format // empty: the job has no such question
	Messages   []string     // sentences for people, which begin with the question's label; see docs/answers.md
}

// Answers checks the answers to the questions of a job. It is safe for concurrent use.
type Answers struct {
	questions []model.Question
	options   []options // of each question
	positions map[string]int
	compiled  *gojsonschema.Schema
}

// NewAnswers compiles the schema of a job's questions. Of several with the same id, the first counts. It fails for a
// format that the contract does not have.
func NewAnswers(questions []model.Question) (*Answers, error) {
	a := &Answers{positions: map[string]int{}}
	for _, q := range questions {
		if _, again := a.positions[q.ID]; !again {
			a.positions[q.ID] = len(a.questions)
			a.questions, a.options = append(a.questions, q), append(a.options, optionsOf(&q))
		}
	}
	document, err := answersSchema(a.questions)
	if err != nil {
		return nil, err
	}
	if a.compiled, err = compileDocument(document); err != nil {
		return nil, fmt.Errorf("compiling the schema of a job's answers: %w", err)
	}
	return a, nil
}

// Questions returns the questions in order. They must not be changed.
func (a *Answers) Questions() []model.Question { return a.questions }

// Question finds a question by its id.
func (a *Answers) Question(id string) (*model.Question, bool) {
	n, ok := a.positions[id]
	if !ok {
		return nil, false
	}
	return &a.questions[n], true
}

// Check says all that is wrong with the answers of an application, in the order of the questions, and behind these in
// the order given what was not asked. The first answer to a question is the one that is looked at.
func (a *Answers) Check(given []Answer) []InvalidAnswer {
	var (
		instance  = map[string]any{}
		messages  = make([][]string, len(a.questions))
		answered  = make([]bool, len(a.questions))
		repeated  = make([]bool, len(a.questions))
		unread    = make([]bool, len(a.questions)) // there is no value for the schema to look at
		strangers []string
	)
	for _, g := range given {
		n, asked := a.positions[g.QuestionID]
		switch {
		case !asked:
			if _, again := instance[g.QuestionID]; !again {
				strangers = append(strangers, g.QuestionID)
			}
			instance[g.QuestionID] = ""
		case answered[n]:
			repeated[n] = true
		case g.Fault != "":
			messages[n], unread[n] = []string{g.Fault}, true
		default:
			if value, ok := valueOf(&a.questions[n], a.options[n], &g); ok {
				instance[g.QuestionID] = value
			}
		}
		if asked {
			answered[n] = true
		}
	}
	unasked := map[string]bool{}
	for id, message := range a.validate(instance) {
		n, asked := a.positions[id]
		switch {
		case !asked:
			unasked[id] = true
		case !unread[n]:
			messages[n] = append(messages[n], message)
		}
	}
	var all []InvalidAnswer
	for n := range a.questions {
		q := &a.questions[n]
		slices.Sort(messages[n])
		if found := slices.Compact(messages[n]); len(found) > 0 || repeated[n] {
			if repeated[n] {
				found = append(found, Repeated)
			}
			all = append(all, InvalidAnswer{q.ID, q.Format, labelled(q, found)})
		}
	}
	for _, id := range strangers {
		if unasked[id] {
			all = append(all, InvalidAnswer{QuestionID: id, Messages: []string{Unasked}})
		}
	}
	return all
}

// labelled puts a question's label in front of messages, its id where it has none.
func labelled(q *model.Question, messages []string) []string {
	label := q.Label
	if strings.TrimSpace(label) == "" {
		label = q.ID
	}
	all := make([]string, len(messages))
	for n, message := range messages {
		all[n] = label + ": " + message
	}
	return all
}

// validate has the library check an instance, and gives the id of a question and a message for each fault.
func (a *Answers) validate(instance map[string]any) func(yield func(id, message string) bool) {
	return func(yield func(id, message string) bool) {
		result, err := a.compiled.Validate(gojsonschema.NewRawLoader(instance))
		if err != nil {
			for _, q := range a.questions { // what could not be checked must not count as right
				if !yield(q.ID, Unchecked) {
					return
				}
			}
			return
		}
		for _, e := range result.Errors() {
			id, message := a.explain(e)
			if message != "" && !yield(id, message) {
				return
			}
		}
	}
}

// explain translates an error of the library. The message is empty for one that only says that there are others.
func (a *Answers) explain(e gojsonschema.ResultError) (id, message string) {
	const between = "\x00" // is in no id of a question
	path := strings.Split(e.Context().String(between), between)
	if len(path) == 1 { // of all answers
		id = fmt.Sprint(e.Details()["property"])
		if e.Type() == "required" {
			return id, Required
		}
		return id, Unasked
	}
	id = path[1]
	n, asked := a.positions[id]
	if !asked {
		return id, Unasked
	}
	return id, explain(&a.questions[n], e)
}
