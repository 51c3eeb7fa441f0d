package export

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// How long a delivery waits for the documents depends on its mode; those of a triggered export are there.
func TestHowLongADeliveryWaitsForTheDocuments(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tenant := &model.Tenant{Name: "acme", Integrations: []model.Integration{
		{Name: "rehost", Options: model.Options{Documents: model.Rehost}}, {Name: "passthrough", Options: model.Options{Documents: model.Passthrough}}, {Name: "inline", Options: model.Options{Documents: model.Inline}},
	}}
	waits := func(e *model.Export, now time.Time) (each []time.Duration) {
		for _, name := range e.Integrations {
			each = append(each, documentsWait(e, tenant, name, "", now))
		}
		require.Equal(t, slices.Min(each), FirstWait(e, tenant, nil, now), "the first one that may go does not wait for the others")
		return each
	}
	received := &model.Export{Tenant: "acme", Origin: model.Received, Attachments: 1, DocumentsTill: now.Add(2 * time.Hour),
		Integrations: []string{"rehost", "passthrough", "inline"}}
	require.Equal(t, []time.Duration{time.Minute, 0, 2 * time.Hour}, waits(received, now))
	require.Equal(t, []time.Duration{time.Minute, 0, 0}, waits(received, now.Add(3*time.Hour)))
	received.Integrations = []string{"inline", "not-known-here"}
	require.Equal(t, []time.Duration{2 * time.Hour, time.Minute}, waits(received, now))

	triggered := &model.Export{Tenant: "acme", Origin: model.Triggered, Attachments: 1, DocumentsTill: now.Add(2 * time.Hour),
		Integrations: []string{"rehost", "passthrough", "inline"}}
	require.Equal(t, []time.Duration{0, 0, 0}, waits(triggered, now))
}

// What was tried once stays in its mode, whatever its integration's is by now, and waits for the documents as that does.
func TestARedeliveryWaitsAsItsModeDoes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tenant := &model.Tenant{Name: "acme", Integrations: []model.Integration{
		{Name: "crm", Options: model.Options{Documents: model.Inline}}, {Name: "hris", Options: model.Options{Documents: model.Inline}}, {Name: "new", Options: model.Options{Documents: model.Passthrough}},
	}}
	e := &model.Export{Tenant: "acme", Origin: model.Received, Attachments: 1, Round: 2, DocumentsTill: now.Add(2 * time.Hour)}
	former := []*model.Delivery{
		{Integration: "crm", Documents: model.Rehost}, {Integration: "hris", Documents: model.Passthrough},
		{Integration: "crm", Round: 1}, {Integration: "new", Round: 1},
	}
	for name, want := range map[string]time.Duration{"crm": time.Minute, "hris": 0, "new": 0} {
		e.Integrations = []string{name}
		require.Equal(t, want, FirstWait(e, tenant, former, now), name)
	}
}
