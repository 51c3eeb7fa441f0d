package export

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
)

// Result is the result of a workflow of exports.
type Result struct {
	Deliveries []DeliverResult `json:"deliveries,omitempty"`
	Cut        bool            `json:"cut,omitempty"` // Temporal gave them up: nothing is known here, and they were handed back
	Documents  FetchResult     `json:"documents"`
}

// DeliverResult is the result of a delivery that was not received, or of several alike of a tenant: of those that were
// received, and of those for which a result has no room.
type DeliverResult struct {
	Export      int64       `json:"export,omitempty"` // in the result of an earlier version, which has each delivery
	Of          string      `json:"of,omitempty"`     // tenant/uuid; the tenant, if it is of several
	Integration string      `json:"integration"`
	Class       model.Class `json:"class"`
	Attempts    int         `json:"attempts"`
	Count       int         `json:"count,omitempty"` // how many deliveries it is of; 0: it is of one
}

// FetchResult counts documents by their final state.
type FetchResult struct {
	Fetched int `json:"fetched"`
	GivenUp int `json:"givenUp"`
}

// resultBytes is how much the deliveries that a result names may take: Temporal warns of more than 512 KiB, and takes no
// more than 2 MiB.
const resultBytes = 256 << 10

// summarize returns the results of deliveries that are final or parked. The same deliveries have the same results.
func summarize(ended []delivery.Member) []DeliverResult {
	var named, counted []DeliverResult
	at := map[DeliverResult]int{} // in counted, by what is alike
	bytes := 0
	for _, m := range ended {
		d := m.Delivery
		res := DeliverResult{Of: m.Export.Tenant + "/" + m.Export.Key, Integration: d.Integration, Class: d.Class(), Attempts: d.Attempts}
		if res.Class != model.ClassDelivered && bytes < resultBytes {
			text, _ := json.Marshal(res) // of strings and numbers: it can't fail
			bytes += len(text)
			named = append(named, res)
			continue
		}
		alike := DeliverResult{Of: m.Export.Tenant, Integration: d.Integration, Class: res.Class}
		n, ok := at[alike]
		if !ok {
			n = len(counted)
			at[alike] = n
			counted = append(counted, alike)
		}
		counted[n].Count++
		counted[n].Attempts += d.Attempts
	}
	return append(counted, named...)
}

// Delivered reports whether the result says that a delivery was delivered.
func (r *Result) Delivered(e *model.Export, d *model.Delivery) bool {
	delivered := false
	for _, result := range r.Deliveries {
		switch {
		case result.Integration != d.Integration:
		case result.Export == e.ID && result.Export != 0:
			return result.Class == model.ClassDelivered
		case result.Of == e.Tenant+"/"+e.Key:
			return false
		case result.Of != e.Tenant || result.Count == 0:
		case result.Class != model.ClassDelivered: // it may be among them
			return false
		default:
			delivered = true
		}
	}
	return delivered
}

// worstFirst are the classes by how soon a person has to look at them; one that is missing comes before all.
var worstFirst = []model.Class{model.ClassOurFault, model.ClassDataFault, model.ClassPartnerFault, model.ClassExpired,
	model.ClassHeld, model.ClassDelivered, model.ClassRetrying}

// worst returns the class that a person has to look at first.
func (r *Result) worst() model.Class {
	if r.Cut {
		return model.ClassOurFault
	}
	worst := model.ClassDelivered
	for _, d := range r.Deliveries {
		if slices.Index(worstFirst, d.Class) < slices.Index(worstFirst, worst) {
			worst = d.Class
		}
	}
	return worst
}

// text says in fixed words and counters what became of the deliveries, for Temporal's UI.
func (r *Result) text() string {
	if r.Cut {
		return "Temporal gave the deliveries up; they go on in other workflows"
	}
	counts := map[model.Class]int{}
	for _, d := range r.Deliveries {
		counts[d.Class] += max(d.Count, 1)
	}
	var parts []string
	for _, class := range slices.Backward(worstFirst) {
		if counts[class] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[class], class))
		}
	}
	return strings.Join(parts, ", ")
}
