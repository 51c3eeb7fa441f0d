package manageapi

import (
	"errors"
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
	"github.com/hiregate/hiregate/schemas"
)

// showBody shows the body of an export. It is a POST, because it leaves an entry in the audit: no body is shown without
// one.
func showBody(r *rest.Request) (any, error) {
	e, err := exportWithBody(r)
	if err != nil {
		return nil, err
	}
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	return api.ExportBody{ID: e.Key, ReceivedAt: e.ReceivedAt, Link: string(e.Link),
		ExportContext: string(e.ExportContext), Body: string(e.Body)}, nil
}

// showStructure shows what a body is made of, without anything that it says: it takes no more than the export itself.
func showStructure(r *rest.Request) (any, error) {
	e, err := exportWithBody(r)
	if err != nil {
		return nil, err
	}
	parts, more, err := schemas.Structure(e.Body)
	return api.ExportStructure{Parts: parts, More: more}, err
}

// exportWithBody returns the export that the path names, if its content was not erased.
func exportWithBody(r *rest.Request) (*model.Export, error) {
	e, err := exportOf(r)
	if err != nil {
		return nil, err
	}
	err = r.DB.LoadBody(r.Context(), e)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem.New(http.StatusGone,
			"the content of this export was erased, by retention or on request: nothing is left to show")
	}
	if errors.Is(err, store.ErrUnreadable) {
		return nil, problem.New(http.StatusInternalServerError, store.UnreadableReason)
	}
	return e, err
}
