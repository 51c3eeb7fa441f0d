package export

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

// How long a delivery waits for the documents depends on its mode; those of a triggered export are there.
func TestHowLongADeliveryWaitsForTheDocuments(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tenant := &hiring.Tenant{Name: "acme", Integrations: []hiring.Integration{
		{Name: "rehost", Documents: hiring.Rehost}, {Name: "passthrough", Documents: hiring.Passthrough}, {Name: "inline", Documents: hiring.Inline},
	}}
	received := &hiring.Export{Tenant: "acme", Origin: hiring.Received, Attachments: 1, DocumentsTill: now.Add(2 * time.Hour)}
	require.Equal(t, []Target{{"rehost", time.Minute}, {"passthrough", 0}, {"inline", 2 * time.Hour}}, targets(received, tenant, nil, now))
	require.Equal(t, []Target{{"rehost", time.Minute}, {"passthrough", 0}, {"inline", 0}}, targets(received, tenant, nil, now.Add(3*time.Hour)))
	received.Integrations = []string{"not-known-here"}
	require.Equal(t, []Target{{"not-known-here", time.Minute}}, targets(received, tenant, nil, now))

	triggered := &hiring.Export{Tenant: "acme", Origin: hiring.Triggered, Attachments: 1, DocumentsTill: now.Add(2 * time.Hour)}
	require.Equal(t, []Target{{"rehost", 0}, {"passthrough", 0}, {"inline", 0}}, targets(triggered, tenant, nil, now))
}

// What was tried once stays in its mode, whatever its integration's is by now, and waits for the documents as that does.
func TestARedeliveryWaitsAsItsModeDoes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tenant := &hiring.Tenant{Name: "acme", Integrations: []hiring.Integration{
		{Name: "crm", Documents: hiring.Inline}, {Name: "hris", Documents: hiring.Inline}, {Name: "new", Documents: hiring.Passthrough},
	}}
	e := &hiring.Export{Tenant: "acme", Origin: hiring.Received, Attachments: 1, Round: 2, DocumentsTill: now.Add(2 * time.Hour)}
	former := []*hiring.Delivery{
		{Integration: "crm", Documents: hiring.Rehost}, {Integration: "hris", Documents: hiring.Passthrough},
		{Integration: "crm", Round: 1}, {Integration: "new", Round: 1},
	}
	require.Equal(t, []Target{{"crm", time.Minute}, {"hris", 0}, {"new", 0}}, targets(e, tenant, former, now))
}
