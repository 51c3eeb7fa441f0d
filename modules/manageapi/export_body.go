package manageapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// exportBody is what an export came with.
type exportBody struct {
	ID            string    `json:"id"`
	ReceivedAt    time.Time `json:"receivedAt"`
	Link          string    `json:"link,omitempty"`          // the header Link
	ExportContext string    `json:"exportContext,omitempty"` // the header Export-Context
	Body          string    `json:"body"`                    // byte for byte: the guard lets in nothing but UTF-8
}

// showBody shows the body of an export. It is a POST, because it leaves an entry in the audit: no body is shown without
// one.
func showBody(r *request) (any, error) {
	e, err := r.exportWithBody()
	if err != nil {
		return nil, err
	}
	if err := r.auditAlone(); err != nil {
		return nil, err
	}
	return exportBody{ID: e.Key, ReceivedAt: e.ReceivedAt, Link: string(e.Link),
		ExportContext: string(e.ExportContext), Body: string(e.Body)}, nil
}

// exportStructure is what kinds of things a body is made of.
type exportStructure struct {
	Parts []schemas.Part `json:"parts"` // at most schemas.MaxParts
	More  bool           `json:"more"`  // there are more
}

// showStructure shows what a body is made of, without anything that it says: it takes no more than the export itself.
func showStructure(r *request) (any, error) {
	e, err := r.exportWithBody()
	if err != nil {
		return nil, err
	}
	parts, more, err := schemas.Structure(e.Body)
	return exportStructure{Parts: parts, More: more}, err
}

// exportWithBody returns the export that the path names, if its content was not erased.
func (r *request) exportWithBody() (*model.Export, error) {
	e, err := r.export()
	if err != nil {
		return nil, err
	}
	err = r.db.LoadBody(r.Context(), e)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem.New(http.StatusGone,
			"the content of this export was erased, by retention or on request: nothing is left to show")
	}
	if errors.Is(err, store.ErrUnreadable) {
		return nil, problem.New(http.StatusInternalServerError, store.UnreadableReason)
	}
	return e, err
}
