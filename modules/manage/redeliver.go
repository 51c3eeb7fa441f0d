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
func (r *request) redeliver() (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	integrations, err := r.integrations()
	if err != nil {
		return nil, err
	}
	e, err := r.export()
	if err != nil {
		return nil, err
	}
	if begun := r.done(); begun != "" {
		var res export.Redelivery
		if err := json.Unmarshal([]byte(begun), &res); err != nil {
			return nil, err
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
		return nil, err
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
func (r *request) integrations() ([]string, error) {
	body, err := decodeAny[struct {
		Integrations []string `json:"integrations"`
	}](r)
	if err != nil {
		return nil, err
	}
	if body.Integrations != nil && len(body.Integrations) == 0 {
		return nil, problem.New(http.StatusBadRequest, "integrations is empty: name at least one, or leave it out for all of the tenant's")
	}
	slices.Sort(body.Integrations)
	return slices.Compact(body.Integrations), nil
}
