package console

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// What a client is told of an attempt has nothing secret; the text of its answer is in it only for those who may read bodies.
func TestTextForTheClient(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	text := "/exports/acme/" + uuid(1) + "/attempts/hris/0/1.txt"
	require.Contains(t, b.see(ops, "/exports/acme/"+uuid(1), http.StatusOK), `action="/console`+text+`"`)
	for who, want := range map[string]int{ops: http.StatusOK, viewer: http.StatusForbidden} {
		w := b.send(who, http.MethodGet, text, nil)
		require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
		require.Contains(t, w.Body.String(), "UUID: "+uuid(1)+"\nAttempt: 1, sent ")
		require.Contains(t, w.Body.String(), "You answered after 1ms: 500 Internal Server Error")
		for _, secret := range []string{"alert(1)", "X-Key", "client=1", hidden, "192.0.2.1"} {
			require.NotContains(t, w.Body.String(), secret)
		}
		w = b.send(who, http.MethodGet, text+"?answer=yes", nil)
		require.Equal(t, want, w.Code)
		require.Equal(t, want == http.StatusOK, w.Body.String() != "" && w.Header().Get("Content-Type") == "text/plain; charset=utf-8")
	}
	b.see(ops, "/exports/acme/"+uuid(1)+"/attempts/hris/0/2.txt", http.StatusNotFound)
}
