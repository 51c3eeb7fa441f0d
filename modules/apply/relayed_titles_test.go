package apply_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// A form of a relayed tenant has the title that the service's feed says, and submissions keep it. While the feed is away,
// what it said last stays; before that, the job's code stands there.
func TestTitlesOfTheServicesFeed(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	api := http.StripPrefix("/apply", r.service.API)
	var away atomic.Bool
	var reads atomic.Int64
	away.Store(true)
	r.answer(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, "/apply/feed/") {
			reads.Add(1)
			if away.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		api.ServeHTTP(w, q)
	})
	r.upstream(t, func(u *model.ApplyUpstream) { u.Feed = u.URL + "/feed/jobs.json?tenant=acme" })
	b := r.forms()
	requireTitle := func(title string) {
		t.Helper()
		w := b.get("/" + code)
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Body.String(), "<h1>"+title+"</h1>")
	}
	requireTitle(code)
	requireTitle(code)
	require.EqualValues(t, 1, reads.Load(), "a feed that is away is left alone for a minute")

	away.Store(false)
	r.Clock.Advance(time.Minute)
	requireTitle("Nurse")
	b.requireThanks(b.post("/"+code, filled(), b.resume()))
	require.Equal(t, "Nurse", r.submissions(t)[0].Title)
	require.EqualValues(t, 2, reads.Load(), "it is read at most every five minutes")

	r.service.job("acme", &model.Job{BoardCode: code, ID: "job-1", Title: "Night nurse", Questions: sampleQuestions(t), Syndicate: true})
	r.Clock.Advance(5 * time.Minute)
	require.Equal(t, http.StatusOK, b.get("/"+code).Code)
	require.Eventually(t, func() bool {
		return strings.Contains(b.get("/"+code).Body.String(), "<h1>Night nurse</h1>")
	}, 20*time.Second, 10*time.Millisecond)
	away.Store(true)
	r.Clock.Advance(5 * time.Minute)
	requireTitle("Night nurse")
	require.Equal(t, "Nurse", r.submissions(t)[0].Title, "as it was when the application came")

	r.upstream(t, func(u *model.ApplyUpstream) { u.Feed += "&other" })
	requireTitle(code)
}
