package console

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// stepList is the template data of the workflow of a tenant.
type stepList struct {
	api.List[model.Step]
	Tenant       string
	Tag          string // of all steps together
	Integrations []api.IntegrationHealth
}

// Helps reports whether the helper of a step names an integration.
func (*stepList) Helps(s model.Step, integration string) bool {
	return s.Names(integration)
}

// Gone lists the integrations that the helper of a step names and the tenant has no more. They are in the form as well:
// without them, saving it would make a helper that exports to all.
func (l *stepList) Gone(s model.Step) []string {
	if s.Helper == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Helper.Integrations), func(name string) bool {
		return slices.ContainsFunc(l.Integrations, func(i api.IntegrationHealth) bool { return i.Name == name })
	})
}

// Helped reports whether removing a step, by its place, changes what helpers export: it has one, or the next one has, which
// job applications then begin in.
func (l *stepList) Helped(n int) bool {
	return l.Items[n].Helper != nil || n == 0 && len(l.Items) > 1 && l.Items[1].Helper != nil
}

// listSteps shows the steps of a tenant's workflow with their helpers.
func listSteps(v *visitor) error {
	shown := stepList{Tenant: v.PathValue("tenant")}
	var err error
	if shown.Items, err = v.steps(); err != nil {
		return err
	}
	shown.Tag = v.etag
	if shown.Integrations, err = v.integrationsOf(shown.Tenant); err != nil {
		return err
	}
	return v.page(http.StatusOK, "steps", "Steps", &shown)
}

// steps returns all steps of the tenant that the path names.
func (v *visitor) steps() ([]model.Step, error) { return v.stepsOf(v.PathValue("tenant")) }

func (v *visitor) stepsOf(tenant string) ([]model.Step, error) {
	var all api.List[model.Step]
	err := v.get(at("tenants", tenant, "steps"), nil, &all)
	return all.Items, err
}

// putSteps replaces all steps.
func (v *visitor) putSteps(all []model.Step, done string) error {
	of := v.PathValue("tenant")
	err := v.call(http.MethodPut, at("tenants", of, "steps"), nil, api.StepsInput{Items: all}, nil)
	if err != nil {
		return err
	}
	return v.redirect(pathOf("steps", of) + "?done=" + done)
}

// addStep adds a step at the end of the workflow.
func addStep(v *visitor) error {
	all, err := v.steps()
	if err != nil {
		return err
	}
	id := v.PostFormValue("step")
	if stepAt(all, id) >= 0 {
		return &failure{status: http.StatusConflict, Text: "StepExists"}
	}
	return v.putSteps(append(all, model.Step{ID: id, Name: v.PostFormValue("name"),
		Category: v.PostFormValue("category")}), "step-added")
}

// changeStep gives a step another name, category or place in the workflow. It keeps its helper.
func changeStep(v *visitor) error {
	all, n, err := v.stepOfPath()
	if err != nil {
		return err
	}
	place, err := strconv.Atoi(v.PostFormValue("place"))
	if err != nil {
		return &failure{status: http.StatusBadRequest, Text: "WrongPlace"}
	}
	s := all[n]
	s.Name, s.Category = v.PostFormValue("name"), v.PostFormValue("category")
	all = slices.Delete(all, n, n+1)
	return v.putSteps(slices.Insert(all, min(max(place-1, 0), len(all)), s), "step-saved")
}

// removeStep removes a step with its helper. Job applications that ended in it keep its name as their status.
func removeStep(v *visitor) error {
	all, n, err := v.stepOfPath()
	if err != nil {
		return err
	}
	return v.putSteps(slices.Delete(all, n, n+1), "step-removed")
}

// stepOfPath returns all steps, and where the one is that the path names.
func (v *visitor) stepOfPath() (all []model.Step, n int, err error) {
	if all, err = v.steps(); err != nil {
		return nil, 0, err
	}
	if n = stepAt(all, v.PathValue("step")); n < 0 {
		return nil, 0, errNotFound
	}
	return all, n, nil
}

// stepAt returns where a step is; -1: it is not among them.
func stepAt(all []model.Step, id string) int {
	return slices.IndexFunc(all, func(s model.Step) bool { return s.ID == id })
}

// setHelper attaches a helper to a step, or changes it. Without any integration it exports to all.
func setHelper(v *visitor) error {
	names := v.PostForm["integration"]
	if names == nil {
		names = []string{}
	}
	return v.changeHelper(http.MethodPut, model.Helper{Integrations: names}, "helper")
}

// removeHelper detaches the helper of a step.
func removeHelper(v *visitor) error { return v.changeHelper(http.MethodDelete, nil, "no-helper") }

func (v *visitor) changeHelper(method string, body any, done string) error {
	of := v.PathValue("tenant")
	if err := v.call(method, at("tenants", of, "steps", v.PathValue("step"), "helper"), nil, body, nil); err != nil {
		return err
	}
	return v.redirect(pathOf("steps", of) + "?done=" + done)
}
