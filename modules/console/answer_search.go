package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
)

const (
	forAnswers = "hiregate texts that are sought in answers"
	// sought is the parameter of a list of exports that has the sealed text.
	sought = "sought"
)

// seekAnswer leads to the exports whose last attempt was answered with a text. The address has it sealed, since it may be a
// person's.
func seekAnswer(v *visitor) error {
	query := url.Values{}
	for _, name := range append([]string{"tenant"}, filters...) {
		if value := v.PostFormValue(name); value != "" {
			query.Set(name, value)
		}
	}
	if text := strings.TrimSpace(v.PostFormValue("text")); text != "" {
		ticket, err := v.console.Vault.SealTicket(forAnswers, v.console.URL, text)
		if err != nil {
			return err
		}
		query.Set(sought, ticket)
	}
	return v.redirect("/exports?" + query.Encode())
}

// soughtText returns the text of a ticket of seekAnswer; empty: it is none, or the visitor may not see answers in lists.
func (v *visitor) soughtText(ticket string) (text string) {
	if ticket == "" || v.duties&operates == 0 || !v.console.Vault.OpenTicket(forAnswers, v.console.URL, ticket, &text) {
		return ""
	}
	return text
}

// searchAnswers gets a page of what seekAnswer leads to.
func (v *visitor) searchAnswers(path string, query url.Values, shown *listing) error {
	asked := v.URL.Query()
	if cursor := asked.Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	var found struct {
		api.List[export]
		Looked int
		Last   time.Time
	}
	err := v.call(http.MethodPost, strings.TrimSuffix(path, "exports")+"export-search", query, api.AnswerSearchInput{Text: shown.Text}, &found)
	if err != nil {
		return err
	}
	shown.List, shown.Looked, shown.Last = found.List, found.Looked, found.Last
	if found.Next != nil {
		shown.More = after(asked, *found.Next, slices.Concat([]string{"tenant", sought}, filters))
	}
	return nil
}
