package export_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// What comes for an integration that an operator disabled is held, with what to do about it, whatever its setting is
// by then.
func TestDisabledByAnOperatorHolds(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(b.Integration(), store.IntegrationStatus{State: model.Disabled,
			Reason: "an operator disabled it, because: they move", ByOperator: true, UpdatedAt: b.Clock()})
	}))
	b.Integration().Secret = "another" // after a reload
	e := b.Accept("u-1")
	_, _, class := b.DeliverOnce(e)
	require.Equal(t, string(model.ClassHeld), class)
	require.Equal(t, "integration hris is disabled: an operator disabled it, because: they move; "+
		"hiregate integration enable acme/hris delivers what is held, and hiregate audit list says who disabled it "+
		"and when",
		b.Delivery(e).Reason)
	require.Zero(t, b.Asked.Load())
}
