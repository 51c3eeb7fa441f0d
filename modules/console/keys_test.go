package console

import (
	"cmp"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// hostileKeys are UUIDs that would be steps in a path, or that look like one in the form for these.
var hostileKeys = []string{"..", "../../../etc", "~Li4", ".", "a/b", "x'$(id)?y#z%2F"}

// A UUID is any text, and one export is never taken for another: not in a link, a search, a form or a curl line.
func TestEachExportIsReachedByItsOwnUUID(t *testing.T) {
	t.Parallel()
	for _, key := range hostileKeys {
		b := newFixture(t)
		others := append([]string{"u-1"}, hostileKeys...)
		for _, one := range others {
			b.export("acme", one, model.Failed, func(e *model.Export) { e.CandidateID = "candidate of " + one + "." })
		}
		list := b.see(ops, "/exports?tenant=acme", http.StatusOK)
		link := regexp.MustCompile(`href="/console(/exports/[^"]*)">` + regexp.QuoteMeta(html.EscapeString(key)) + `</a>`)
		found := link.FindStringSubmatch(list)
		require.NotEmpty(t, found, key)
		page := html.UnescapeString(found[1])
		require.Equal(t, page, mustParse(t, page).JoinPath().EscapedPath(), "a browser would go elsewhere")
		text := b.see(ops, page, http.StatusOK)
		mine := html.EscapeString("candidate of " + key + ".")
		require.Contains(t, text, mine)

		for _, sought := range []string{"acme/" + key, key} {
			w := b.send(ops, http.MethodPost, "/find", url.Values{"q": {sought}})
			require.Equal(t, http.StatusSeeOther, w.Code, "%s: %s", sought, w.Body)
			require.Equal(t, "/console"+page, w.Header().Get("Location"), sought)
		}
		curl := regexp.MustCompile(`&#34;\$HIREGATE_URL&#34;&#39;([^<]*)&#39;|"\$HIREGATE_URL"'([^<]*)'`)
		lines := curl.FindAllStringSubmatch(text, -1)
		require.Len(t, lines, 2, text)
		api := html.UnescapeString(cmp.Or(lines[0][1], lines[0][2]))
		require.NotContains(t, api, "'")
		var shown export
		v := &visitor{Request: request(t), console: b.Console, person: model.Person{ID: "p", Role: model.Admin}}
		require.NoError(t, v.get(api, nil, &shown))
		require.Equal(t, key, shown.ID)

		forms := regexp.MustCompile(`method="post" action="/console(/exports/[^"]*)"`).FindAllStringSubmatch(text, -1)
		require.Len(t, forms, 3, "its body, its redelivery, its erasure")
		for _, form := range forms {
			require.True(t, strings.HasPrefix(html.UnescapeString(form[1]), page+"/"), form[1])
		}
		w := b.send(ops, http.MethodPost, page+"/body", nil)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.Contains(t, w.Body.String(), mine)
		w = b.send(ops, http.MethodPost, page+"/redeliver", url.Values{"integration": {"hris"}})
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		require.Equal(t, "/console"+page+"?done=redeliver", w.Header().Get("Location"))
		require.Equal(t, http.StatusConflict, b.send(ops, http.MethodPost, page+"/release", nil).Code)
		w = b.send(ops, http.MethodPost, page+"/erase", url.Values{"sure": {"yes"}})
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		require.Equal(t, "/console"+page+"?done=erase", w.Header().Get("Location"))
		for _, one := range others {
			e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", one)
			require.NoError(t, err)
			require.Equal(t, one == key, !e.ErasedAt.IsZero(), "%s was erased for %s", one, key)
			require.Equal(t, one == key, e.Round == 1, "%s was redelivered for %s", one, key)
		}
	}
}

// No form of the console takes such a text for anything that there is.
func TestNoFormTakesHostileNames(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", "u-1", model.Failed)
	parameter := regexp.MustCompile(`\{\w+\}`)
	tried := 0
	for _, to := range routes {
		path, post := strings.CutPrefix(to.pattern, "POST ")
		if !post {
			continue
		}
		for _, name := range parameter.FindAllString(path, -1) {
			for _, hostile := range []string{"..", "../../../etc", "~Li4", "../acme/u-1"} {
				hit := strings.Replace(path, name, url.PathEscape(hostile), 1)
				hit = strings.NewReplacer("{tenant}", "acme", "{uuid}", "u-1", "{name}", "hris").Replace(hit)
				hit = parameter.ReplaceAllString(hit, "x")
				w := b.send(ops, http.MethodPost, hit, url.Values{"sure": {"yes"}, "confirm": {"yes"}})
				require.GreaterOrEqual(t, w.Code, http.StatusBadRequest, hit)
				require.Less(t, w.Code, http.StatusInternalServerError, hit)
				tried++
			}
		}
	}
	require.Greater(t, tried, 100)
	entries, _, err := b.Runtime.Store().ListAudit(t.Context(), store.AuditFilter{})
	require.NoError(t, err)
	require.Empty(t, entries)
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return u
}

func request(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	require.NoError(t, err)
	return r
}
