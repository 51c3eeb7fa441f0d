//go:build unix

package apply_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/fulldisktest"
	"github.com/hiregate/hiregate/internal/model"
)

// Room on the disk ends and comes back. What was not taken leaves neither a row nor a file, and is taken when it is
// sent again.
func TestFullDisk(t *testing.T) { fulldisktest.Run(t, fillDisk) }

func fillDisk(t *testing.T, room func(bytes uint64)) {
	b := setup(t)
	me := b.bearer(partner)
	before := b.requireTaken(b.apply(application(t, code, fine(t)), me...))
	kept := b.files()
	b.job("acme", &model.Job{BoardCode: "PLAIN", ID: "job-9", Title: "No file",
		Questions: slices.DeleteFunc(sampleQuestions(t), func(q model.Question) bool { return q.Format == model.File })})

	const away, noRoom = "the service can't use its database now: send the same again in a moment",
		"the service has no room for documents now, and nothing was kept: send the same again later"
	withFile := application(t, code, with(fine(t), "email", "grace@example.com"))
	plain := application(t, "PLAIN", slices.DeleteFunc(with(fine(t), "email", "joan@example.com", "resume", without),
		func(a answered) bool {
			return strings.HasPrefix(a.QuestionID, "eeoc")
		}))
	keyed := func(body string) []string {
		return append(slices.Clone(me), "Idempotency-Key", fmt.Sprint("k-", len(body)))
	}
	room(1024)
	for range 3 {
		for _, body := range []string{withFile, plain} {
			for _, headers := range [][]string{me, keyed(body)} {
				w := b.apply(body, headers...)
				b.requireError(w, http.StatusServiceUnavailable, away, "null")
				require.Equal(t, "5", w.Header().Get("Retry-After"))
			}
		}
		require.Equal(t, http.StatusServiceUnavailable, b.authenticate(partner, right).Code, "a token that can't be kept")
	}
	room(5 << 20) // enough for the database, and not for this file
	large := base64.StdEncoding.EncodeToString(append(sample(t, "resume.pdf"), make([]byte, 8<<20)...))
	w := b.apply(application(t, code, with(fine(t), "email", "alan@example.com", "resume", large)), me...)
	b.requireError(w, http.StatusServiceUnavailable, noRoom, "null")
	require.Equal(t, "60", w.Header().Get("Retry-After"))
	room(fulldisktest.Whole)

	require.Len(t, b.applications("acme"), 1, "something was half taken")
	require.Equal(t, kept, b.files(), "a file was left")
	for _, body := range []string{withFile, plain} {
		id := b.requireTaken(b.apply(body, keyed(body)...))
		require.NotEqual(t, before, id)
		require.Equal(t, id, b.requireTaken(b.apply(body, keyed(body)...)))
	}
	require.Len(t, b.applications("acme"), 3)
	b.token(partner)
}
