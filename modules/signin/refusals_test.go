package signin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/metrics/metricstest"
	"github.com/hiregate/hiregate/internal/store"
)

// Who runs an application that nobody can sign in to finds out why, and strangers can't fill the database.
func TestRefusedAuthorizationsLeaveAnEntry(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableClient("other", b.Now()); return err })
	refuse := func(more params) {
		requirePage(t, b.browser().authorize(base().with(more)), http.StatusBadRequest)
	}
	counted := func() float64 {
		return metricstest.Counter(t, "hiregate_signin_refused_total", "redirect_uri_differs")
	}
	before := counted()
	for range 3 {
		refuse(params{"redirect_uri": callback + "/?state=ada@example.com", "login_hint": "ada@example.com"})
	}
	require.GreaterOrEqual(t, counted(), before+3)
	refuse(params{"client_id": "nobody"})
	refuse(params{"client_id": "Ada Lovelace <ada@example.com>" + strings.Repeat("x", 200)})
	refuse(params{"client_id": "other"})
	refuse(params{"redirect_uri": ""})
	for n := range 200 {
		refuse(params{"client_id": fmt.Sprint("guess-", n)})
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		all, err := b.Runtime.Store().ListRefusals(t.Context(), "")
		require.NoError(c, err)
		seen := map[string]int64{}
		for _, r := range all {
			seen[fmt.Sprint(r.Client, " ", r.Known, " ", r.Reason, " ", r.RedirectURI)] = r.Count
			assert.NotContains(c, fmt.Sprint(r), "ada")
		}
		assert.LessOrEqual(c, len(all), 64)
		for entry, count := range map[string]int64{
			"app true redirect_uri_differs " + callback + "/?...": 3, "app true redirect_uri_missing_or_repeated ": 1,
			"other true disabled_client " + callback: 1,
		} {
			assert.Equal(c, count, seen[entry], entry)
		}
	}, 30*time.Second, 50*time.Millisecond)
}
