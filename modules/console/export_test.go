package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/console/chart"
)

// An attempt is shown with all that is known of it. The body is only shown to those who may see it, by a POST that is
// in the audit; the others see what it is made of.
func TestExportPage(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	export := "/exports/acme/" + uuid(1)
	for _, who := range []string{ops, viewer, operator} {
		text := b.see(who, export, http.StatusOK)
		for _, want := range []string{"Attempt 1: 500 <span lang=\"en\">Internal Server Error</span>", "the client&#39;s fault", "/candidate", "object",
			"/v1/tenants/acme/exports/" + uuid(1), "$HIREGATE_API_KEY"} {
			require.Contains(t, text, want, who)
		}
		require.NotContains(t, text, hidden)
		require.NotContains(t, text, "zoe@", "a name that the schema does not have")
	}
	require.NotContains(t, b.see(viewer, export, http.StatusOK), "Show the body")
	require.NotContains(t, b.see(viewer, export, http.StatusOK), `/redeliver"`)
	require.Equal(t, http.StatusForbidden, b.send(viewer, http.MethodPost, export+"/body", nil).Code)
	require.Equal(t, http.StatusNotFound, b.send(recruiter, http.MethodPost, export+"/body", nil).Code)
	require.NotContains(t, b.see(ops, "/audit", http.StatusOK), ">showed the body</td>")

	require.Contains(t, b.see(operator, export, http.StatusOK), "Show the body")
	w := b.send(operator, http.MethodPost, export+"/body", nil)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Contains(t, w.Body.String(), hidden)
	require.Contains(t, b.see(ops, "/audit", http.StatusOK), ">showed the body</td>")

	w = b.send(ops, http.MethodPost, export+"/erase", map[string][]string{"sure": {"yes"}})
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	require.NotContains(t, b.see(ops, export, http.StatusOK), "Show the body")
	require.Equal(t, http.StatusGone, b.send(ops, http.MethodPost, export+"/body", nil).Code)
}

// The candidate of an export is a link only where they have a page: those of received exports are seldom kept here.
func TestCandidateOfAnExport(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.candidate("acme", "c-1", "Zoe")
	of := func(id string) func(*model.Export) { return func(e *model.Export) { e.CandidateID = id } }
	b.export("acme", uuid(1), model.Delivered, of("c-1"))
	b.export("acme", uuid(2), model.Delivered, of("c-elsewhere"))
	b.export("acme", uuid(3), model.Delivered, of(".."))
	const link = `href="/console/candidates/acme/`
	require.Contains(t, b.see(ops, "/exports/acme/"+uuid(1), http.StatusOK), link+`c-1"`)
	for who, n := range map[string]int{ops: 2, operator: 1} {
		text := b.see(who, "/exports/acme/"+uuid(n), http.StatusOK)
		require.NotContains(t, text, link, who)
		require.Regexp(t, `<dd class="id"><bdi>c-`, text, who)
	}
	require.NotContains(t, b.see(ops, "/exports/acme/"+uuid(3), http.StatusOK), link)
}

func TestPhases(t *testing.T) {
	t.Parallel()
	a := api.Attempt{DurationMs: 100}
	require.Empty(t, phasesOf(a), "an attempt that came to nothing")
	a.Phases.DNS, a.Phases.FirstByte = 25, 50
	ms := time.Millisecond
	require.Equal(t, []chart.Phase{{Name: "dns", Took: 25 * ms}, {Name: "first", Took: 50 * ms},
		{Name: "rest", Took: 25 * ms}}, phasesOf(a))
	a.DurationMs = 50 // a clock that went back
	require.Len(t, phasesOf(a), 2)
}

// The id of a candidate leads to the exports about them, within the tenant that is named or the visitor's.
func TestSearchForACandidate(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const id = `c-1 "'><x>`
	b.export("acme", uuid(1), model.Delivered, func(e *model.Export) { e.CandidateID = id })
	for who, sought := range map[string]string{ops: "acme/" + id, viewer: id} {
		w := b.send(who, http.MethodPost, "/find", url.Values{"q": {sought}})
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		found := strings.TrimPrefix(w.Header().Get("Location"), "/console")
		require.Contains(t, b.see(who, found, http.StatusOK), uuid(1))
	}
	b.post(ops, "/find", url.Values{"q": {"acme/nobody"}}, http.StatusNotFound)
	b.post(recruiter, "/find", url.Values{"q": {"acme/" + id}}, http.StatusNotFound)
}

// A range of exports leads operators on to its redelivery, where a redelivery can have that range.
func TestARangeLeadsToItsRedelivery(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	const matching = "Redeliver all that match"
	list := "/exports?tenant=acme&integration=hris&since=2026-11-01T00:00"
	text := b.see(ops, list+"&outcome=failed", http.StatusOK)
	require.Contains(t, text, matching)
	found := regexp.MustCompile(`href="/console(/redeliveries\?[^"]*since=[^"]+)"`).FindStringSubmatch(text)
	page := b.see(ops, strings.ReplaceAll(found[1], "&amp;", "&"), http.StatusOK)
	require.Contains(t, page, `value="2026-11-01T00:00"`)
	require.Contains(t, page, `<option value="failed" selected>`)
	require.Contains(t, b.see(ops, list, http.StatusOK), "mode=all")
	require.NotContains(t, b.see(viewer, list, http.StatusOK), matching)
	text = b.see(ops, list+"&status=500", http.StatusOK)
	require.Regexp(t, `/redeliveries\?[^"]*mode=failed[^"]*status=500`, text)
	text = b.see(ops, list+"&status=5xx&attempts=1", http.StatusOK)
	require.Regexp(t, `/redeliveries\?attempts=1[^"]*mode=failed[^"]*status=5xx`, text)
	for _, other := range []string{"/exports?tenant=acme", "/exports", list + "&undelivered=true", list + "&waitingLonger=1h"} {
		require.NotContains(t, b.see(ops, other, http.StatusOK), matching)
	}
}

// What is chosen by attempts is counted, keeps the frequent questions, and can be taken away.
func TestExportsByTheirAttempts(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	b.export("acme", uuid(2), model.Retrying)
	b.Clock.Advance(2 * time.Hour)
	text := b.see(ops, "/exports?tenant=acme&status=5xx&attempts=1", http.StatusOK)
	for _, want := range []string{uuid(1), uuid(2), ">All <b>2</b></a>", `attempts=1&amp;outcome=failed&amp;status=5xx&amp;tenant=acme">Failed <b>1</b></a>`,
		`href="/console/exports?attempts=1&amp;tenant=acme"><bdi>answered 5xx</bdi>`, "<bdi>1 attempts or more</bdi>", `name="status" maxlength="4"`} {
		require.Contains(t, text, want)
	}
	text = b.see(ops, "/exports?status=none", http.StatusOK)
	require.Contains(t, text, "<bdi>no answer</bdi>")
	require.NotContains(t, text, uuid(1))
	text = b.see(ops, "/exports?waitingLonger=1h", http.StatusOK)
	require.Contains(t, text, uuid(2))
	require.NotContains(t, text, uuid(1))
	require.NotContains(t, b.see(ops, "/exports?waitingLonger=3h", http.StatusOK), uuid(2))
	require.Contains(t, b.see(ops, "/exports?lateDocuments=true", http.StatusOK), "<bdi>Document late</bdi>")
}

// The form with more filters adds to the question that is asked. Of two, each can be taken away.
func TestMoreFiltersKeepTheQuestion(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Retrying)
	for _, question := range []string{"undelivered", "quarantined", "lostDocuments"} {
		text := b.see(ops, "/exports?tenant=acme&"+question+"=true", http.StatusOK)
		require.Contains(t, text, `<input type="hidden" name="`+question+`" value="true">`)
		require.NotContains(t, text, "remove this filter")
		text = b.see(ops, "/exports?outcome=failed&"+question+"=true", http.StatusOK)
		require.Contains(t, text, `href="/console/exports?outcome=failed"><bdi>`)
		require.Contains(t, text, `href="/console/exports?`+question+`=true"><bdi>failed</bdi>`)
	}
}

// What failed is grouped on the start page, with a way to redeliver it. What was delivered is not among it.
func TestFailuresOfTheLastDay(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n := range 7 {
		b.export("acme", uuid(n), model.Failed)
	}
	b.export("acme", uuid(7), model.Expired)
	b.export("acme", uuid(8), model.Delivered)
	b.export("acme", uuid(9), model.Retrying)
	b.post(ops, "/exports/acme/"+uuid(9)+"/erase", url.Values{"sure": {"yes"}}, http.StatusSeeOther)
	text := b.see(ops, "/", http.StatusOK)
	require.NotContains(t, text, "our fault, 500", "somebody ended it")
	require.Contains(t, text, "the client&#39;s fault, 500")
	const noon = `&amp;since=2026-11-20T12%3A00&amp;tenant=acme`
	require.Contains(t, text, `class=partner_fault&amp;integration=hris&amp;outcome=failed`+noon+`">See the 7</a>`)
	require.Contains(t, text, `outcome=expired`+noon+`">See it</a>`)
	found := regexp.MustCompile(`href="/console(/redeliveries\?[^"]+)"`).FindStringSubmatch(text)
	b.see(ops, strings.ReplaceAll(found[1], "&amp;", "&"), http.StatusOK)
	require.NotContains(t, b.see(viewer, "/", http.StatusOK), "Redeliver these")
	require.Contains(t, b.see(viewer, "/", http.StatusOK), ">See the 7</a>")
	require.Equal(t, "/console/candidates", b.send(recruiter, http.MethodGet, "/", nil).Header().Get("Location"))
}

// The frequent questions about exports are links with counts; what else is chosen is a link that removes it.
func TestFiltersOfExports(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	b.export("acme", uuid(2), model.Retrying)
	b.export("acme", uuid(3), model.Held, func(e *model.Export) { e.Quarantined = true })
	text := b.see(ops, "/exports?tenant=acme&outcome=failed&since=2026-11-01T00:00", http.StatusOK)
	for _, want := range []string{
		`<a class="chip" href="/console/exports?since=2026-11-01T00%3A00&amp;tenant=acme">All</a>`,
		`href="/console/exports?since=2026-11-01T00%3A00&amp;tenant=acme&amp;undelivered=true">Undelivered <b>2</b></a>`,
		`aria-current="true">Failed <b>1</b></a>`,
		`href="/console/exports?outcome=failed&amp;tenant=acme"><bdi>since 2026-11-01 00:00</bdi>`,
		`<option>hris</option>`,
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, uuid(2))
	oldest := b.see(viewer, "/exports?order=oldest", http.StatusOK)
	require.Contains(t, oldest, "the oldest first · ")
	require.Contains(t, oldest, "Quarantined <b>1</b>")
	visitor := b.portal("acme", url.Values{})
	require.Contains(t, b.send("", http.MethodGet, "/exports", nil, visitor).Body.String(), "Failed <b>1</b>")
}

// How a body breaks the schema is a list; what is stored of it is folded, and indented as bodies are.
func TestFindingsAreAList(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Held, func(e *model.Export) {
		e.Quarantined = true
		e.Findings = []byte(`[{"pointer":"/candidate/email","rule":"type: string","found":"null"},{"pointer":"","rule":"required","found":"absent"}]`)
	})
	text := b.see(ops, "/exports/acme/"+uuid(1), http.StatusOK)
	require.Contains(t, text, `<code>/candidate/email</code> type: string <span class="soft">(null)</span>`)
	require.Contains(t, text, `<code>/</code> required`)
	require.Contains(t, html.UnescapeString(text), "<summary>JSON</summary><pre>[\n  {\n    \"pointer\": \"/candidate/email\",")
}

// Of an export whose tenant had no integration its page says so, and the start page that somebody has to act.
func TestAnExportThatWasDeliveredToNobody(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := inbox.NewExport("globex", uuid(1), []byte(`{"candidate":{}}`), b.Clock.Now())
	e.ForNobody = true
	b.Write(t, func(tx *store.Tx) error {
		if _, err := inbox.Insert(tx, e); err != nil {
			return err
		}
		return tx.MarkDispatched(e.ID, 0, b.Clock.Now())
	})
	text := b.see(ops, "/exports/globex/"+uuid(1), http.StatusOK)
	require.Contains(t, text, "It was not delivered: its tenant had no integration when it came.")
	require.NotContains(t, text, "Temporal.")
	acme := inbox.NewExport("acme", uuid(2), []byte(`{"candidate":{}}`), b.Clock.Now())
	acme.ForNobody = true
	b.Write(t, func(tx *store.Tx) error {
		if _, err := inbox.Insert(tx, acme); err != nil {
			return err
		}
		return tx.MarkDispatched(acme.ID, 0, b.Clock.Now())
	})
	require.Contains(t, b.see(ops, "/exports/acme/"+uuid(2), http.StatusOK), "Deliver to hris") // which was added later
	b.post(ops, "/exports/acme/"+uuid(2)+"/redeliver", url.Values{"integration": {"hris"}}, http.StatusSeeOther)
	require.NotContains(t, b.see(ops, "/exports/acme/"+uuid(2), http.StatusOK), "Deliver to hris")
	text = b.see(ops, "/", http.StatusOK)
	require.Contains(t, text, "<h1>1 thing needs you</h1>")
	require.Contains(t, text, "Not delivered: no integration")
	german := b.send(ops, http.MethodGet, "/exports/globex/"+uuid(1), nil, func(r *http.Request) { r.Header.Set("Accept-Language", "de") })
	require.Contains(t, german.Body.String(), "Richten Sie eine ein und stellen Sie ihn dann noch einmal zu")
}

// The sentence of an export says that a document was lost, whatever became of its delivery.
func TestAnExportSaysThatADocumentWasLost(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered, func(e *model.Export) { e.Attachments = 1 })
	e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", uuid(1))
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", CreatedAt: b.Clock.Now()})
	})
	documents, err := b.Runtime.Store().ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	documents[0].State = model.GivenUp
	b.Write(t, func(tx *store.Tx) error { _, err := tx.UpdateDocument(documents[0]); return err })
	require.Contains(t, b.see(ops, "/exports/acme/"+uuid(1), http.StatusOK), "<h1>Delivered to hris. 1 document was lost.</h1>")
}

// Texts that name a number of the code have it from there.
func TestTextsHaveTheNumbersOfTheCode(t *testing.T) {
	t.Parallel()
	const gaps = "5 s, 30 s, 2 min, 5 min, 15 min, 30 min, 1 h"
	require.Equal(t, gaps, gapsOf(model.DefaultSchedule))
	require.Equal(t, "5s 30s 2m 5m 15m 30m 1h", view{}.DefaultGaps())
	for _, words := range translations {
		require.Contains(t, words.all["DefaultGaps"], gaps)
		for key, text := range words.all {
			require.NotRegexp(t, `\{[A-Z]`, text, "%s: no figure has this name", key)
		}
	}
}
