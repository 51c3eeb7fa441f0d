package console

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// exportCandidate exports a candidate, and leads to what came of the first attempts: the management API waits for them.
func exportCandidate(v *visitor) error {
	of, id := v.PathValue("tenant"), v.PathValue("id")
	body := api.ExportInput{Integration: v.PostFormValue("integration"), JobApplication: v.PostFormValue("jobApplication")}
	var made api.Exported
	if err := v.post(at("tenants", of, "candidates", id, "exports"), body, &made); err != nil {
		return v.refused(err, new(candidatePage))
	}
	return v.redirect(profile(of, id) + "?" + url.Values{"exported": {made.UUID}}.Encode())
}

// enterStep moves a job application into a step. Where that has a helper, it leads to what came of the export.
func enterStep(v *visitor) error {
	of, id := v.PathValue("tenant"), v.PathValue("id")
	path, _, err := v.applicationOfPath()
	if err != nil {
		return err
	}
	var made api.Transition
	if err := v.post(path+"/transitions", api.TransitionInput{Step: v.PostFormValue("step")}, &made); err != nil {
		return v.refused(err, new(candidatePage))
	}
	query := url.Values{"done": {"step"}}
	if made.Export != "" {
		query.Set("exported", made.Export)
	}
	return v.redirect(profile(of, id) + "?" + query.Encode())
}

// endApplication ends a job application, and reopenApplication opens it again.
func endApplication(v *visitor) error {
	return v.changeApplication("end", api.EndInput{As: model.Ending(v.PostFormValue("as")),
		Reason: v.PostFormValue("reason")}, "end-application")
}

func reopenApplication(v *visitor) error {
	return v.changeApplication("reopen", nil, "reopen-application")
}

// chooseVersion has exports have the files of a version of a job application.
func chooseVersion(v *visitor) error { return v.changeApplication("choose", nil, "choose") }

func (v *visitor) changeApplication(verb string, body any, done string) error {
	path, a, err := v.applicationOfPath()
	if err != nil {
		return err
	}
	if err := v.post(path+"/"+verb, body, nil); err != nil {
		return v.refused(err, new(candidatePage))
	}
	return v.redirect(profile(a.Tenant, a.Candidate) + "?done=" + done)
}

// eraseExports erases what the exports of a candidate hold, and ends what is still to come of them.
func eraseExports(v *visitor) error {
	of, id := v.PathValue("tenant"), v.PathValue("id")
	if v.PostFormValue("sure") != "yes" {
		return &failure{status: http.StatusBadRequest, Text: "NotSure"}
	}
	if err := v.get(at("tenants", of, "candidates", id), nil, nil); err != nil {
		return err
	}
	body := api.EraseCandidateInput{Candidate: id, EraseInput: api.EraseInput{Cancel: true}}
	if err := v.post(at("tenants", of, "erasures"), body, nil); err != nil {
		return err
	}
	return v.redirect(profile(of, id) + "?done=erase-exports")
}

// applicationOfPath returns the job application that the path names, and its own path in the management API.
func (v *visitor) applicationOfPath() (path string, a model.JobApplication, err error) {
	path = at("tenants", v.PathValue("tenant"), "job-applications", v.PathValue("application"))
	if err = v.get(path, nil, &a); err == nil && a.Candidate != v.PathValue("id") {
		err = errNotFound
	}
	return path, a, err
}

// saveStartDate sets the day on which the candidate begins; no day: none is known, and no export has one.
func saveStartDate(v *visitor) error {
	path, a, err := v.applicationOfPath()
	if err != nil {
		return err
	}
	start := model.StartDate{ID: rand.Text()}
	if a.StartDate != nil {
		start.ID = a.StartDate.ID
	}
	a.StartDate = nil
	if start.Date = v.PostFormValue("date"); start.Date != "" {
		a.StartDate = &start
	}
	v.version = v.etag
	if err := v.call(http.MethodPut, path, nil, &a, nil); err != nil {
		return v.refused(err, new(candidatePage))
	}
	done := "start-date"
	if a.StartDate == nil {
		done = "no-start-date"
	}
	return v.redirect(profile(a.Tenant, a.Candidate) + "?done=" + done)
}

// saveKeep notes through which day of the tenant's zone the applicant agreed to be kept; no day: they did not.
func saveKeep(v *visitor) error {
	path, a, err := v.applicationOfPath()
	if err != nil {
		return err
	}
	v.version = v.etag
	done, day := "no-keep", v.PostFormValue("date")
	a.KeepUntil = time.Time{}
	if day != "" {
		zone, err := v.zoneOf(a.Tenant)
		if err != nil {
			return err
		}
		through, err := time.ParseInLocation(time.DateOnly, day, zone)
		if err != nil {
			return errUnreadable
		}
		done, a.KeepUntil = "keep", through.AddDate(0, 0, 1).UTC()
	}
	if err := v.call(http.MethodPut, path, nil, &a, nil); err != nil {
		return v.refused(err, new(candidatePage))
	}
	return v.redirect(profile(a.Tenant, a.Candidate) + "?done=" + done)
}

// saveFields replaces the custom fields of a candidate by those of the form.
func saveFields(v *visitor) error {
	fields, err := fieldsOf(v.PostForm)
	if err != nil {
		return err
	}
	path := at("tenants", v.PathValue("tenant"), "candidates", v.PathValue("id"))
	var c model.Candidate
	if err := v.get(path, nil, &c); err != nil {
		return err
	}
	c.CustomFields = fields
	if err := v.call(http.MethodPut, path, nil, &c, nil); err != nil {
		return v.refused(err, &candidatePage{Typed: fields, Tag: v.version})
	}
	return v.redirect(profile(c.Tenant, c.ID) + "?done=fields")
}

// fieldsOf reads the rows of the form; those without an id get one.
func fieldsOf(form url.Values) ([]model.CustomField, error) {
	fields := []model.CustomField{}
	for n, id := range form["field"] {
		if n >= min(len(form["name"]), len(form["type"]), len(form["value"])) {
			return nil, errUnreadable
		}
		f := model.CustomField{ID: id, Name: form["name"][n], Type: form["type"][n], Value: form["value"][n]}
		if f != (model.CustomField{}) {
			f.ID = cmp.Or(f.ID, rand.Text())
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// refused shows why the management API refused something, on the page where it was asked for.
func (v *visitor) refused(err error, shown *candidatePage) error {
	f := new(failure)
	if !errors.As(err, &f) || f.Detail == "" {
		return err
	}
	shown.Refused = f.Detail
	return v.showCandidate(f.status, shown)
}
