package manageapi

import (
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// labelledTenants returns the tenants that the caller sees, by name: those that have the label that the query names, if it
// does.
func labelledTenants(r *rest.Request) ([]*model.Tenant, error) {
	all := visibleTenants(r)
	if !r.Query.Has("label") {
		return all, nil
	}
	asked, err := model.ParseLabels([]string{r.Query.Get("label")})
	if err != nil {
		return nil, problem.New(http.StatusBadRequest, err.Error())
	}
	return slices.DeleteFunc(all, func(t *model.Tenant) bool { return !t.Labels.Has(asked) }), nil
}

// namesOfLabel returns the names of labelledTenants, where the query names a label; nil: it does not.
func namesOfLabel(r *rest.Request) ([]string, error) {
	if !r.Query.Has("label") {
		return nil, nil
	}
	labelled, err := labelledTenants(r)
	names := make([]string, len(labelled))
	for n, t := range labelled {
		names[n] = t.Name
	}
	return names, err
}
