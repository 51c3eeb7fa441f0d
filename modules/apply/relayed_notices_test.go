package apply_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The text before the questions of a compliance group is the service's, as text, where it has one: otherwise ours. It stays
// while the service is away.
func TestTextsOfTheServicesComplianceGroups(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	api := http.StripPrefix("/apply", r.service.API)
	var says atomic.Value
	var asked atomic.Int64
	says.Store("")
	r.answer(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case !strings.HasPrefix(q.URL.Path, "/apply/compliance/"):
			api.ServeHTTP(w, q)
			return
		case q.Header.Get("Authorization") != "":
			w.WriteHeader(http.StatusForbidden)
			return
		}
		asked.Add(1)
		switch said := says.Load().(string); said {
		case "":
			w.WriteHeader(http.StatusNotFound)
		case "away":
			w.WriteHeader(http.StatusBadGateway)
		default:
			io.WriteString(w, said)
		}
	})
	b := r.forms()
	const ours = "Voluntary Self-Identification of Disability"
	page := func() string {
		t.Helper()
		w := b.get("/" + code)
		require.Equal(t, http.StatusOK, w.Code)
		return w.Body.String()
	}
	require.Contains(t, page(), ours, "it has none")
	require.Contains(t, page(), ours)
	require.EqualValues(t, 1, asked.Load(), "for an hour")
	notice := func(group, text string) string {
		return fmt.Sprintf(`{"group":%q,"title":"Their title","form":"Form 7","text":["%s"," "]}`, group, text)
	}
	becomes := func(said, shown string) {
		t.Helper()
		says.Store(said)
		r.Clock.Advance(time.Hour)
		before := asked.Load()
		page()
		require.Eventually(t, func() bool { return asked.Load() > before && strings.Contains(page(), shown) }, 20*time.Second, 10*time.Millisecond)
	}
	right := notice("complianceOfccp", "Their <b>text</b>")
	for _, wrong := range []string{notice("complianceEeo", "of another group"), notice("complianceOfccp", strings.Repeat("x", 70_000)),
		notice("complianceOfccp", ""), "<html>"} {
		becomes(right, "<p>Their &lt;b&gt;text&lt;/b&gt;</p>")
		require.NotContains(t, page(), ours)
		becomes(wrong, ours)
	}
	becomes(right, "Form 7")
	becomes("away", "Their title")
}
