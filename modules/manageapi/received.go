package manageapi

import (
	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
	"github.com/hiregate/hiregate/schemas"
)

func countReceived(r *rest.Request) (any, error) {
	shown := api.ReceivedCounts{Results: map[string]int64{}, Remarks: []api.Remark{}}
	received, err := r.DB.ListRemarks(r.Context(), model.RequestReceived, r.Tenant.Name, r.Now())
	if err != nil {
		return nil, err
	}
	for _, m := range received {
		shown.Results[m.Name] = m.Count
		if shown.Since.IsZero() || m.First.Before(shown.Since) {
			shown.Since = m.First
		}
	}
	for _, kind := range []model.RemarkKind{model.ExportRefused, model.DeviationAccepted} {
		all, err := r.DB.ListRemarks(r.Context(), kind, r.Tenant.Name, r.Now())
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			shown.Remarks = append(shown.Remarks, remarkOf(m))
		}
	}
	verified, err := r.DB.ListRemarks(r.Context(), model.VerifyAnswered, r.Tenant.Name, r.Now())
	for _, m := range verified {
		shown.Verified = &api.Verified{Count: m.Count, Since: m.First, Last: m.Last}
	}
	return shown, err
}

func remarkOf(m model.Remark) api.Remark {
	shown := api.Remark{Tenant: m.Tenant, Kind: m.Kind, Name: m.Name, Note: m.Rule, Count: m.Count, Since: m.First,
		Last: m.Last, Pointer: m.Pointer}
	if m.Kind == model.DeviationAccepted {
		shown.Note = schemas.Deviations()[m.Name].Note
	}
	return shown
}
