package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// An answer is shown as people read it: JSON indented, of a page the text, anything else as it came.
func TestAnswersAreReadable(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"error":"unknown country","at":[1]}`: "{\n  \"error\": \"unknown country\",\n  \"at\": [\n    1\n  ]\n}",
		`{"error":"it broke o`:                 `{"error":"it broke o`,
		"[down]":                               "[down]",
		"<!DOCTYPE html><html><head><title>502\nBad Gateway</title><style>p { }</style><script>let a = '<p>'</script></head>" +
			"<body><h1>502 Bad <i>Gateway</i></h1><hr><p>nginx &lt;1.27&gt;</body></html>": "502 Bad Gateway\n502 Bad Gateway\nnginx <1.27>",
		"<error>not a page</error>":                  "<error>not a page</error>",
		" Maintenance\n until tomorrow":              " Maintenance\n until tomorrow",
		strings.Repeat("ø", 2001):                    strings.Repeat("ø", 2000) + "…",
		"<html>" + strings.Repeat("<", 64<<10) + "x": strings.Repeat("<", 2000) + "…",
	} {
		require.Equal(t, want, view{}.Head(answer), answer[:min(len(answer), 80)])
	}
}

// The last attempt says what its answer means, and offers first what helps: another attempt does not where the data is refused.
func TestAttemptsSayWhatTheyMean(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{200: "", 302: "redirect", 400: "data", 401: "credentials", 404: "address", 409: "",
		413: "large", 422: "data", 429: "busy", 500: "error", 502: "proxy", 503: "busy", 504: "proxy"} {
		require.Equal(t, want, meaning(api.Attempt{Status: status, Class: model.FaultOf(status)}), status)
	}
	require.Equal(t, "timeout", meaning(api.Attempt{Why: &model.Reason{Code: "timeout"}}))
	require.Empty(t, meaning(api.Attempt{Why: &model.Reason{Code: "no_connection"}}))

	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	page := b.see(ops, "/exports/acme/"+uuid(1), http.StatusOK)
	require.Contains(t, page, `<p class="means">The system failed. Its log says why`)
	require.Contains(t, page, "<button>Redeliver to hris</button>")
}
