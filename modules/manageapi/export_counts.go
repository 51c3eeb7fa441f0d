package manageapi

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// countExports answers how many exports a list of them has, and how many it would have with the frequent questions.
func countExports(r *rest.Request) (any, error) {
	f, err := exportFilterOf(r)
	if err != nil {
		return nil, err
	}
	if f.Prefix != "" {
		return nil, problem.New(http.StatusBadRequest, "exports are not counted by uuid: leave it out")
	}
	var c api.ExportCounts
	if !f.Undelivered {
		c.Delivered = new(api.Count)
	}
	for _, one := range []struct {
		to  *api.Count
		ask func(*store.ExportFilter)
	}{
		{&c.All, func(*store.ExportFilter) {}},
		{&c.Retrying, byOutcome(model.Retrying)}, {&c.Held, byOutcome(model.Held)},
		{c.Delivered, byOutcome(model.Delivered)}, {&c.Failed, byOutcome(model.Failed)},
		{&c.Expired, byOutcome(model.Expired)},
		{&c.Undelivered, func(f *store.ExportFilter) { f.Undelivered = true }},
		{&c.Quarantined, func(f *store.ExportFilter) { f.Quarantined = true }},
		{&c.LostDocuments, func(f *store.ExportFilter) { f.LostDocuments = true }},
	} {
		if one.to == nil {
			continue
		}
		asked := f
		one.ask(&asked)
		if one.to.Count, one.to.More, err = r.DB.CountExports(r.Context(), asked); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func byOutcome(o model.Outcome) func(*store.ExportFilter) {
	return func(f *store.ExportFilter) { f.Outcome = o }
}
