package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
)

// No page has a link to an address that does not exist, is refused or has a query that can't be: each is followed, as
// each role and by a portal, up to a number of them.
func TestEveryLinkLeadsToAPage(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n := range 3 {
		b.export("acme", uuid(n), []model.Outcome{model.Failed, model.Retrying, model.Delivered}[n], func(e *model.Export) {
			e.CandidateID = "c-1"
		})
	}
	b.export("acme", uuid(3), model.Held, func(e *model.Export) { e.Quarantined, e.Findings = true, []byte(`[]`) })
	b.candidate("acme", "c-1", "Zoë Ødegård")
	b.job("acme", "NURSE-1", "Nurse")
	b.user("ada")
	b.client("payroll")
	b.refusedSignIn(identity.Refusal{Client: "payroll", Known: true, Reason: "redirect_uri_differs"})
	portal := b.portal("acme", url.Values{"bodies": {"yes"}})
	const most = 400
	for who, change := range map[string][]func(*http.Request){ops: nil, recruiter: nil, operator: nil, viewer: nil,
		"": {portal}} {
		begin := "/exports"
		queue, seen := []string{begin}, map[string]bool{begin: true}
		for n := 0; n < len(queue) && n < most; n++ {
			w := b.send(who, http.MethodGet, queue[n], nil, change...)
			require.Contains(t, []int{http.StatusOK, http.StatusSeeOther}, w.Code, "%q asks for %s", who, queue[n])
			led := [][]string{{"", strings.TrimPrefix(w.Header().Get("Location"), "/console")}}
			if w.Code == http.StatusOK {
				led = links.FindAllStringSubmatch(w.Body.String(), -1)
			}
			for _, found := range led {
				if to := html.UnescapeString(found[1]); !seen[to] {
					seen[to] = true
					queue = append(queue, to)
				}
			}
		}
		require.Greater(t, len(queue), 10, who)
	}
}

// links finds what leads to other pages of the console, without those of the sheet and the icon.
var links = regexp.MustCompile(`<a [^>]*href="/console(/[^"#]*)"`)
