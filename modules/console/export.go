package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
)

// exportPage is an export with all that is known of its way.
type exportPage struct {
	export
	Structure structure
	Shown     *shownBody // its body; nil: nobody asked for it
}

// structure is what a body is made of, without anything that it says.
type structure struct {
	Parts []struct {
		Path   string `json:"path"`
		Type   string `json:"type"`
		Length int    `json:"length"`
	} `json:"parts"`
	More bool `json:"more"`
}

// shownBody is what an export came with.
type shownBody struct {
	Link          string `json:"link"`
	ExportContext string `json:"exportContext"`
	Body          string `json:"body"`
}

func showExport(v *visitor) error { return v.exportPage(nil) }

// showBody shows an export with its body. Nothing leads on to that page: each look at a body is a POST in the audit.
func showBody(v *visitor) error {
	var body shownBody
	path := at("tenants", v.PathValue("tenant"), "exports", v.PathValue("uuid"), "body")
	if err := v.post(path, nil, &body); err != nil {
		return err
	}
	var indented bytes.Buffer
	if json.Indent(&indented, []byte(body.Body), "", "  ") == nil {
		body.Body = indented.String()
	}
	return v.exportPage(&body)
}

func (v *visitor) exportPage(body *shownBody) error {
	shown := exportPage{Shown: body}
	path := at("tenants", v.PathValue("tenant"), "exports", v.PathValue("uuid"))
	if err := v.get(path, nil, &shown.export); err != nil {
		return err
	}
	if v.portal {
		shown.withoutAddresses()
	}
	if shown.ErasedAt.IsZero() {
		err := v.get(path+"/structure", nil, &shown.Structure)
		if f := new(failure); err != nil && !(errors.As(err, &f) && f.status == http.StatusGone) { // erased meanwhile
			return err
		}
	}
	return v.page(http.StatusOK, "export", "Export", &shown)
}

// APIPath is the path of the export in the management API.
func (e *export) APIPath() string { return at("tenants", e.Tenant, "exports", e.ID) }

// actOnExport redelivers, releases or erases an export.
func actOnExport(action string) handler {
	return func(v *visitor) error {
		var body any
		if to := v.PostFormValue("integration"); action == "redeliver" && to != "" {
			body = map[string][]string{"integrations": {to}}
		}
		if action == "erase" {
			if v.PostFormValue("sure") != "yes" {
				return &failure{status: http.StatusBadRequest, Text: "NotSure"}
			}
			body = map[string]bool{"cancel": true}
		}
		tenant, uuid := v.PathValue("tenant"), v.PathValue("uuid")
		if err := v.post(at("tenants", tenant, "exports", uuid, action), body, nil); err != nil {
			return err
		}
		return v.redirect(pathOf("exports", tenant, uuid) + "?done=" + action)
	}
}
