package export

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/model"
)

// A result names what was not received, and counts the rest. Temporal takes it however much it is of.
func TestResultNamesWhatWasNotReceived(t *testing.T) {
	t.Parallel()
	ended := func(tenant, key, integration string, o model.Outcome, attempts int) delivery.Member {
		return delivery.Member{Export: &model.Export{Tenant: tenant, Key: key},
			Delivery: &model.Delivery{Tenant: tenant, Integration: integration, Outcome: o, Attempts: attempts}}
	}
	all := []delivery.Member{ended("acme", "u-1", "hris", model.Delivered, 1), ended("acme", "u-2", "hris", model.Held, 0),
		ended("acme", "u-3", "hris", model.Delivered, 2), ended("globex", "u-1", "hris", model.Delivered, 1)}
	want := []DeliverResult{{Of: "acme", Integration: "hris", Class: model.ClassDelivered, Attempts: 3, Count: 2},
		{Of: "globex", Integration: "hris", Class: model.ClassDelivered, Attempts: 1, Count: 1},
		{Of: "acme/u-2", Integration: "hris", Class: model.ClassHeld}}
	res := Result{Deliveries: summarize(all)}
	require.Equal(t, want, res.Deliveries)
	require.Equal(t, "3 delivered, 1 held", res.text())
	require.Equal(t, "Temporal gave the deliveries up; they go on in other workflows", (&Result{Cut: true}).text())

	all = nil
	for n := range 200 {
		for m := range 23 {
			key := strings.Repeat("<", 250) + fmt.Sprint(n) // which takes six bytes each in JSON
			all = append(all, ended("acme", key, fmt.Sprint("system-", m), model.Held, 0))
		}
	}
	res = Result{Deliveries: summarize(all)}
	text, err := json.Marshal(res)
	require.NoError(t, err)
	require.Less(t, len(text), 2*resultBytes)
	require.Equal(t, "4600 held", res.text())
	for _, m := range all {
		require.False(t, res.Delivered(m.Export, m.Delivery))
	}
}
