package manageapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// Entries can be found by whatever action a route writes.
func TestActionsOfRoutesAreKnown(t *testing.T) {
	t.Parallel()
	for _, r := range routes() {
		if r.Action != "" {
			require.Contains(t, model.AuditActions, r.Action, r.Path)
		}
	}
}
