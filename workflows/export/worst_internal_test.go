package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// Each class has its place, and one that has none is not taken for a delivery that was received.
func TestWorstClass(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, model.Classes, worstFirst)
	result := func(classes ...model.Class) *Result {
		r := new(Result)
		for _, class := range classes {
			r.Deliveries = append(r.Deliveries, DeliverResult{Class: class})
		}
		return r
	}
	require.Equal(t, model.ClassDelivered, result().worst())
	require.Equal(t, model.ClassHeld, result(model.ClassDelivered, model.ClassHeld, model.ClassDelivered).worst())
	require.Equal(t, model.ClassDataFault, result(model.ClassPartnerFault, model.ClassDataFault, model.ClassHeld).worst())
	require.EqualValues(t, "new", result(model.ClassOurFault, "new").worst())
}
