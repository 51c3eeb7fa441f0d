package apply_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Who applied sees with the receipt how the application stands, and nothing personal.
func TestAReceiptSaysHowASubmissionStands(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	b := r.forms()
	require.Equal(t, http.StatusOK, b.get("/"+code).Code)
	r.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	receipt := b.requireThanks(b.post("/"+code, filled(), b.resume()))
	requireSays := func(status int, title string) {
		t.Helper()
		w := b.get("/receipts/" + receipt)
		require.Equal(t, status, w.Code)
		require.Contains(t, w.Body.String(), title)
		require.NotContains(t, w.Body.String(), filled()["a.lastName"])
	}
	requireSays(http.StatusOK, "Your application was received")
	require.Contains(t, b.get("/receipts/"+receipt+"?lang=de").Body.String(), "ist angekommen")

	r.Clock.Advance(model.DefaultTryFor + time.Hour)
	require.Equal(t, model.SubmissionFailed, r.attempt(t, receipt).State)
	requireSays(http.StatusOK, "We will contact you")

	r.answer(nil)
	s := r.submissions(t)[0]
	r.Write(t, func(tx *store.Tx) error {
		_, err := tx.RedeliverSubmission(s, r.Clock.Now(), r.Clock.Now().Add(time.Hour))
		return err
	})
	requireSays(http.StatusOK, "Your application was received")
	require.Equal(t, model.SubmissionDelivered, r.attempt(t, receipt).State)
	requireSays(http.StatusOK, "Your application was passed on")
}
