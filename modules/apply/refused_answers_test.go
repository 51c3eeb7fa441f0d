package apply_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// requireSameCheck has the management API check answers: it must find what the Apply API refuses, and store nothing.
func (b *fixture) requireSameCheck(board string, answers []answered, items []any) {
	b.t.Helper()
	before := len(b.files())
	raw, err := json.Marshal(map[string]any{"answers": answers})
	require.NoError(b.t, err)
	r := httptest.NewRequest(http.MethodPost, "/v1/tenants/acme/jobs/"+board+"/questions/check",
		strings.NewReader(string(raw)))
	r.Header.Set(contentType, asJSON)
	w := httptest.NewRecorder()
	manageapi.New(func() *gateway.Gateway { return b.Fixture.Gateway }, b.Fixture.Log).ServeHTTP(w, r)
	require.Equal(b.t, http.StatusOK, w.Code, w.Body)
	want, err := json.Marshal(map[string]any{"errors": items})
	require.NoError(b.t, err)
	require.JSONEq(b.t, string(want), w.Body.String())
	require.Len(b.t, b.files(), before)
}

// Refused answers are counted by question and format, and nothing of them is kept: neither the id of a question that
// the job does not ask.
func TestRefusedAnswersAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	b.job("acme", &model.Job{BoardCode: "EVERY", ID: "job-7", Questions: everyFormat()})
	for range 3 {
		w := b.apply(application(t, "EVERY", []answered{{"2", "Ada"}, {"4", "Lovelace"}, {"ada@example.com", "x"}}), me...)
		require.Equal(t, http.StatusBadRequest, w.Code)
	}
	require.Equal(t, http.StatusBadRequest, b.apply(application(t, "EVERY", []answered{{"2", "no day"}}), me...).Code)
	b.requireTaken(b.apply(application(t, "EVERY", []answered{{"2", "2026-11-24"}}), me...))
	hour := b.Clock.Now().Truncate(time.Hour)
	require.Eventually(t, func() bool {
		all, err := b.Runtime.Store().ListRefusedAnswers(t.Context(), "acme", "EVERY", time.Unix(0, 0))
		require.NoError(t, err)
		return slices.Equal(all, []store.RefusedAnswers{{Question: "2", Format: model.Date, Count: 4, LastHour: hour},
			{Count: 3, LastHour: hour}, {Question: "4", Format: model.Number, Count: 3, LastHour: hour}})
	}, time.Minute, 10*time.Millisecond)
}
