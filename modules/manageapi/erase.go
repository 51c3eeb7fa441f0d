package manageapi

import (
	"context"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/retention"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// eraseExport erases the content of an export. Those of a removed tenant are there, too.
func eraseExport(r *rest.Request) (any, error) {
	in, err := rest.DecodeAny[api.EraseInput](r)
	if err != nil {
		return nil, err
	}
	e, err := exportOf(r)
	if err != nil {
		return nil, err
	}
	done, err := eraseOne(r, r.Context(), e, in.Cancel)
	switch {
	case err != nil:
		return nil, err
	case done.Refused != "":
		return nil, problem.New(http.StatusConflict, done.Refused)
	case e.ErasedAt.IsZero():
		r.Logged = append(r.Logged, zap.Int("erased", 1))
	}
	return done, nil
}

// longestCandidate is the longest id of a candidate, in bytes, that exports are found by, with room for a character
// that is cut: see model.CandidateKey. An id that another candidate shares must not erase that candidate's exports.
const longestCandidate = 1020

// eraseCandidate erases the content of a page of the exports that are about a candidate, the newest first.
func eraseCandidate(r *rest.Request) (any, error) {
	before, err := r.Page.Number()
	if err != nil {
		return nil, err
	}
	if err := knownTenant(r, r.PathValue("tenant")); err != nil {
		return nil, err
	}
	in, err := rest.Decode[api.EraseCandidateInput](r)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Candidate == "":
		return nil, problem.New(http.StatusUnprocessableEntity,
			`candidate is missing: name whose exports are to be erased, as {"candidate":"c-1"}`)
	case len(in.Candidate) > longestCandidate || model.CandidateKey(in.Candidate) != in.Candidate:
		return nil, problem.Newf(http.StatusUnprocessableEntity,
			"exports are not found by an id of more than %d bytes, or with a U+0000 in it: erase each of them by its UUID",
			longestCandidate)
	}
	rows, next, err := r.DB.ListExports(r.Context(), store.ExportFilter{Tenant: r.PathValue("tenant"),
		Candidate: in.Candidate, Cursor: before, Limit: r.Page.Limit})
	if err != nil {
		return nil, err
	}
	l, erased := api.List[api.Erasure]{Items: []api.Erasure{}, Next: r.Page.Cursor(rest.Numbered(next))}, 0
	defer func() {
		if erased > 0 {
			r.Logged = append(r.Logged, zap.Int("erased", erased))
		}
	}()
	for _, e := range rows {
		done, err := eraseOne(r, r.Context(), e, in.Cancel)
		if err != nil {
			return nil, err
		}
		if done.Refused == "" {
			erased++
		}
		l.Items = append(l.Items, done)
	}
	return l, nil
}

func eraseOne(r *rest.Request, ctx context.Context, e *model.Export, cancel bool) (api.Erasure, error) {
	done := api.Erasure{ID: e.Key, ReceivedAt: e.ReceivedAt}
	r.Object = model.ExportObject(e)
	erased, err := r.Gateway.Runtime.Retention.EraseExport(ctx, e.ID, cancel, r.Audit)
	refused := new(retention.RefusedError)
	if errors.As(err, &refused) {
		done.Refused = refused.Reason
		return done, nil
	}
	if err != nil {
		return done, err
	}
	done.ErasedAt = erased.ErasedAt
	return done, nil
}
