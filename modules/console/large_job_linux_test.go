package console

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/store"
)

// largeJob puts a job into the store that asks all that one may ask.
func (b *fixture) largeJob() {
	b.t.Helper()
	options := make([]string, 500)
	for n := range options {
		options[n] = fmt.Sprintf("option %03d", n)
	}
	j := &model.Job{Row: model.Row{Tenant: "acme"}, BoardCode: "LARGE", ID: "large", Title: "Large"}
	for n := range model.MaxQuestions {
		j.Questions = append(j.Questions, model.Question{ID: fmt.Sprintf("q%03d", n), Label: "Which?",
			Format: []model.Format{model.Checkbox, model.Select}[n%2], Options: options})
	}
	b.Write(b.t, func(tx *store.Tx) error { return tx.UpsertJob(j, b.Clock.Now()) })
}

// A page shows 50 options of a question and those that are chosen, and counts the rest.
func TestThePageOfALargeJobIsSmall(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.largeJob()
	text := b.see(ops, "/jobs/acme/LARGE", http.StatusOK)
	require.Less(t, len(text), 4<<20, "it was 19.8 MB")
	require.Equal(t, model.MaxQuestions, strings.Count(text, "450 more options are not shown."))
	require.Contains(t, text, "option 049")
	require.NotContains(t, text, "option 050")
	w := b.upload(ops, "/jobs/acme/LARGE/check",
		map[string][]string{"answer.q000": {"option 000", "option 499"}, "answer.q001": {"option 498"}}, nil)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), "The Apply API would accept these answers.")
	require.Contains(t, w.Body.String(), `value="option 499" checked`)
	require.Contains(t, w.Body.String(), `value="option 498" selected`)
	require.Equal(t, 2, strings.Count(w.Body.String(), "449 more options are not shown."))
	many := strings.Split(strings.Repeat("x,", maxParts), ",")
	require.Equal(t, http.StatusRequestEntityTooLarge,
		b.upload(ops, "/jobs/acme/LARGE/check", map[string][]string{"answer.q000": many}, nil).Code)
}

// Twelve files at once are looked at without being held in memory. It is not parallel: what the process takes is measured.
func TestTwelveUploadsAtOnce(t *testing.T) {
	b := newFixture(t)
	b.patience = time.Hour // a busy machine takes longer for each of them
	b.job("acme", "NURSE-1", "Ward")
	content := append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte("x"), 14<<20)...)
	const boundary = "boundary-of-the-test"
	head := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"answer.2 Ward\"; filename=\"cv.pdf\"\r\n\r\n"
	signedIn := httptest.NewRequest(http.MethodGet, "/", nil)
	b.signedIn(signedIn, "sub-of-"+ops, session.Person{Email: ops})
	upload := func() string {
		body := io.MultiReader(strings.NewReader(head), bytes.NewReader(content),
			strings.NewReader("\r\n--"+boundary+"--\r\n"))
		return b.send("", http.MethodPost, "/jobs/acme/NURSE-1/check", nil, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(body), -1
			r.Header.Set("Cookie", signedIn.Header.Get("Cookie"))
			r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		}).Body.String()
	}
	upload() // what is made once
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	pages := make([]string, 12)
	for n := range pages {
		all.Go(func() { pages[n] = upload() })
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	for _, page := range pages {
		require.Contains(t, page, "Ward: the file must be smaller than 10 MB")
	}
	t.Logf("%d MiB were allocated", (after.TotalAlloc-before.TotalAlloc)>>20)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20), "for all of them together; it was 2 GB")
}
