package manage

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

// redeliver delivers an export anew to the integrations that the body names, to all without a body.
func (r *request) redeliver() (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	integrations, p := r.integrations()
	if p != nil {
		return nil, p
	}
	e, p := r.export()
	if p != nil {
		return nil, p
	}
	if begun := r.done(); begun != "" {
		var res export.Redelivery
		if err := json.Unmarshal([]byte(begun), &res); err != nil {
			return nil, r.storeAway(err)
		}
		return res, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	res, err := r.gateway.Runtime.Again.Redeliver(ctx, e.Tenant, e.Key, integrations, r.noteRound)
	refused := new(export.RefusedError)
	switch {
	case err == nil:
		return res, nil
	case errors.As(err, &refused):
		return nil, problem.New(http.StatusConflict, refused.Reason)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrLeaseLost):
		return nil, r.storeAway(err)
	}
	return nil, r.noTemporal(err, "this export is under way, and Temporal, which carries it, does not answer: it goes on by itself once that is back")
}

// noteRound notes a round that the request begins, as it is answered.
func (r *request) noteRound(tx *store.Tx, begun export.Redelivery) error {
	raw, err := json.Marshal(begun)
	if err != nil {
		return err
	}
	return r.note(tx, string(raw))
}

// integrations reads the body of a redelivery: {"integrations":["hris"]}, or nothing at all.
func (r *request) integrations() ([]string, *problem.Problem) {
	body, p := decodeAny[struct {
		Integrations []string `json:"integrations"`
	}](r)
	if p != nil {
		return nil, p
	}
	if body.Integrations != nil && len(body.Integrations) == 0 {
		return nil, problem.New(http.StatusBadRequest, "integrations is empty: name at least one, or leave it out for all of the tenant's")
	}
	slices.Sort(body.Integrations)
	return slices.Compact(body.Integrations), nil
}
