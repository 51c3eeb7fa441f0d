package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// keyForm is the form for another API key of a client.
type keyForm struct {
	Label, Role, Expires string
	Key                  string   // that was just made; empty: none was
	Wrong                *failure // why none was made
}

// Duties are the roles that a key can have.
func (keyForm) Duties() []model.Role {
	return append(model.Roles[:len(model.Roles):len(model.Roles)], model.Compliance)
}

// addKey makes an API key that opens the tenant alone, and shows it once.
func addKey(v *visitor) error {
	form := keyForm{Label: strings.TrimSpace(v.PostForm.Get("label")), Role: v.PostForm.Get("role"), Expires: v.PostForm.Get("expires")}
	in := api.APIKeyInput{Label: form.Label, Tenant: v.PathValue("tenant"), Role: model.Role(form.Role)}
	if form.Expires != "" {
		var err error
		if in.ExpiresAt, err = time.Parse(fieldTime, form.Expires); err != nil {
			form.Wrong = &failure{status: http.StatusUnprocessableEntity, Text: "KeyEndWrong"}
			return v.tenantPage(form.Wrong.status, tenantPage{NewKey: form})
		}
	}
	var made api.APIKey
	wrong, err := refusal(v.post("/v1/api-keys", in, &made))
	switch {
	case err != nil:
		return err
	case wrong != nil:
		form.Wrong = wrong
		return v.tenantPage(wrong.status, tenantPage{NewKey: form})
	}
	return v.tenantPage(http.StatusOK, tenantPage{NewKey: keyForm{Key: made.Key}})
}

// revokeKey revokes an API key that opens the tenant alone.
func revokeKey(v *visitor) error {
	var key api.APIKey
	path := at("api-keys", v.PathValue("id"))
	switch err := v.get(path, nil, &key); {
	case err != nil:
		return err
	case key.Tenant != v.PathValue("tenant"):
		return errNotFound
	}
	if err := v.call(http.MethodDelete, path, nil, nil, nil); err != nil {
		return err
	}
	return v.toTenant("key-revoked")
}
