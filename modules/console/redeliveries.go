package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// redelivery is the redelivery of a range, as the management API has it.
type redelivery struct {
	ID          string    `json:"id"`
	Tenant      string    `json:"tenant"`
	Integration string    `json:"integration"`
	Mode        string    `json:"mode"`
	Since       time.Time `json:"since"`
	Until       time.Time `json:"until"`
	Rate        int       `json:"rate"`
	State       string    `json:"state"`
	Reason      string    `json:"reason"`
	Total       int64     `json:"total"`
	Done        int64     `json:"done"`
	Failed      int64     `json:"failed"`
	Waiting     int64     `json:"waiting"`
	Skipped     int64     `json:"skipped"`
	CreatedAt   time.Time `json:"createdAt"`
	EndedAt     time.Time `json:"endedAt"`
}

// preview is what a redelivery would do.
type preview struct {
	Count    int64     `json:"count"`
	Oldest   time.Time `json:"oldest"`
	Newest   time.Time `json:"newest"`
	Expired  int64     `json:"expiredDocuments"`
	Received int64     `json:"received"`
	LeftOut  []struct {
		Why   string `json:"why"`
		Count int64  `json:"count"`
	} `json:"leftOut"`
	Rate    int `json:"rate"`
	Samples []struct {
		UUID       string    `json:"uuid"`
		ReceivedAt time.Time `json:"receivedAt"`
		Outcome    string    `json:"outcome"`
		Reason     string    `json:"reason"`
	} `json:"samples"`
}

// modes are which exports of a range are redelivered.
var modes = []string{"failed", "missing", "all"}

// faults are the classes that a redelivery can be narrowed to.
var faults = []string{"partner_fault", "data_fault", "our_fault"}

// listRedeliveries shows the redeliveries, and the form for another one. The form asks for a preview; only what was
// previewed can be started.
func listRedeliveries(v *visitor) error {
	shown := struct {
		listOf[redelivery]
		Query   map[string]string
		Modes   []string
		Classes []string
		Preview *preview
		More    string
	}{Query: map[string]string{}, Modes: modes, Classes: faults}
	asked := v.URL.Query()
	for _, name := range []string{"tenant", "integration", "mode", "since", "until", "class", "status", "rate"} {
		shown.Query[name] = asked.Get(name)
	}
	if shown.Query["tenant"] == "" {
		shown.Query["tenant"] = v.person.Tenant
	}
	var err error
	if shown.More, err = pageOf(v, "/v1/redeliveries", url.Values{}, &shown.listOf); err != nil {
		return err
	}
	if asked.Get("preview") != "" {
		body, err := rangeOf(asked)
		if err != nil {
			return err
		}
		body["dryRun"] = true
		shown.Preview = new(preview)
		if err := v.post(at("tenants", shown.Query["tenant"], "redeliveries"), body, shown.Preview); err != nil {
			return err
		}
	}
	return v.page(http.StatusOK, "redeliveries", "Redeliveries", &shown)
}

// fieldTime is the form of a time in a field of type datetime-local. It has no zone: it is UTC.
const fieldTime = "2006-01-02T15:04"

// rangeOf makes the body of a redelivery from the values of the form. Times without a zone are UTC.
func rangeOf(form url.Values) (map[string]any, error) {
	body := map[string]any{"integration": form.Get("integration"), "mode": form.Get("mode")}
	for _, name := range []string{"since", "until"} {
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
		body[name] = moment.UTC()
	}
	if class := form.Get("class"); class != "" {
		body["class"] = class
	}
	for name, wrong := range map[string]string{"rate": "WrongRate", "status": "WrongStatus"} {
		if text := form.Get(name); text != "" {
			number, err := strconv.Atoi(text)
			if err != nil {
				return nil, &failure{status: http.StatusBadRequest, Text: wrong}
			}
			body[name] = number
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
	var made redelivery
	if err := v.post(at("tenants", of, "redeliveries"), body, &made); err != nil {
		return err
	}
	return v.redirect(pathOf("redeliveries", of, made.ID))
}

// showRedelivery shows how far a redelivery is.
func showRedelivery(v *visitor) error {
	var shown redelivery
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

// Ended reports whether nothing more will come of it.
func (r *redelivery) Ended() bool { return !r.EndedAt.IsZero() }

// Progress is how many exports it came to.
func (r *redelivery) Progress() int64 { return r.Done + r.Failed + r.Waiting + r.Skipped }
