package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/hiregate/hiregate/internal/hiring"
)

// stepList is the workflow of a tenant, and the integrations that helpers can export to.
type stepList struct {
	listOf[hiring.Step]
	Tenant       string
	Integrations []health
}

// Helps reports whether the helper of a step names an integration.
func (*stepList) Helps(s hiring.Step, integration string) bool {
	return s.Helper != nil && slices.Contains(s.Helper.Integrations, integration)
}

// listSteps shows the steps of a tenant's workflow with their helpers.
func listSteps(v *visitor) error {
	shown := stepList{Tenant: v.PathValue("tenant")}
	err := v.get(at("tenants", shown.Tenant, "steps"), nil, &shown.listOf)
	if err == nil {
		shown.Integrations, err = v.integrationsOf(shown.Tenant)
	}
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "steps", "Steps", &shown)
}

// setHelper attaches a helper to a step, or changes it. Without any integration it exports to all that are configured.
func setHelper(v *visitor) error {
	names := v.PostForm["integration"]
	if names == nil {
		names = []string{}
	}
	return v.changeHelper(http.MethodPut, map[string][]string{"integrations": names}, "helper")
}

// removeHelper detaches the helper of a step.
func removeHelper(v *visitor) error { return v.changeHelper(http.MethodDelete, nil, "no-helper") }

func (v *visitor) changeHelper(method string, body any, done string) error {
	of := v.PathValue("tenant")
	if err := v.call(method, at("tenants", of, "steps", v.PathValue("step"), "helper"), nil, body, nil); err != nil {
		return err
	}
	return v.redirect("/steps/" + url.PathEscape(of) + "?done=" + done)
}
