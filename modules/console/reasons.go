package console

import (
	"fmt"
	"html/template"

	"github.com/hiregate/hiregate/internal/model"
)

// Reason returns a sentence of the gateway in the language of the page. One that has no code is shown in English, and
// marked as English.
func (t *texts) Reason(sentence string) template.HTML {
	if words := t.reason(model.ParseReason(sentence)); words != "" {
		return template.HTML(template.HTMLEscapeString(words))
	}
	return template.HTML(fmt.Sprintf(`<span lang="en">%s</span>`, template.HTMLEscapeString(sentence)))
}

// reason returns the words for a reason; empty: the language has none.
func (t *texts) reason(r *model.Reason) string {
	if r == nil {
		return ""
	}
	var pairs []any
	for name, value := range r.Params {
		if words := t.reason(r.Cause); name == "cause" && words != "" {
			value = words
		}
		if name == "state" { // of an integration
			value = t.Word(name, value)
		}
		pairs = append(pairs, name, value)
	}
	words, _ := t.T("reason_"+r.Code, pairs...)
	return words
}
