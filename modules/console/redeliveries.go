package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// listRedeliveries shows the redeliveries, and the form for another one. The form asks for a preview; only what was
// previewed can be started.
func listRedeliveries(v *visitor) error {
	shown := struct {
		api.List[api.Redelivery]
		Query   map[string]string
		Modes   []model.RedeliveryMode
		Classes []model.Class
		Preview *api.RedeliveryPreview
		More    string
	}{Query: map[string]string{}, Modes: model.RedeliveryModes, Classes: model.Faults}
	asked := v.URL.Query()
	for _, name := range []string{"tenant", "integration", "mode", "since", "until", "class", "status", "rate"} {
		shown.Query[name] = asked.Get(name)
	}
	if shown.Query["tenant"] == "" {
		shown.Query["tenant"] = v.person.Tenant
	}
	var err error
	if shown.More, err = pageOf(v, "/v1/redeliveries", url.Values{}, &shown.List); err != nil {
		return err
	}
	if asked.Get("preview") != "" {
		body, err := rangeOf(asked)
		if err != nil {
			return err
		}
		body.DryRun = true
		shown.Preview = new(api.RedeliveryPreview)
		if err := v.post(at("tenants", shown.Query["tenant"], "redeliveries"), body, shown.Preview); err != nil {
			return err
		}
	}
	return v.page(http.StatusOK, "redeliveries", "Redeliveries", &shown)
}

// fieldTime is the format of a time in a field of type datetime-local. It has no zone: it is UTC.
const fieldTime = "2006-01-02T15:04"

// rangeOf makes the body of a redelivery from the values of the form. Times without a zone are UTC.
func rangeOf(form url.Values) (*api.RedeliveryInput, error) {
	body := &api.RedeliveryInput{Integration: form.Get("integration"), Mode: model.RedeliveryMode(form.Get("mode")),
		Class: model.Class(form.Get("class"))}
	for name, field := range map[string]*time.Time{"since": &body.Since, "until": &body.Until} {
		text := form.Get(name)
		if text == "" {
			continue
		}
		moment, err := time.Parse(fieldTime, text)
		if err != nil {
			if moment, err = time.Parse(time.RFC3339, text); err != nil {
				return nil, &failure{status: http.StatusBadRequest, Text: "WrongTime"}
			}
		}
		*field = moment.UTC()
	}
	for _, number := range []struct {
		name, wrong string
		field       *int
	}{{"rate", "WrongRate", &body.Rate}, {"status", "WrongStatus", &body.Status}} {
		if text := form.Get(number.name); text != "" {
			var err error
			if *number.field, err = strconv.Atoi(text); err != nil {
				return nil, &failure{status: http.StatusBadRequest, Text: number.wrong}
			}
		}
	}
	return body, nil
}

// startRedelivery starts what was previewed.
func startRedelivery(v *visitor) error {
	body, err := rangeOf(v.PostForm)
	if err != nil {
		return err
	}
	of := cmp.Or(v.PostFormValue("tenant"), v.person.Tenant)
	var made api.Redelivery
	if err := v.post(at("tenants", of, "redeliveries"), body, &made); err != nil {
		return err
	}
	return v.redirect(pathOf("redeliveries", of, made.ID))
}

// showRedelivery shows how far a redelivery is.
func showRedelivery(v *visitor) error {
	var shown api.Redelivery
	path := at("tenants", v.PathValue("tenant"), "redeliveries", v.PathValue("id"))
	if err := v.get(path, nil, &shown); err != nil {
		return err
	}
	return v.page(http.StatusOK, "redelivery", "Redelivery", &shown)
}

// actOnRedelivery pauses, resumes or cancels a redelivery.
func actOnRedelivery(v *visitor) error {
	action, of, id := v.PathValue("action"), v.PathValue("tenant"), v.PathValue("id")
	if !slices.Contains([]string{"pause", "resume", "cancel"}, action) {
		return errNotFound
	}
	if err := v.post(at("tenants", of, "redeliveries", id, action), nil, nil); err != nil {
		return err
	}
	return v.redirect(pathOf("redeliveries", of, id))
}
