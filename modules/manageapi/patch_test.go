package manageapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const mergePatch = "application/merge-patch+json"

// A merge patch changes what it names and leaves the rest, the questions of a job above all.
func TestPatchLeavesTheRest(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.people()
		job := acme + "/jobs/NURSE-1"
		b.must(http.StatusOK, http.MethodPut, job, `{"id":"job-1","title":"Nurse","uri":"https://jobs.example/1",
			"questions":[{"id":"q","format":"Text","label":"Why here?"}]}`)
		changed := b.must(http.StatusOK, http.MethodPatch, job, `{"title":"Head nurse","uri":null}`, "Content-Type", mergePatch)
		require.Contains(t, changed.body, `"title":"Head nurse"`)
		require.NotContains(t, changed.body, "uri")
		require.Contains(t, changed.body, "Why here?")
		require.Equal(t, changed.body, b.must(http.StatusOK, http.MethodGet, job, "").body)
		b.must(http.StatusPreconditionFailed, http.MethodPatch, job, `{"title":"x"}`, "Content-Type", mergePatch, "If-Match", `"1-1"`)
		b.must(http.StatusOK, http.MethodPatch, job, `{"closed":true}`, "If-Match", changed.header.Get("ETag"))

		candidate := acme + "/candidates/c-1"
		patched := b.must(http.StatusOK, http.MethodPatch, candidate, `{"name":{"family":"Park"},"phone":["+49 30 1"],"version":99}`,
			"Content-Type", mergePatch)
		require.Contains(t, patched.body, `"name":{"given":"Zoë","family":"Park"}`)
		require.Contains(t, patched.body, `"version":2`)
		require.Equal(t, []string{"c-1"}, ids(b, acme+"/candidates?name=park"))
		require.Contains(t, b.must(http.StatusOK, http.MethodPatch, application, `{"languageCode":"de"}`, "Content-Type", mergePatch).body,
			`"candidate":"c-1"`)

		for body, want := range map[string]int{
			`{"nickname":"Z"}`: http.StatusBadRequest, `[]`: http.StatusBadRequest, `{"name":null`: http.StatusBadRequest,
			`{"name":"Z"}`: http.StatusBadRequest, `{"gender":"a","gender":"b"}`: http.StatusBadRequest,
			`{"id":"c-2"}`: http.StatusUnprocessableEntity, `{"applyDate":"soon"}`: http.StatusUnprocessableEntity,
		} {
			b.must(want, http.MethodPatch, candidate, body, "Content-Type", mergePatch)
		}
		require.Equal(t, patched.body, b.must(http.StatusOK, http.MethodGet, candidate, "").body)
		b.must(http.StatusNotFound, http.MethodPatch, acme+"/candidates/c-9", `{}`, "Content-Type", mergePatch)
		b.must(http.StatusUnsupportedMediaType, http.MethodPatch, candidate, `{}`, "Content-Type", "text/plain")
	})
}
