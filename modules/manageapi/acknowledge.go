package manageapi

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var noCause = problem.New(http.StatusNotFound, "no integration has this cause any more: GET /v1/status?grouped=true has those there are")

// withCause returns the integrations of the cause that the path names, of those that the caller sees.
func withCause(r *rest.Request) (some []*gateway.Standing, err error) {
	all, err := standingsOf(r, visibleTenants(r))
	if err != nil {
		return nil, err
	}
	needs := map[*gateway.Standing]*model.Need{}
	for _, s := range all {
		if need := s.Need(r.Now()); need != nil {
			needs[s] = need
		}
	}
	causes, err := r.Gateway.Runtime.Causes(r.Context(), needs)
	for _, s := range all {
		if c := causes[s]; c != nil && c.ID == r.PathValue("cause") {
			some = append(some, s)
		}
	}
	if err == nil && len(some) == 0 {
		err = noCause
	}
	return some, err
}

// acknowledge notes that the caller knows of a cause: until a time nobody who sees the same tenants has it counted.
func acknowledge(r *rest.Request) (any, error) {
	in, err := rest.DecodeAny[api.AcknowledgeInput](r)
	if err != nil {
		return nil, err
	}
	now, note := r.Now(), strings.TrimSpace(in.Note)
	switch {
	case utf8.RuneCountInString(note) > longestReason || strings.ContainsFunc(note, unicode.IsControl):
		return nil, problem.Newf(http.StatusUnprocessableEntity, "note: write one line of at most %d characters", longestReason)
	case !in.Until.After(now) || in.Until.Sub(now) > model.MaxAcknowledged:
		return nil, problem.New(http.StatusUnprocessableEntity, "until: give a time within the next 30 days")
	}
	if _, err := withCause(r); err != nil {
		return nil, err
	}
	a := &model.Acknowledgement{Cause: r.PathValue("cause"), Author: r.Caller.Author(), Note: note, At: now, Until: in.Until}
	return a, r.Update(func(tx *store.Tx) error { return tx.UpsertAcknowledgement(r.Caller.Tenant, a) })
}

// unacknowledge has a cause counted again.
func unacknowledge(r *rest.Request) (any, error) {
	return nil, r.Update(func(tx *store.Tx) error {
		found, err := tx.DeleteAcknowledgement(r.Caller.Tenant, r.PathValue("cause"))
		if err == nil && !found {
			err = problem.New(http.StatusNotFound, "this cause is not acknowledged by those who see the same tenants")
		}
		return err
	})
}

// retryCause has what waits at each integration of a cause attempted: the oldest first, and once that is received the rest. It
// reaches what was counted at a time, and no more.
func retryCause(r *rest.Request) (any, error) {
	in, err := rest.DecodeAny[api.CauseRetryInput](r)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	if in.Until.IsZero() || in.Until.After(now) {
		in.Until = now
	}
	some, err := withCause(r)
	if err != nil {
		return nil, err
	}
	begun := &api.CauseRetry{}
	var takers []*model.Integration
	for _, s := range some {
		switch {
		case s.Since().After(in.Until):
		case s.Status.Deliverable(s.Integration):
			takers = append(takers, s.Integration)
		default:
			begun.Refused++
		}
	}
	begun.Begun = len(takers)
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	return begun, r.Gateway.Runtime.Releaser.RetryAll(r.Context(), takers, in.Until, func(tx *store.Tx, i *model.Integration) error {
		return tx.InsertAudit(model.AuditEntry{At: now, Author: r.Caller.Author(), Action: "retry", Tenant: i.Tenant,
			Object: "integrations/" + i.Name})
	})
}
