package export_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/workflows/exporttest"
)

// An activity that Temporal runs again while an attempt of its last run is under way waits for that to end.
func TestRunWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	arrived, answer := make(chan struct{}), make(chan struct{})
	b.Answer = func(*http.Request) int {
		arrived <- struct{}{}
		<-answer
		return http.StatusOK
	}
	e, ended := b.Accept("u-1"), make(chan struct{})
	go func() {
		defer close(ended)
		b.DeliverOnce(e)
	}()
	<-arrived
	_, wait, why := b.DeliverAll(exporttest.Part(e))
	require.Equal(t, "under_way", why.Type())
	require.InDelta(t, 5*time.Second, wait, float64(time.Second))
	close(answer)
	<-ended
	res, _, _ := b.DeliverOnce(e)
	require.Equal(t, 1, res.Attempts)
	require.EqualValues(t, 1, b.Asked.Load())
}
