package manageapi

import (
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// failureGroup is how many deliveries ended without being received, for the same reason.
type failureGroup struct {
	Tenant      string        `json:"tenant"`
	Integration string        `json:"integration"`
	Outcome     model.Outcome `json:"outcome"`         // failed or expired
	Class       model.Class   `json:"class,omitempty"` // of the last attempt; absent: none was made
	Status      int           `json:"status,omitzero"` // of the last attempt; absent: no answer came
	Count       int64         `json:"count"`
	Oldest      time.Time     `json:"oldest"` // of the exports, when it was received
	Newest      time.Time     `json:"newest"`
	Last        time.Time     `json:"last"` // when the last delivery ended
}

// showFailures answers what failed since a time, those of a day without one.
func showFailures(r *request) (any, error) {
	since, err := instant(r.query, "since")
	if err != nil {
		return nil, err
	}
	if since.IsZero() {
		since = r.now().Add(-24 * time.Hour)
	}
	groups, err := r.db.CountFailures(r.Context(), r.caller.tenant, since)
	shown := struct {
		Items []failureGroup `json:"items"`
	}{[]failureGroup{}}
	for _, f := range groups {
		shown.Items = append(shown.Items, failureGroup{f.Tenant, f.Integration, f.Outcome, f.Class, f.Status, f.Count,
			f.Oldest, f.Newest, f.Last})
	}
	return shown, err
}
