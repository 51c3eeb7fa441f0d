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
)

// eraseExport erases the content of an export. Those of a removed tenant are there, too.
func eraseExport(r *request) (any, error) {
	in, err := decodeAny[api.EraseInput](r)
	if err != nil {
		return nil, err
	}
	e, err := r.export()
	if err != nil {
		return nil, err
	}
	done, err := r.erase(r.Context(), e, in.Cancel)
	switch {
	case err != nil:
		return nil, err
	case done.Refused != "":
		return nil, problem.New(http.StatusConflict, done.Refused)
	case e.ErasedAt.IsZero():
		r.logged = append(r.logged, zap.Int("erased", 1))
	}
	return done, nil
}

// longestCandidate is how many bytes of a candidate's id are told apart, with room for a character that is cut: see
// model.CandidateKey. What another candidate is known by as well must not erase theirs.
const longestCandidate = 1020

// eraseCandidate erases the content of a page of the exports that are about a candidate, the newest first.
func eraseCandidate(r *request) (any, error) {
	before, err := r.page.number()
	if err != nil {
		return nil, err
	}
	if err := r.knownTenant(r.PathValue("tenant")); err != nil {
		return nil, err
	}
	in, err := decode[api.EraseCandidateInput](r)
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
	rows, next, err := r.db.ListExports(r.Context(), store.ExportFilter{Tenant: r.PathValue("tenant"),
		Candidate: in.Candidate, Before: before, Limit: r.page.limit})
	if err != nil {
		return nil, err
	}
	l, erased := api.List[api.Erasure]{Items: []api.Erasure{}, Next: r.page.cursor(numbered(next))}, 0
	defer func() {
		if erased > 0 {
			r.logged = append(r.logged, zap.Int("erased", erased))
		}
	}()
	for _, e := range rows {
		done, err := r.erase(r.Context(), e, in.Cancel)
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

func (r *request) erase(ctx context.Context, e *model.Export, cancel bool) (api.Erasure, error) {
	done := api.Erasure{ID: e.Key, ReceivedAt: e.ReceivedAt}
	r.object = model.ExportObject(e)
	erased, err := r.gateway.Runtime.Retention.EraseExport(ctx, e.ID, cancel, r.audit)
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
