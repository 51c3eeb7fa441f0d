package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/relay"
	"github.com/hiregate/hiregate/internal/store"
)

// stuckAfter is for how long a submission waits before a person is told although the service accepts others.
const stuckAfter = 15 * time.Minute

type submissionCounts map[model.SubmissionState]store.SubmissionCount

// eachSubmitting finds what the submissions of tenants need, those of tenants included that are not configured any more.
func (r *Runtime) eachSubmitting(ctx context.Context,
	find func(*model.Tenant, submissionCounts) (*model.Need, error)) (needs []model.Need, err error) {
	c := r.InForce.Current()
	if c == nil {
		return nil, nil
	}
	counts, err := r.Store().CountUnsettledSubmissions(ctx)
	if err != nil {
		return nil, err
	}
	tenants := slices.Collect(c.All())
	for name := range counts {
		if _, known := c.Tenant(name); !known {
			tenants = append(tenants, &model.Tenant{Name: name})
		}
	}
	for _, t := range tenants {
		n, err := find(t, counts[t.Name])
		if err != nil {
			return nil, err
		}
		if n != nil {
			n.Tenant = t.Name
			needs = append(needs, *n)
		}
	}
	return needs, nil
}

// awayUpstreams finds services that refuse submissions, or are away.
func awayUpstreams(r *Runtime, ctx context.Context, now time.Time) ([]model.Need, error) {
	return r.eachSubmitting(ctx, func(t *model.Tenant, counts submissionCounts) (*model.Need, error) {
		waiting := counts[model.SubmissionWaiting].N
		n := &model.Need{Kind: model.NeedUpstream, Count: waiting,
			Action: "hiregate submission list --state waiting --tenant " + t.Name}
		why := "it has no apply_upstream any more; add it again"
		if _, known := r.InForce.Current().Tenant(t.Name); !known {
			why = "the tenant is not in this gateway's configuration; add it again"
		} else if t.ApplyUpstream != nil {
			u, err := r.Store().Upstream(ctx, t.Name, nil)
			if err != nil {
				return nil, err
			}
			why, n.Since = u.Fault, u.FaultSince
		}
		if waiting > 0 {
			oldest, err := r.Store().OldestSubmission(ctx, t.Name)
			switch {
			case errors.Is(err, store.ErrNotFound):
				return nil, nil
			case err != nil:
				return nil, err
			case why == "" && now.Sub(oldest.ReceivedAt) >= stuckAfter:
				why = oldest.Reason
			}
			if n.Since.IsZero() {
				n.Since = oldest.ReceivedAt
			}
			n.LostAt = oldest.TryUntil
		}
		if why == "" || waiting == 0 && t.ApplyUpstream == nil {
			return nil, nil
		}
		n.Sentence = fmt.Sprintf("%s: applications don't reach the service: %s", t.Name, why)
		if waiting > 0 {
			n.Sentence += fmt.Sprintf("; %d wait, and the first one fails at %s", waiting, n.LostAt.UTC().Format(time.RFC3339))
		}
		return n, nil
	})
}

// announced is how long before its content is erased a person is told of a submission that the service does not have.
const announced = 7 * 24 * time.Hour

// undeliveredSubmissions finds submissions that the service does not have, and won't get by themselves.
func undeliveredSubmissions(r *Runtime, ctx context.Context, now time.Time) ([]model.Need, error) {
	ending, err := r.Store().CountEnding(ctx, now.Add(announced-relay.KeptFor))
	if err != nil {
		return nil, err
	}
	return r.eachSubmitting(ctx, func(t *model.Tenant, counts submissionCounts) (*model.Need, error) {
		refused, failed := counts[model.SubmissionRefused].N, counts[model.SubmissionFailed].N
		suspected := counts[model.SubmissionSuspected].N
		all := refused + failed + suspected
		if all == 0 {
			return nil, nil
		}
		n := &model.Need{Kind: model.NeedSubmissions, Count: all,
			Sentence: fmt.Sprintf("%s: applications that are not at the service: %d (refused by it: %d, away too long: %d, perhaps sent "+
				"by a machine: %d); send them on, or enter them there by hand", t.Name, all, refused, failed, suspected),
			Action: "hiregate submission list --tenant " + t.Name}
		if soon := ending[t.Name]; soon.N > 0 {
			n.LostAt = soon.Oldest.Add(relay.KeptFor)
			n.Sentence += fmt.Sprintf("; %d of them are erased within a week, the first one at %s", soon.N,
				n.LostAt.UTC().Format(time.RFC3339))
		}
		return n, nil
	})
}
