package manageapi

import (
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// showCauses answers why attempts at an integration were not received since a time; without it, in the last 24 hours.
func showCauses(r *rest.Request) (any, error) {
	i, err := findIntegration(r)
	if err != nil {
		return nil, err
	}
	since, err := r.Since(24 * time.Hour)
	if err != nil {
		return nil, err
	}
	causes, more, err := r.DB.ListCauses(r.Context(), model.Place{Tenant: i.Tenant, Integration: i.Name}, since)
	shown := api.Causes{Items: []api.Cause{}, More: more}
	answers := answersOf(r, i.Tenant, i.Name)
	for _, c := range causes {
		one := attemptOf(c.Sample, answers)
		shown.Items = append(shown.Items, api.Cause{Status: c.Status, Class: one.Class, Reason: c.Error, Why: model.ParseReason(c.Error),
			Attempts: c.Attempts, Exports: c.Exports, First: c.First, Last: c.Last,
			Sample: api.CauseSample{UUID: c.SampleKey, Answer: answers.toExport(c.Sample.Answer, shortAnswer)}})
	}
	return shown, err
}
