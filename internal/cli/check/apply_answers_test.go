package check

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkApply runs the command on an Apply API.
func checkApply(t *testing.T, handler http.Handler, more ...string) (out string, code int) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	secret := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(secret, []byte(password), 0o600))
	return hiregate(append([]string{"apply", server.URL, "--user", userName, "--password", secret, "--job", jobCode}, more...)...)
}

// A redirect would take the password and the applications to a place that nobody named.
func TestApplyChecksFollowNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Error(r.URL.Path) }))
	t.Cleanup(elsewhere.Close)
	out, code := checkApply(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	require.Equal(t, 3, code)
	require.Contains(t, out, "there is no Apply API at this URL (307 Temporary Redirect")

	api := newApplyAPI(t)
	out, code = checkApply(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
			return
		}
		api.ServeHTTP(w, r)
	}), "--only", "C-05,C-06")
	require.Equal(t, 1, code)
	require.Contains(t, out, "answer at this URL")
}

// A question of the wrong shape is a fault of the API: to skip what needs the questions is not enough.
func TestQuestionThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	api := newApplyAPI(t)
	api.shown = func(list []map[string]any) { list[1]["id"] = 101 }
	results := applyResults(t, api, false)
	require.Equal(t, passed, results["C-05"].Verdict)
	require.Equal(t, failed, results["C-07"].Verdict)
	require.Equal(t, "question 2: id is a JSON number", results["C-07"].Got)
	require.Equal(t, skipped, results["C-11"].Verdict)
	require.Contains(t, results["C-11"].Skipped, "see C-07")
}

func TestJobWithoutQuestionsCannotBeChecked(t *testing.T) {
	t.Parallel()
	api := newApplyAPI(t)
	out, code := checkApply(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("[]"))
			return
		}
		api.ServeHTTP(w, r)
	}))
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "the job asks no questions: name one")
}

func TestApplyAPIThatLimitsIsWaitedFor(t *testing.T) {
	t.Parallel()
	out, code := checkApply(t, limited(10, "1", newApplyAPI(t)), "--only", "C-0*,C-1*,C-28")
	require.Equal(t, 0, code, out)
	require.Contains(t, out, "20 of 20 checks passed")

	out, code = checkApply(t, limited(0, "", newApplyAPI(t)))
	require.Equal(t, 3, code)
	require.Contains(t, out, "the Apply API takes no more requests (429 Too Many Requests")
}

// retyped changes the Content-Type of the answers with a status.
func retyped(status int, contentType string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorded := httptest.NewRecorder()
		next.ServeHTTP(recorded, r)
		for name, values := range recorded.Header() {
			w.Header()[name] = values
		}
		if recorded.Code == status {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(recorded.Body.Bytes())
	})
}

// Responses carry Content-Type: application/json (contract, "Endpoints", C).
func TestContentTypeOfTheApplyAPI(t *testing.T) {
	t.Parallel()
	out, code := checkApply(t, retyped(200, "text/html", newApplyAPI(t)), "--only", "C-01,C-05")
	require.Equal(t, 1, code)
	require.Contains(t, out, "0 of 2 checks passed")
	require.Contains(t, out, "Content-Type text/html")
	require.Contains(t, out, "answer 200 and application/json with an array")

	out, _ = checkApply(t, retyped(400, "application/problem+json", newApplyAPI(t)), "--only", "C-10,C-13,C-24,C-25")
	require.Contains(t, out, "1 of 4 checks passed; failed: 3 must", "C-13 is about the item, which is there")
	require.Contains(t, out, "Content-Type application/problem+json")

	out, code = checkApply(t, retyped(200, "application/json; charset=utf-8", newApplyAPI(t)), "--only", "C-01,C-05")
	require.Equal(t, 0, code, out)
}
