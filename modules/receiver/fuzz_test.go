package receiver_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzReceiver: whatever comes, the receiver never panics, never answers 5xx, never 2xx without a valid signature, and
// takes what it acknowledged to be there.
func FuzzReceiver(f *testing.F) {
	f.Add("POST", "/hooks/acme", "", "CANDIDATE-EXPORT", "u-1", "", "https://a", "job", "", minimal, true)
	f.Add("POST", "/hooks/acme", "", "CANDIDATE-EXPORT", "", "", "", "", "identity", full, true)
	f.Add("POST", "/hooks/globex/x", "a=b", "VERIFY", "", zeros, "", "", "", verify, false)
	f.Add("POST", "/hooks/acme", "", "VERIFY", "", "", "", "", "", verify, true)
	f.Add("POST", "//acme/receipts/", "%zz", "VERIFY", "\xff", "a", "\x00", "\n", "gzip", []byte(`{"a":1e10000000}`), true)
	f.Add("GET", "/hooks/acme/receipts/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", "", "", "", "", "", "", []byte{},
		false)
	f.Add("HEAD", "/receipts/%00", "", "", "", "", "", "", "", []byte("{}"), true)
	f.Add("POST", "/hooks/acme", "", "CANDIDATE-EXPORT", "u-1", "", "", "", "",
		[]byte(`{"candidate":{"person":{"id":{"value":"\u0000","schemeId":"Service Candidate","schemeAgencyId":"Service"}}}}`), true)
	b := newFixture(f)
	b.MaxBody = 64 << 10

	f.Fuzz(func(t *testing.T, method, path, query, event, uuid, signature, link, context, encoding string, body []byte, sign bool) {
		segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
		valid := ""
		if len(segments) > 1 {
			mac := hmac.New(sha256.New, []byte(segments[1]+"-secret"))
			mac.Write(body)
			valid = hex.EncodeToString(mac.Sum(nil))
		}
		if sign && valid != "" {
			signature = valid
		}
		q := request{method: method, path: path, query: query, event: event, uuid: uuid, body: body,
			more: http.Header{"X-Service-Signature": {signature}}}
		for name, value := range map[string]string{"Link": link, "X-Service-Export-Context": context,
			"Content-Encoding": encoding} {
			if value != "" {
				q.more[name] = []string{value}
			}
		}
		r := q.make()
		r.Method, r.URL.Path = method, path // also where they are empty
		got := b.do(r)

		require.Less(t, got.Code, 500, "%s", got.Body)
		if got.Code >= 300 {
			require.Equal(t, "application/problem+json", got.Header().Get("Content-Type"))
			require.Empty(t, got.Header().Get("Location"))
			return
		}
		require.Equal(t, http.MethodPost, method)
		require.True(t, strings.EqualFold(signature, valid), "taken without a valid signature")
		require.Contains(t, []string{"acme", "globex"}, segments[1])
		if event == "VERIFY" {
			require.Equal(t, http.StatusOK, got.Code)
			return
		}
		require.Equal(t, "CANDIDATE-EXPORT", event)
		require.Contains(t, []int{http.StatusOK, http.StatusAccepted}, got.Code)
		location, err := url.PathUnescape(got.Header().Get("Location"))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, b.get(location).Code, "acknowledged, and not there: %q", location)
	})
}
