package export_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An activity that Temporal runs again while an attempt of its last run is under way waits for that to end.
func TestRunWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	arrived, answer := make(chan struct{}), make(chan struct{})
	b.answer = func(*http.Request) int {
		arrived <- struct{}{}
		<-answer
		return http.StatusOK
	}
	e, ended := b.accept("u-1"), make(chan struct{})
	go func() {
		defer close(ended)
		b.deliver(e)
	}()
	<-arrived
	_, wait, why := b.deliverAll(part(e))
	require.Equal(t, "under_way", why.Type())
	require.InDelta(t, 5*time.Second, wait, float64(time.Second))
	close(answer)
	<-ended
	res, _, _ := b.deliver(e)
	require.Equal(t, 1, res.Attempts)
	require.EqualValues(t, 1, b.asked.Load())
}
