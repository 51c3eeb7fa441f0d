package manageapi_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

const acme = "/v1/tenants/acme"

func TestACandidateComesBackAsItWasPut(t *testing.T) {
	t.Parallel()
	onEach(t, testACandidateComesBackAsItWasPut)
}

func testACandidateComesBackAsItWasPut(t *testing.T, b *fixture) {
	const full = `{"id":"c-1","alternateIds":["184467"],"name":{"formattedName":"Zoë O'N","given":"Zoë","family":"O'N"},"gender":"Female","citizenShip":["any"],
		"applyDate":"2026-10-02","address":[{"countrySubdivisions":[{"type":"state","value":"OR"}],"city":"Portland","postalCode":"97205","line":"1","formattedAddress":"1\nPortland"}],
		"phone":["+1"],"email":["Zoe@example.org"],"web":"<a>","customFields":[{"id":"cf-1","name":"n","type":"t","value":""}]`
	a := b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-1", full+"}")
	require.JSONEq(t,
		full+`,"tenant":"acme","version":1,"createdAt":"2026-11-20T12:00:00Z","updatedAt":"2026-11-20T12:00:00Z"}`, a.body)
	require.Equal(t, acme+"/candidates/c-1", a.header.Get("Location"))
	require.Equal(t, a.body, b.must(http.StatusOK, http.MethodGet, acme+"/candidates/c-1", "").body)

	b.Clock.Advance(time.Hour)
	changed := b.must(http.StatusOK, http.MethodPut, acme+"/candidates/c-1", a.body) // an answer may be sent back
	require.Contains(t, changed.body, `"version":2`)
	require.Contains(t, changed.body, `"createdAt":"2026-11-20T12:00:00Z"`)
	require.Contains(t, changed.body, `"updatedAt":"2026-11-20T13:00:00Z"`)
	empty := b.must(http.StatusOK, http.MethodPut, acme+"/candidates/c-1", `{}`)
	require.Contains(t, empty.body, `"phone":[]`, "an array is never null")
	b.requireCleanLog()
}

// What the rules let pass, every database takes: the longest ids and texts, too.
func TestTheLongestIsKept(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		random := func(n int) string { // compresses badly: databases compress what they index
			var s strings.Builder
			for s.Len() < n {
				s.WriteString(rand.Text())
			}
			return s.String()[:n]
		}
		id := strings.Repeat("🦀", 255)
		email, text := random(4<<10), random(4<<10)
		b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/"+url.PathEscape(id),
			`{"gender":"`+text+`","email":["`+email+`"]}`)
		require.Equal(t, []string{id}, ids(b, acme+"/candidates?email="+email))
		b.must(http.StatusCreated, http.MethodPut, acme+"/jobs/"+url.PathEscape(id), `{"id":"`+id+`"}`)
		b.must(http.StatusCreated, http.MethodPut, acme+"/job-applications/"+url.PathEscape(id),
			`{"candidate":"`+id+`","jobBoardCode":"`+id+`"}`)
		require.Equal(t, []string{id}, ids(b, acme+"/job-applications?job="+url.QueryEscape(id)))
		b.must(http.StatusCreated, http.MethodPost,
			acme+"/job-applications/"+url.PathEscape(id)+"/documents?id="+url.QueryEscape(id), "file")
	})
}

func TestIDsInPathsAreText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for escaped, id := range map[string]string{"a%2Fb": "a/b", "%C3%A9": "é", "%252E": "%2E", "a%20b%3Fc": "a b?c"} {
		a := b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/"+escaped, `{}`)
		require.Equal(t, id, parsed[struct{ ID string }](b, a).ID)
		require.Equal(t, acme+"/candidates/"+escaped, a.header.Get("Location"))
		b.must(http.StatusOK, http.MethodGet, acme+"/candidates/"+escaped, "")
	}
	require.Contains(t, b.problem(http.MethodPut, acme+"/candidates/%2E%2E", `{}`, http.StatusUnprocessableEntity),
		"an address can't hold it")
}

func TestListsAreFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-2", `{}`)
	b.must(http.StatusCreated, http.MethodPut, acme+"/job-applications/a-2", `{"candidate":"c-2"}`)
	b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"applied"}`)
	for query, want := range map[string][]string{
		"/candidates?email=zOE@example.ORG": {"c-1"}, "/candidates?email=x": {},
		"/candidates?name=ZO": {"c-1"}, "/candidates?name=zoe&email=zoe@example.org": {"c-1"}, "/candidates?name=parker": {}, "/candidates?phone=1": {},
		"/job-applications?candidate=c-2": {"a-2"}, "/job-applications?job=NURSE-1": {"a-1"},
		"/job-applications?step=applied": {"a-1"}, "/job-applications": {"a-2", "a-1"},
		"/job-applications?job=NURSE-1&step=applied&candidate=c-1": {"a-1"}, "/job-applications?job=NURSE-1&candidate=c-2": {},
	} {
		require.Equal(t, want, ids(b, acme+query), query)
	}
}

func TestWhatIsUsedStays(t *testing.T) {
	t.Parallel()
	onEach(t, testWhatIsUsedStays)
}

func testWhatIsUsedStays(t *testing.T, b *fixture) {
	b.people()
	require.Contains(t, b.problem(http.MethodDelete, acme+"/candidates/c-1", "", http.StatusConflict), "job applications")
	require.Contains(t, b.problem(http.MethodDelete, acme+"/jobs/NURSE-1", "", http.StatusConflict), "job applications")
	b.must(http.StatusCreated, http.MethodPost, application+"/documents?id=d-1", "file")
	b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"applied"}`)
	for _, path := range []string{"/job-applications/a-1", "/candidates/c-1", "/jobs/NURSE-1"} {
		b.must(http.StatusNoContent, http.MethodDelete, acme+path, "")
		b.must(http.StatusNotFound, http.MethodGet, acme+path, "")
		b.must(http.StatusNotFound, http.MethodDelete, acme+path, "")
	}
	b.people2()
	require.Empty(t, items(b, application+"/documents"), "they come back with another application of that id")
	require.Empty(t, items(b, application+"/transitions"))
}

// people2 puts the job application of people again.
func (b *fixture) people2() {
	b.t.Helper()
	b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-1", `{}`)
	b.must(http.StatusCreated, http.MethodPut, application, `{"candidate":"c-1"}`)
}

func TestJobIDsAreUnique(t *testing.T) {
	t.Parallel()
	onEach(t, testJobIDsAreUnique)
}

func testJobIDsAreUnique(t *testing.T, b *fixture) {
	b.must(http.StatusCreated, http.MethodPut, acme+"/jobs/A", `{"id":"job-1"}`)
	require.Contains(t, b.problem(http.MethodPut, acme+"/jobs/B", `{"id":"job-1"}`, http.StatusConflict),
		"belongs to another")
	b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/globex/jobs/B", `{"id":"job-1"}`)
	b.must(http.StatusCreated, http.MethodPut, acme+"/jobs/B", `{"id":"job-2"}`)
	require.Contains(t, b.problem(http.MethodPut, acme+"/jobs/B", `{"id":"job-1"}`, http.StatusConflict),
		"belongs to another")
	b.must(http.StatusUnprocessableEntity, http.MethodPut, acme+"/jobs/C", `{}`)
	b.must(http.StatusUnprocessableEntity, http.MethodPut, acme+"/jobs/C", `{"id":"x","jobBoardCode":"D"}`)
}

func TestAStatusIsImportedAndAStepIsEntered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	status := func(body string) map[string]any {
		a := b.must(http.StatusOK, http.MethodPut, application, `{"candidate":"c-1","jobBoardCode":"NURSE-1"`+body+`}`)
		require.Contains(t, a.body, `"languageCode":"en-US"`)
		return parsed[struct{ Status map[string]any }](b, a).Status
	}
	require.Empty(t, status(""))
	imported := map[string]any{"name": "Offer", "category": "Late", "enteredAt": "2026-11-01T08:00:00Z"}
	require.Equal(t, imported,
		status(`,"status":{"name":"Offer","category":"Late","enteredAt":"2026-11-01T09:00:00+01:00"}`))
	require.Equal(t, imported, status(""), "without a status the one that is there stays")
	require.Empty(t, items(b, application+"/transitions"))

	step := `,"status":{"step":"hired"}`
	require.Contains(t, b.problem(http.MethodPut, application, `{"candidate":"c-1"`+step+`}`,
		http.StatusUnprocessableEntity), "POST …/transitions")
	b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"hired"}`)
	entered := map[string]any{"step": "hired", "name": "Hired", "category": "Done", "enteredAt": "2026-11-20T12:00:00Z"}
	require.Equal(t, entered, status(step))
	require.Equal(t, entered, status(""))
	for body, want := range map[string]string{
		`{"candidate":"nobody"}`:                       "no candidate of this tenant",
		`{"candidate":"c-1","jobBoardCode":"NOTHING"}`: "no job of this tenant",
		`{}`: "candidate is missing",
		`{"candidate":"c-1","languageCode":"not a tag"}`: "no language tag",
	} {
		require.Contains(t, b.problem(http.MethodPut, application, body, http.StatusUnprocessableEntity), want)
	}
}

func TestStepsAreReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	onEach(t, testStepsAreReplacedAsAWhole)
}

func testStepsAreReplacedAsAWhole(t *testing.T, b *fixture) {
	b.people()
	helper := acme + "/steps/hired/helper"
	b.must(http.StatusCreated, http.MethodPut, helper, `{"integrations":["hris"]}`)
	b.must(http.StatusOK, http.MethodPut, acme+"/steps",
		`{"items":[{"id":"hired","name":"Hired!"},{"id":"new","name":"New","helper":{"integrations":[]}}]}`)
	require.Equal(t, []string{"hired", "new"}, ids(b, acme+"/steps"))
	require.JSONEq(t, `{"id":"hired","integrations":["hris"]}`, b.must(http.StatusOK, http.MethodGet, helper, "").body)
	b.must(http.StatusOK, http.MethodGet, acme+"/steps/new/helper", "")
	shown := b.must(http.StatusOK, http.MethodGet, acme+"/steps", "")
	again := b.must(http.StatusOK, http.MethodPut, acme+"/steps", shown.body, "If-Match", shown.header.Get("ETag"))
	require.Equal(t, again.header.Get("ETag"), b.must(http.StatusOK, http.MethodGet, acme+"/steps", "").header.Get("ETag"))

	b.must(http.StatusNoContent, http.MethodDelete, helper, "")
	require.Contains(t, b.problem(http.MethodGet, helper, "", http.StatusNotFound), "no helper")
	for _, ask := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		body := ""
		if ask == http.MethodPut {
			body = "{}"
		}
		require.Contains(t, b.problem(ask, acme+"/steps/applied/helper", body, http.StatusNotFound), "no step")
	}
	require.Contains(t, b.problem(http.MethodPut, helper, `{"integrations":["nobody"]}`, http.StatusUnprocessableEntity),
		`no integration "nobody"`)
	for body, want := range map[string]string{
		`{}`:                                "items is missing",
		`{"items":[{"id":"A","name":"x"}]}`: "items[0].id is no step's id",
		`{"items":[{"id":"a"}]}`:            "items[0].name is missing",
		`{"items":[{"id":"a","name":"x"},{"id":"a","name":"y"}]}`:                "items[1].id is that of a step before",
		`{"items":[{"id":"a","name":"x","helper":{"integrations":["nobody"]}}]}`: `no integration "nobody"`,
	} {
		require.Contains(t, b.problem(http.MethodPut, acme+"/steps", body, http.StatusUnprocessableEntity), want)
	}
	b.must(http.StatusOK, http.MethodPut, acme+"/steps", `{"items":[]}`)
	require.Empty(t, ids(b, acme+"/steps"))
}

func TestAPageOfStepsIsNotTakenForAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var steps []string
	for n := range 60 {
		steps = append(steps, fmt.Sprintf(`{"id":"s-%d","name":"S"}`, n))
	}
	b.must(http.StatusOK, http.MethodPut, acme+"/steps", `{"items":[`+strings.Join(steps, ",")+`]}`)
	all := b.must(http.StatusOK, http.MethodGet, acme+"/steps", "")
	b.must(http.StatusOK, http.MethodPut, acme+"/steps", all.body, "If-Match", all.header.Get("ETag"))
	require.Len(t, ids(b, acme+"/steps"), 60)

	first := b.must(http.StatusOK, http.MethodGet, acme+"/steps?limit=50", "")
	require.Contains(t, b.problem(http.MethodPut, acme+"/steps", first.body, http.StatusUnprocessableEntity),
		"send all steps")
	rest := b.must(http.StatusOK, http.MethodGet, acme+"/steps?cursor="+*parsed[listed](b, first).Next, "")
	require.Len(t, parsed[listed](b, rest).Items, 10)
	for _, page := range []reply{first, rest} {
		require.Empty(t, page.header.Get("ETag"), "If-Match is for all steps")
	}
	require.Len(t, ids(b, acme+"/steps"), 60)
}

// A helper may outlive an integration that it names, and is no hindrance to its step.
func TestStepsWhoseIntegrationWasRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	const steps = "/v1/tenants/initech/steps"
	address := b.partner(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	b.must(http.StatusCreated, http.MethodPost, integrations, `{"name":"hris","url":"`+address+`/x","secret":"s3cret-and-sixteen-bytes"}`)
	b.must(http.StatusOK, http.MethodPut, steps,
		`{"items":[{"id":"new","name":"New"},{"id":"hired","name":"Hired","helper":{"integrations":["hris"]}}]}`)
	require.Contains(t, b.problem(http.MethodDelete, integrations+"/hris", "", http.StatusConflict),
		"the helpers of these steps export to the integration: Hired;")
	b.problem(http.MethodDelete, integrations+"/hris?force=false", "", http.StatusBadRequest)
	require.Empty(t, get[statusAnswer](b, "/v1/status").needs(model.NeedHelper))
	b.must(http.StatusNoContent, http.MethodDelete, integrations+"/hris?force=true", "")
	require.Equal(t, []string{"initech: the helper of step Hired exports to what is no integration of the tenant, and nobody " +
		"gets that: hris; add the integration, or change the helper"}, get[statusAnswer](b, "/v1/status").needs(model.NeedHelper))

	b.must(http.StatusOK, http.MethodPut, steps, b.must(http.StatusOK, http.MethodGet, steps, "").body)
	b.must(http.StatusOK, http.MethodPut, steps+"/hired/helper",
		b.must(http.StatusOK, http.MethodGet, steps+"/hired/helper", "").body)
	const none = `no integration "hris"`
	require.Contains(t, b.problem(http.MethodPut, steps+"/new/helper", `{"integrations":["hris"]}`,
		http.StatusUnprocessableEntity), none)
	require.Contains(t, b.problem(http.MethodPut, steps,
		`{"items":[{"id":"hired","name":"Hired"},{"id":"new","name":"New","helper":{"integrations":["hris"]}}]}`,
		http.StatusUnprocessableEntity), none)
	b.must(http.StatusOK, http.MethodPut, steps+"/hired/helper", `{}`)
	require.Contains(t, b.problem(http.MethodPut, steps+"/hired/helper", `{"integrations":["hris"]}`,
		http.StatusUnprocessableEntity), none, "it is forgotten")
	require.Empty(t, get[statusAnswer](b, "/v1/status").needs(model.NeedHelper))
}

// statusAnswer is the answer of /v1/status.
type statusAnswer struct{ Needs []model.Need }

// needs are the sentences of its needs of a kind.
func (s statusAnswer) needs(kind model.NeedKind) (sentences []string) {
	for _, need := range s.Needs {
		if need.Kind == kind {
			sentences = append(sentences, need.Sentence)
		}
	}
	return sentences
}
