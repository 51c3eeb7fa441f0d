package apply_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// The contract shows the token after the word Bearer as well as after Token: a service may take one of them alone, from
// each request, and gives no token for each.
func TestAServiceMayTakeItsTokenAfterOneWordAlone(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"Bearer", "Token"} {
		r := setupRelaying(t)
		signedIn, refused := 0, 0
		r.answer(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set(contentType, asJSON)
			switch {
			case strings.HasSuffix(q.URL.Path, "/authentication"):
				signedIn++
				io.WriteString(w, `{"token":"t"}`)
			case q.Header.Get("Authorization") != word+" t":
				refused++
				w.WriteHeader(http.StatusUnauthorized)
			case strings.HasSuffix(q.URL.Path, "/application"):
				w.WriteHeader(http.StatusNoContent)
			default:
				io.WriteString(w, `[{"id":"email","format":"Text","label":"E-mail"}]`)
			}
		})
		me := r.bearer(partner)
		for n := range 3 {
			r.requireTaken(r.apply(application(t, code, []answered{{"email", fmt.Sprintf("a%d@example.com", n)}}), me...))
		}
		for _, s := range r.submissions(t) {
			require.Equal(t, model.SubmissionDelivered, s.State, "%s: %s", word, s.Reason)
		}
		require.Equal(t, 1, signedIn)
		require.LessOrEqual(t, refused, 1, "the word is known by then")
	}
}
