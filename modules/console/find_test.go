package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// A search leads to the one thing that it finds, of those that the visitor may see.
func TestFind(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	about := func(id string) func(*model.Export) { return func(e *model.Export) { e.CandidateID = id } }
	const capitals = "7A0C1F22-AAAA-4BBB-8CCC-0123456789AB"
	b.export("acme", uuid(1), model.Delivered, about("c-7"))
	b.export("acme", capitals, model.Delivered, about("c-8"))
	b.export("acme", "short", model.Delivered)
	b.export("globex", "9b0c1f22-aaaa-4bbb-8ccc-0123456789ab", model.Delivered)
	b.candidate("acme", "c-1", "Zoë Ødegård")
	all := b.Exports(t)
	receipt := all[slices.IndexFunc(all, func(e *model.Export) bool { return e.Key == uuid(1) })].Receipt
	export, other := "/exports/acme/"+uuid(1), "/exports/globex/9b0c1f22-aaaa-4bbb-8ccc-0123456789ab"
	hris := "/tenants/acme/integrations/hris"
	for sought, leads := range map[string]map[string]string{ // by whom; a missing one finds nothing
		uuid(1):                                  {ops: export, viewer: export},
		" " + strings.ToUpper(uuid(1)) + " ":     {ops: export, viewer: export},
		uuid(1)[:8]:                              {ops: export, viewer: export},
		"acme/" + uuid(1):                        {ops: export, viewer: export},
		strings.ToLower(capitals):                {ops: "/exports/acme/" + capitals, viewer: "/exports/acme/" + capitals},
		"short":                                  {ops: "/exports/acme/short", viewer: "/exports/acme/short"},
		"9b0c1f22":                               {ops: other, recruiter: other},
		receipt:                                  {ops: export, viewer: export},
		"c-1":                                    {ops: "/candidates/acme/c-1"},
		"acme/c-1":                               {ops: "/candidates/acme/c-1"},
		"c-7":                                    {ops: "/exports?candidate=c-7&tenant=acme", viewer: "/exports?candidate=c-7&tenant=acme"},
		"ACME":                                   {ops: "/tenants/acme", viewer: "/tenants/acme"},
		"hris":                                   {ops: hris, viewer: hris},
		"acme/hris":                              {ops: hris, viewer: hris},
		here + "/exports?outcome=failed#x":       {ops: "/exports?outcome=failed", viewer: "/exports?outcome=failed", recruiter: "/exports?outcome=failed"},
		"/console" + hris:                        {ops: hris, viewer: hris, recruiter: hris},
		here + ".example/":                       {},
		here + "//elsewhere.example":             {},
		"https://elsewhere.example" + export:     {},
		"4f6e3c4":                                {},
		"":                                       {},
		"../../sign-out":                         {},
		"%2e%2e/%2e%2e":                          {},
		strings.Repeat("x", 2000):                {},
		"<script>alert(1)</script>":              {},
		"globex/" + uuid(1):                      {},
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": {},
	} {
		for _, who := range []string{ops, viewer, recruiter} {
			w := b.send(who, http.MethodPost, "/find", url.Values{"q": {sought}})
			if to := leads[who]; to != "" {
				require.Equal(t, http.StatusSeeOther, w.Code, "%s as %s", sought, who)
				require.Equal(t, "/console"+to, w.Header().Get("Location"))
				continue
			}
			require.Equal(t, http.StatusNotFound, w.Code, "%s as %s: %s", sought, who, w.Header().Get("Location"))
			require.Contains(t, w.Body.String(), "Search finds: an export by its UUID")
		}
	}
}

// Several things that a search finds are listed, no more than 20 of them.
func TestFindSeveral(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n := range 25 {
		b.export("acme", uuid(n), model.Delivered)
	}
	w := b.send(ops, http.MethodPost, "/find", url.Values{"q": {"4f6e3c48"}})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, 20, strings.Count(w.Body.String(), `href="/console/exports/acme/4f6e3c48`))
	require.Contains(t, w.Body.String(), "There may be more")
	b.candidate("acme", "both", "Ada")
	b.candidate("globex", "both", "Bob")
	w = b.send(ops, http.MethodPost, "/find", url.Values{"q": {"both"}})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	for _, tenant := range []string{"acme", "globex"} {
		require.Contains(t, w.Body.String(), fmt.Sprintf(`href="/console/candidates/%s/both"`, tenant))
	}
	require.NotContains(t, w.Body.String(), "There may be more")
}
