package gateway

import (
	"context"
	"slices"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// caused are the kinds of needs of integrations that have a cause.
var caused = []model.NeedKind{model.NeedFailing, model.NeedRefusing, model.NeedNotConfigured, model.NeedDisabled}

// Causes returns why integrations take nothing, of those with such a need. What their answers repeat of credentials and
// signatures is left out.
func (r *Runtime) Causes(ctx context.Context, needs map[*Standing]*model.Need) (map[*Standing]*model.NeedCause, error) {
	var answered []model.Place
	for s, need := range needs {
		if need.Kind == model.NeedFailing || need.Kind == model.NeedRefusing {
			answered = append(answered, model.Place{Tenant: s.Integration.Tenant, Integration: s.Integration.Name})
		}
	}
	failures, err := r.Store().ListLastFailures(ctx, answered)
	if err != nil {
		return nil, err
	}
	hash, err := r.Store().KeyedHash(ctx, "cause")
	if err != nil {
		return nil, err
	}
	causes := map[*Standing]*model.NeedCause{}
	for s, need := range needs {
		if !slices.Contains(caused, need.Kind) {
			continue
		}
		i, reason := s.Integration, s.Status.Reason
		switch need.Kind {
		case model.NeedFailing:
			reason = s.Health.Reason
		case model.NeedRefusing:
			reason = s.Reason(r.now())
		}
		answer := failures[model.Place{Tenant: i.Tenant, Integration: i.Name}].Answer
		answer = webhook.BlankSignatures(webhook.CredentialsOf(i).BlankOlder(answer))
		if causes[s], err = model.NewNeedCause(need.Kind, reason, answer, hash); err != nil {
			return nil, err
		}
	}
	return causes, nil
}
