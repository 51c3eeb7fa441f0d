package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// What costs more to start is started in larger groups.
func TestFetchedExportsSpaceStartsFurther(t *testing.T) {
	t.Parallel()
	now := time.Now()
	apart := func(e *model.Export) time.Duration {
		c := new(startClock)
		for range 100 {
			c.offered(e, now)
		}
		c.started(now)
		return c.next.Sub(now) - startsApart
	}
	without := apart(&model.Export{Origin: model.Received})
	require.Positive(t, without)
	require.Equal(t, fetchedCosts*without, apart(&model.Export{Origin: model.Received, Attachments: 2}))
	require.Equal(t, without, apart(&model.Export{Origin: model.Triggered, Attachments: 2}), "their documents are here")
}
