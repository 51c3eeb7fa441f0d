package apply_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Where it is our fault, the answer is a 500 whose X-Request-Id finds the cause in the log, and nothing is kept.
func TestOurFault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const message = "this could not be done, and that is our fault: tell us the header X-Request-Id of this answer"
	logged := func(id string) bool {
		for _, entry := range b.Logged.All() {
			if entry.ContextMap()["request"] == id {
				return true
			}
		}
		return false
	}
	answers, err := json.Marshal(fine(t))
	require.NoError(t, err)
	// the resume is on disk when the body ends
	body := `{"jobBoardCode":"NURSE-1","source":"","answers":` + string(answers) + `}`
	w := b.askReading(&swept{Reader: strings.NewReader(body), b: b}, b.bearer(partner)...)
	b.requireError(w, http.StatusInternalServerError, message, "null")
	require.True(t, logged(w.Header().Get("X-Request-Id")))
	require.Empty(t, b.applications("acme"))
	require.Empty(t, b.files())

	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertAPIUser(&model.APIUser{Tenant: "acme", ID: "u-9", Name: "broken@example.com", Password: "no hash",
			CreatedAt: b.Clock.Now()})
	})
	w = b.authenticate("broken@example.com", right)
	b.requireError(w, http.StatusInternalServerError, message, "")
	require.True(t, logged(w.Header().Get("X-Request-Id")))
}

// swept has the sweep remove the files that were begun when the body has been read to its end, as it does with those
// that took too long.
type swept struct {
	io.Reader
	b *fixture
}

func (s *swept) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		require.NoError(s.b.t, s.b.Runtime.Archive.Sweep(s.b.t.Context(), time.Now().Add(time.Hour)))
	}
	return n, err
}

// The counters are the process's, and this test is alone with them: those that run in parallel wait until it has ended.
func TestMetrics(t *testing.T) {
	b := setup(t)
	registry := prometheus.NewRegistry()
	require.NoError(t, metrics.Register(registry))
	me := b.bearer(partner)
	before := samples(t, registry)
	grown := func(name string) float64 { return samples(t, registry)[name] - before[name] }

	b.bearer(partner)
	b.authenticate(partner, "wrong")
	for range 100 {
		b.authenticate("nobody@example.com", "wrong", "From", "203.0.113.7")
	}
	require.EqualValues(t, 1, grown("hiregate_apply_tokens_total issued"))
	require.EqualValues(t, 101, grown("hiregate_apply_tokens_total wrong")+grown("hiregate_apply_tokens_total throttled"))
	require.NotZero(t, grown("hiregate_apply_tokens_total throttled"))

	taken := application(t, code, fine(t))
	wrong := application(t, code, with(fine(t), "phone", "1", "nobody asked", "x"))
	keyed := append(me, "Idempotency-Key", "k-1")
	b.requireTaken(b.apply(taken, keyed...))
	b.requireTaken(b.apply(taken, keyed...))
	require.Equal(t, http.StatusBadRequest, b.apply(wrong, me...).Code)
	require.Equal(t, http.StatusBadRequest, b.apply(`{`, me...).Code)
	for _, result := range []string{"accepted", "repeated", "invalid", "refused"} {
		require.EqualValues(t, 1, grown("hiregate_applications_total "+result+" acme"), result)
	}
	require.EqualValues(t, 1, grown("hiregate_application_invalid_answers_total Phone"))
	require.EqualValues(t, 1, grown("hiregate_application_invalid_answers_total unknown"))
	require.EqualValues(t, 2*len(taken)+len(wrong)+len("{"), grown("hiregate_application_body_bytes_total"))
}

// samples are the counters, each by its name and the values of its labels, which come in the order of their names.
func samples(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			all[name] = m.GetCounter().GetValue()
		}
	}
	return all
}
