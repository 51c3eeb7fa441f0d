package manageapi

import (
	"cmp"
	"slices"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// addCauses gives the needs of integrations their causes. Those of causes that are acknowledged are no needs any more: it
// moves them to what is acknowledged. Where nothing is, and nobody asks for causes, it looks for none.
func addCauses(r *rest.Request, shown *api.GatewayStatus, grouped bool, all []*gateway.Standing,
	integrations []api.StatusIntegration) error {
	known, err := r.DB.ListAcknowledgements(r.Context(), r.Caller.Tenant, r.Now())
	if err != nil || len(known) == 0 && !grouped {
		return err
	}
	needs := map[*gateway.Standing]*model.Need{}
	for n, s := range all {
		if integrations[n].Need != nil {
			needs[s] = integrations[n].Need
		}
	}
	causes, err := r.Gateway.Runtime.Causes(r.Context(), needs)
	if err != nil {
		return err
	}
	tries, err := r.DB.ListAskedCatchUps(r.Context())
	if err != nil {
		return err
	}
	var acknowledged []model.Need
	for n, s := range all {
		cause, need := causes[s], integrations[n].Need
		if cause == nil {
			continue
		}
		if !r.Caller.Answers {
			cause.FirstLine = ""
		}
		if c := tries[model.Place{Tenant: need.Tenant, Integration: need.Integration}]; c != nil && !c.BeganAt.Before(need.Since) {
			cause.LastTry = lastTryOf(c)
		}
		if cause.Acknowledged = known[cause.ID]; cause.Acknowledged != nil {
			need.Cause, integrations[n].Need = cause, nil
			acknowledged = append(acknowledged, *need)
		} else if grouped {
			need.Cause = cause
		}
	}
	shown.Acknowledged, _ = window(groupNeeds(acknowledged), 0, maxStatus)
	return nil
}

func lastTryOf(c *model.CatchUp) *model.CauseTry {
	t := &model.CauseTry{At: c.BeganAt, Received: c.Received, Failed: c.Failed, Reason: c.Reason}
	if c.EndedAt.IsZero() {
		t.Running = 1
	} else {
		t.Ended = 1
	}
	return t
}

// groupNeeds makes one of the needs that have the same cause. The one comes first whose first export is given up the soonest,
// and of those that have no end the one with the most exports.
func groupNeeds(needs []model.Need) []model.Need {
	var groups []model.Need
	at := map[string]int{}
	for _, need := range needs {
		if need.Cause == nil {
			groups = append(groups, need)
			continue
		}
		n, found := at[need.Cause.ID]
		if !found {
			cause := *need.Cause
			at[cause.ID], need.Cause = len(groups), &cause
			cause.Integrations = []string{need.Tenant + "/" + need.Integration}
			if cause.LastTry != nil {
				own := *cause.LastTry
				cause.LastTry = &own
			}
			groups = append(groups, need)
			continue
		}
		g := &groups[n]
		g.Count += need.Count
		if g.Since.IsZero() || !need.Since.IsZero() && need.Since.Before(g.Since) {
			g.Since = need.Since
		}
		g.LostAt = sooner(g.LostAt, need.LostAt)
		if t := need.Cause.LastTry; t != nil && g.Cause.LastTry != nil {
			g.Cause.LastTry.Add(t)
		} else if t != nil {
			own := *t
			g.Cause.LastTry = &own
		}
		if len(g.Cause.Integrations) < model.MostOfCause {
			g.Cause.Integrations = append(g.Cause.Integrations, need.Tenant+"/"+need.Integration)
		} else {
			g.Cause.More++
		}
	}
	slices.SortStableFunc(groups, func(a, b model.Need) int {
		if a.LostAt.IsZero() != b.LostAt.IsZero() {
			return a.LostAt.Compare(b.LostAt) * -1
		}
		return cmp.Or(a.LostAt.Compare(b.LostAt), cmp.Compare(b.Count, a.Count))
	})
	return groups
}
