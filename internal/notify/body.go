package notify

import (
	"encoding/json"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// body is the body of a notification: names from the configuration, fixed words, counts and times.
type body struct {
	Type      model.Event `json:"type"`
	Timestamp time.Time   `json:"timestamp"` // when it was told
	Data      data        `json:"data"`
}

// data has the details of an event; each event sets some of them.
type data struct {
	Tenant      string      `json:"tenant"`
	Integration string      `json:"integration,omitzero"`
	Since       time.Time   `json:"since,omitzero"`    // when it began, or the first of those that are counted
	Failures    int64       `json:"failures,omitzero"` // in a row
	Class       model.Class `json:"class,omitzero"`    // who has to look at the last failure
	By          string      `json:"by,omitzero"`       // who disabled it: operator, or partner
	Count       int64       `json:"count,omitzero"`    // of deliveries, exports, documents or refused attempts
	Attempts    int64       `json:"attempts,omitzero"` // of which Count were refused
	Status      int         `json:"status,omitzero"`   // that the last one was answered with
}

func bodyOf(event model.Event, now time.Time, d data) ([]byte, error) {
	d.Since = seconds(d.Since)
	return json.Marshal(body{Type: event, Timestamp: seconds(now), Data: d})
}

func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
