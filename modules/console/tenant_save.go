package console

import (
	"net/http"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// saveZone sets the zone in which a tenant's days begin.
func saveZone(v *visitor) error {
	return v.changeTenant("zone", func(t *api.TenantInput) { t.Zone = strings.TrimSpace(v.PostFormValue("zone")) })
}

// saveLabels sets the labels of a tenant, which are written as region=north between blanks.
func saveLabels(v *visitor) error {
	if v.person.Tenant != "" { // people have roles by them
		return errNotAllowed
	}
	labels, err := model.ParseLabels(strings.Fields(v.PostFormValue("labels")))
	if err != nil {
		return &failure{status: http.StatusUnprocessableEntity, Text: "LabelsWrong", Detail: err.Error()}
	}
	return v.changeTenant("labels", func(t *api.TenantInput) { t.Labels = labels })
}

// changeTenant changes something of a tenant, and leaves the rest.
func (v *visitor) changeTenant(done string, change func(*api.TenantInput)) error {
	path := at("tenants", v.PathValue("tenant"))
	var t api.Tenant
	if err := v.get(path, nil, &t); err != nil {
		return err
	}
	v.version = v.etag
	in := api.TenantInput{Name: t.Name, Invalid: t.Invalid, Deviations: t.Deviations, Rate: t.Rate, Zone: t.Zone, Labels: t.Labels}
	change(&in)
	if err := v.call(http.MethodPut, path, nil, in, nil); err != nil {
		return err
	}
	return v.toTenant(done)
}

// Labels returns labels as they are written, by name.
func (view) Labels(of map[string]string) []string { return model.Labels(of).Words() }
