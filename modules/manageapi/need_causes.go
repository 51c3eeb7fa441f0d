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
	var acknowledged []model.Need
	for n, s := range all {
		cause, need := causes[s], integrations[n].Need
		if cause == nil {
			continue
		}
		if !r.Caller.Signatures { // nor may they see a body, whose data the answer may repeat
			cause.FirstLine = ""
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

// groupNeeds makes one of the needs that have the same cause. The ones with the most exports come first.
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
			groups = append(groups, need)
			continue
		}
		g := &groups[n]
		g.Count += need.Count
		if g.Since.IsZero() || !need.Since.IsZero() && need.Since.Before(g.Since) {
			g.Since = need.Since
		}
		if g.LostAt.IsZero() || !need.LostAt.IsZero() && need.LostAt.Before(g.LostAt) {
			g.LostAt = need.LostAt
		}
		if len(g.Cause.Integrations) < model.MostOfCause {
			g.Cause.Integrations = append(g.Cause.Integrations, need.Tenant+"/"+need.Integration)
		} else {
			g.Cause.More++
		}
	}
	slices.SortStableFunc(groups, func(a, b model.Need) int { return cmp.Compare(b.Count, a.Count) })
	return groups
}
