// Package compliance holds the question sets of the compliance groups: dated data files, one a group, each with its
// source, form number and end. They are replaced, never changed, when a form is.
package compliance

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

//go:embed forms/*.json
var files embed.FS

// Groups are the compliance groups of the contract, in the order in which their questions are asked.
var Groups = []string{"complianceEeo", "complianceOfccp", "complianceVevraa"}

// Form is the question set of a group, and the legal text that is shown before it.
type Form struct {
	Group     string           `json:"group"`
	Title     string           `json:"title"`
	Source    string           `json:"source"`
	Form      string           `json:"form"`    // its number
	Dated     string           `json:"dated"`   // when the text was taken over, YYYY-MM-DD
	Expires   string           `json:"expires"` // the last day, YYYY-MM-DD; empty: it does not
	Text      []string         `json:"text"`    // paragraphs
	Questions []model.Question `json:"questions"`
}

// Notice returns what applicants are shown of a form before its questions.
func (f *Form) Notice() model.ComplianceNotice {
	n := model.ComplianceNotice{Group: f.Group, Title: f.Title, Form: f.Form, Source: f.Source, Text: f.Text}
	if f.Expires != "" {
		n.Expires = &f.Expires
	}
	return n
}

// Expired reports whether a form's last day is over.
func (f *Form) Expired(now time.Time) bool {
	last, err := time.Parse(time.DateOnly, f.Expires)
	return err == nil && !now.Before(last.AddDate(0, 0, 1))
}

var forms = sync.OnceValue(func() map[string]*Form {
	all := map[string]*Form{}
	for _, group := range Groups {
		raw, err := files.ReadFile("forms/" + group + ".json")
		f := new(Form)
		if err == nil {
			err = json.Unmarshal(raw, f)
		}
		if err != nil {
			panic(fmt.Sprintf("the form of %s: %v", group, err)) // it is a part of the program, and read by a test
		}
		for n := range f.Questions {
			f.Questions[n].IsRequired, f.Questions[n].Group = true, &f.Group
		}
		all[group] = f
	}
	return all
})

// Find gives the form of a group.
func Find(group string) (*Form, bool) {
	f, ok := forms()[group]
	return f, ok
}

// Ask gives all questions of a job: its own, then those of its compliance groups, in the groups' order.
func Ask(j *model.Job) []model.Question {
	all := append([]model.Question{}, j.Questions...)
	for _, group := range Groups {
		if slices.Contains(j.ComplianceGroups, group) {
			all = append(all, forms()[group].Questions...)
		}
	}
	return all
}
