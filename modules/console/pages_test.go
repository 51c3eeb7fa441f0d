package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
)

// everyPage are the addresses of the pages that need no id.
var everyPage = []string{
	"/", "/exports", "/redeliveries",
	"/tenants", "/tenants/acme", "/tenants/acme/new-integration", "/tenants/acme/integrations/hris/edit",
	"/tenants/acme/portal", "/tenants/acme/relay", "/tenants/acme/integrations/hris",
	"/candidates", "/candidates?tenant=acme", "/candidates?tenant=globex", "/steps/acme", "/steps/globex",
	"/jobs", "/jobs?tenant=acme", "/people", "/applications",
	"/audit",
}

// hostile are texts that come from strangers.
var hostile = []string{"<script>alert(1)</script>", "\U0001F600\U00020BB7", "\u202eright to left \u05d0\u05d1",
	strings.Repeat("w", 255), `"'><img src=x onerror=alert(1)>`, "{{.}}"}

func TestPages(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(*fixture){
		"empty": func(*fixture) {},
		"one": func(b *fixture) {
			b.export("acme", uuid(1), model.Delivered)
			b.candidate("acme", "c-1", "Zoë Ødegård")
			b.job("acme", "NURSE-1", "Nurse")
			b.user("ada")
			b.client("payroll")
			b.refusedSignIn(identity.Refusal{Client: "payroll", Known: true, Reason: "redirect_uri_differs"})
		},
		"500 rows": func(b *fixture) {
			for n := range 500 {
				b.export("acme", uuid(n), []model.Outcome{model.Failed, model.Retrying, model.Delivered}[n%3])
				b.candidate("acme", fmt.Sprintf("c-%03d", n), "Zoë Ødegård")
				b.job("acme", fmt.Sprintf("N-%d", n), "Nurse")
				b.user(fmt.Sprintf("user-%d", n))
				b.client(fmt.Sprintf("client-%d", n))
				b.refusedSignIn(identity.Refusal{Client: fmt.Sprintf("client-%d", n), Known: true,
					Reason: "disabled_client"})
			}
		},
		"hostile": func(b *fixture) {
			for n, text := range hostile {
				b.candidate("acme", text, text)
				b.export("acme", uuid(n), model.Failed, func(e *model.Export) { e.CandidateID = text })
				b.job("acme", text, text)
				b.user(fmt.Sprintf("user-%d", n), func(u *identity.User) {
					u.Name, u.GivenName, u.FamilyName = text, text, text
				})
				b.client(fmt.Sprintf("client-%d", n), func(c *identity.Client) {
					c.Name, c.RedirectURIs = text, []string{"https://app.example.com/" + url.PathEscape(text)}
				})
				b.refusedSignIn(identity.Refusal{Client: text, Reason: text, RedirectURI: text})
				b.export("acme", uuid(100+n), model.Held, func(e *model.Export) {
					e.Quarantined, e.CandidateID = true, text
					e.Findings = fmt.Appendf(nil, `[{"pointer":%q}]`, text)
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			fill(b)
			paths := slices.Clone(everyPage)
			linked := regexp.MustCompile(`href="/console(/(?:exports|candidates|jobs|people|applications)/[^"?]+)"`)
			for _, list := range []string{"/exports", "/candidates?tenant=acme", "/jobs?tenant=acme", "/people",
				"/applications"} {
				for _, found := range linked.FindAllStringSubmatch(b.see(ops, list, http.StatusOK), 12) {
					paths = append(paths, found[1])
				}
			}
			for _, language := range []string{"en", "de"} {
				for _, path := range paths {
					w := b.send(ops, http.MethodGet, path, nil, func(r *http.Request) {
						r.Header.Set("Accept-Language", language)
					})
					require.Equal(t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
					require.Equal(t, language, w.Header().Get("Content-Language"))
					require.Contains(t, w.Body.String(), `<html lang="`+language+`">`)
					require.NotRegexp(t, `<script|<img|no value`, w.Body.String(), path)
				}
			}
		})
	}
}

// Lists are paged, and each export is on one page.
func TestExportsArePaged(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n := range 120 {
		b.export("acme", uuid(n), model.Delivered)
	}
	seen, path := map[string]bool{}, "/exports?tenant=acme"
	for pages := 0; path != ""; pages++ {
		require.Less(t, pages, 10)
		text := b.see(ops, path, http.StatusOK)
		for _, id := range regexp.MustCompile(`4f6e3c48-[0-9-]+`).FindAllString(text, -1) {
			seen[id] = true
		}
		path = ""
		if next := regexp.MustCompile(`rel="next" href="/console([^"]+)"`).FindStringSubmatch(text); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	require.Len(t, seen, 120)
}

// Texts are there in both languages, and none is left over. The gateway writes its reasons in English: see TestReasons.
func TestTexts(t *testing.T) {
	t.Parallel()
	german := slices.DeleteFunc(slices.Collect(maps.Keys(translations[1].all)), func(key string) bool {
		return strings.HasPrefix(key, "reason_")
	})
	require.ElementsMatch(t, slices.Collect(maps.Keys(translations[0].all)), german)
	var markups strings.Builder
	files, err := markup.ReadDir("pages")
	require.NoError(t, err)
	for _, f := range files {
		raw, err := markup.ReadFile("pages/" + f.Name())
		require.NoError(t, err)
		markups.Write(raw)
	}
	for _, used := range regexp.MustCompile(`\.T "([A-Za-z]+)"`).FindAllStringSubmatch(markups.String(), -1) {
		require.Contains(t, translations[0].all, used[1])
	}
	blanks := regexp.MustCompile(`\{[a-z]+\}`)
	for key, text := range translations[0].all {
		require.ElementsMatch(t, blanks.FindAllString(text, -1), blanks.FindAllString(translations[1].all[key], -1), key)
	}
}

func TestOneExport(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered)
	b.export("acme", uuid(2), model.Failed)
	b.export("acme", uuid(3), model.Retrying)
	b.export("acme", uuid(4), model.Held, func(e *model.Export) { e.Quarantined = true })
	for n, want := range map[int]string{
		1: "<h1>Delivered to hris.</h1>",
		2: "<h1>Not delivered to hris: failed.</h1>",
		3: "<h1>Not yet to hris: the next attempt is in 5 min.</h1>",
		4: "<h1>In quarantine: it goes nowhere until it is released.</h1>",
	} {
		text := b.see(ops, "/exports/acme/"+uuid(n), http.StatusOK)
		require.Contains(t, text, want)
		require.Contains(t, text, "&lt;script&gt;alert(1)", "the head of the answer")
	}
	german := b.send(ops, http.MethodGet, "/exports/acme/"+uuid(1), nil, func(r *http.Request) {
		r.Header.Set("Accept-Language", "de")
	}).Body.String()
	require.Contains(t, german, "Zugestellt, 2 min 41 s nachdem er kam")
	require.Contains(t, german, `aria-label="hris: Versuch 1 nach 0 ms: 500"`)
}

// A UUID in the search box leads to its export, with and without its tenant.
func TestSearch(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered)
	for _, sought := range []string{uuid(1), "acme/" + uuid(1), " " + uuid(1) + " "} {
		for _, who := range []string{ops, viewer} {
			w := b.send(who, http.MethodPost, "/find", url.Values{"q": {sought}})
			require.Equal(t, http.StatusSeeOther, w.Code)
			require.Equal(t, "/console/exports/acme/"+uuid(1), w.Header().Get("Location"))
		}
	}
	require.Contains(t, b.post(ops, "/find", url.Values{"q": {uuid(2)}}, http.StatusNotFound), "Nothing that you may see has this id")
	b.post(recruiter, "/find", url.Values{"q": {uuid(1)}}, http.StatusNotFound)
	b.post(recruiter, "/find", url.Values{"q": {"acme/" + uuid(1)}}, http.StatusNotFound)
}

// What other tenants have does not exist for those of one, and a viewer changes nothing.
func TestRoles(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	export, integration := "/exports/acme/"+uuid(1), "/tenants/acme/integrations/hris"
	for _, path := range []string{export, "/tenants/acme", integration, "/exports?tenant=acme"} {
		require.NotContains(t, b.see(recruiter, path, http.StatusNotFound), uuid(1))
		b.see(viewer, path, http.StatusOK)
	}
	require.NotContains(t, b.see(recruiter, "/exports", http.StatusOK), uuid(1))
	require.NotContains(t, b.see(recruiter, "/tenants", http.StatusOK), "acme")
	for path, form := range map[string]url.Values{
		export + "/redeliver": {}, export + "/release": {}, export + "/erase": {"sure": {"yes"}},
		integration + "/disable": {}, integration + "/enable": {}, integration + "/test": {}, integration + "/retry": {},
	} {
		require.Equal(t, http.StatusNotFound, b.send(recruiter, http.MethodPost, path, form).Code, path)
		require.Equal(t, http.StatusForbidden, b.send(viewer, http.MethodPost, path, form).Code, path)
	}
	require.NotContains(t, b.see(viewer, export, http.StatusOK), `method="post" action="/console/exports`)
	require.NotContains(t, b.see(viewer, integration, http.StatusOK), `method="post" action="/console/tenants`)
	require.Contains(t, b.see(ops, export, http.StatusOK), `action="/console`+export+`/redeliver"`)
}

// An export in quarantine is released or rejected. Rejected, it goes nowhere, and what it held is gone.
func TestRejectingFromQuarantine(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Held, func(e *model.Export) { e.Quarantined, e.Findings = true, []byte(`[]`) })
	const export = "/exports/acme/"
	require.Contains(t, b.see(ops, export+uuid(1), http.StatusOK), "Reject it")
	w := b.send(ops, http.MethodPost, export+uuid(1)+"/erase", url.Values{"sure": {"yes"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	page := b.see(ops, export+uuid(1), http.StatusOK)
	require.Contains(t, page, "<dt>Erased</dt>")
	require.NotContains(t, page, export+uuid(1)+"/release")
	require.NotContains(t, b.see(ops, "/exports?quarantined=true", http.StatusOK), uuid(1))
}

// What is done is in the audit, under an id that is no e-mail address.
func TestActions(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	w := b.send(ops, http.MethodPost, "/exports/acme/"+uuid(1)+"/erase", url.Values{})
	require.Equal(t, http.StatusBadRequest, w.Code, "nobody ticked the box")
	w = b.send(ops, http.MethodPost, "/exports/acme/"+uuid(1)+"/redeliver", url.Values{"integration": {"hris"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Equal(t, "/console/exports/acme/"+uuid(1)+"?done=redeliver", w.Header().Get("Location"))
	require.Contains(t, b.see(ops, "/exports/acme/"+uuid(1)+"?done=redeliver", http.StatusOK),
		"It is being delivered again.")
	w = b.send(ops, http.MethodPost, "/tenants/acme/integrations/hris/disable", url.Values{"reason": {"maintenance"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.Contains(t, b.see(ops, "/tenants/acme/integrations/hris", http.StatusOK), "disabled")
	w = b.send(ops, http.MethodPost, "/exports/acme/"+uuid(1)+"/erase", url.Values{"sure": {"yes"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	audit := b.see(ops, "/audit", http.StatusOK)
	for _, action := range []string{"redeliver", "disable", "erase", "console:sub-of-" + ops, "<bdi>" + ops + "</bdi>"} {
		require.Contains(t, audit, action)
	}
	require.NotContains(t, b.see(ops, "/audit?action=erase", http.StatusOK), ">disabled</td>")
	require.Equal(t, http.StatusNotFound, b.send(ops, http.MethodPost, "/exports/acme/"+uuid(1)+"/frobnicate", nil).Code)
}
