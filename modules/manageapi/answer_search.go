package manageapi

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// searchAnswers lists exports by a text in what was answered to their last attempt. The text is in the request's body,
// since it may be a person's: addresses are logged.
func searchAnswers(r *rest.Request) (any, error) {
	f, err := orderedExports(r)
	if err != nil {
		return nil, err
	}
	in, err := rest.DecodeAny[api.AnswerSearchInput](r)
	if err != nil {
		return nil, err
	}
	if in.Text == "" || len(in.Text) > maxSoughtText {
		return nil, problem.Newf(http.StatusUnprocessableEntity, "text: give 1 to %d bytes of an answer", maxSoughtText)
	}
	found, err := r.DB.SearchAnswers(r.Context(), f, in.Text)
	if err != nil {
		return nil, err
	}
	items, err := listedExports(r, found.Exports)
	return &api.AnswerSearch{Items: items, Next: r.Page.Cursor(rest.Numbered(found.Next)), Looked: found.Looked, Last: found.Last}, err
}

const maxSoughtText = 200 // bytes
