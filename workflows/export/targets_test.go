package export

import (
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
		{Name: "rehost", Documents: model.Rehost}, {Name: "passthrough", Documents: model.Passthrough}, {Name: "inline", Documents: model.Inline},
	}}
	received := &model.Export{Tenant: "acme", Origin: model.Received, Attachments: 1, DocumentsTill: now.Add(2 * time.Hour)}
	require.Equal(t, []Target{{"rehost", time.Minute}, {"passthrough", 0}, {"inline", 2 * time.Hour}}, targets(received, tenant, nil, now))
	require.Equal(t, []Target{{"rehost", time.Minute}, {"passthrough", 0}, {"inline", 0}}, targets(received, tenant, nil, now.Add(3*time.Hour)))
	received.Integrations = []string{"not-known-here"}
	require.Equal(t, []Target{{"not-known-here", time.Minute}}, targets(received, tenant, nil, now))

	triggered := &model.Export{Tenant: "acme", Origin: model.Triggered, Attachments: 1, DocumentsTill: now.Add(2 * time.Hour)}
	require.Equal(t, []Target{{"rehost", 0}, {"passthrough", 0}, {"inline", 0}}, targets(triggered, tenant, nil, now))
}

// What was tried once stays in its mode, whatever its integration's is by now, and waits for the documents as that does.
func TestARedeliveryWaitsAsItsModeDoes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tenant := &model.Tenant{Name: "acme", Integrations: []model.Integration{
		{Name: "crm", Documents: model.Inline}, {Name: "hris", Documents: model.Inline}, {Name: "new", Documents: model.Passthrough},
	}}
	e := &model.Export{Tenant: "acme", Origin: model.Received, Attachments: 1, Round: 2, DocumentsTill: now.Add(2 * time.Hour)}
	former := []*model.Delivery{
		{Integration: "crm", Documents: model.Rehost}, {Integration: "hris", Documents: model.Passthrough},
		{Integration: "crm", Round: 1}, {Integration: "new", Round: 1},
	}
	require.Equal(t, []Target{{"crm", time.Minute}, {"hris", 0}, {"new", 0}}, targets(e, tenant, former, now))
}
