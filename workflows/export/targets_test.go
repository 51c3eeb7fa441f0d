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
	require.Equal(t, []Target{{"rehost", time.Minute}, {"passthrough", 0}, {"inline", 2 * time.Hour}}, targets(received, tenant, now))
	require.Equal(t, []Target{{"rehost", time.Minute}, {"passthrough", 0}, {"inline", 0}}, targets(received, tenant, now.Add(3*time.Hour)))
	received.Integrations = []string{"not-known-here"}
	require.Equal(t, []Target{{"not-known-here", time.Minute}}, targets(received, tenant, now))

	triggered := &hiring.Export{Tenant: "acme", Origin: hiring.Triggered, Attachments: 1, DocumentsTill: now.Add(2 * time.Hour)}
	require.Equal(t, []Target{{"rehost", 0}, {"passthrough", 0}, {"inline", 0}}, targets(triggered, tenant, now))
}
