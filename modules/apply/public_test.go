package apply_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to break the database

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func TestFeed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	feed := func(headers ...string) (status int, tag, body string) {
		w := b.ask(http.MethodGet, "/feed/jobs.json?tenant=acme", "", headers...)
		return w.Code, w.Header().Get("ETag"), w.Body.String()
	}
	status, tag, body := feed()
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"positionProfiles":[{"positionId":{"value":"NURSE-1","schemeId":"Service Job Board Code","schemeAgencyId":"Service"},
		"positionTitle":"Nurse","positionUri":"https://jobs.example.com/1","updatedAt":"2026-11-20T12:00:00Z"}]}`, body, "open jobs that are syndicated")
	for _, sent := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		status, again, body := feed("If-None-Match", sent)
		require.Equal(t, http.StatusNotModified, status, sent)
		require.Equal(t, tag, again)
		require.Empty(t, body)
	}
	status, _, _ = feed("If-None-Match", `"x"`)
	require.Equal(t, http.StatusOK, status)
	b.Clock.Advance(time.Second)
	b.job("acme", &model.Job{BoardCode: code, ID: "job-1", Title: "Registered Nurse", Syndicate: true, Place: "Portland",
		Description: "Nights"})
	_, renamed, body := feed()
	require.Contains(t, body, `"place":"Portland","description":"Nights","updatedAt":"2026-11-20T12:00:01Z"`)
	require.NotEqual(t, tag, renamed)
	for n := range store.MaxPage + 1 { // more than a page of the store
		b.job("acme", &model.Job{BoardCode: fmt.Sprint("J-", n), ID: fmt.Sprint("j-", n), Title: "<b>", Syndicate: true})
	}
	_, changed, body := feed()
	require.NotEqual(t, renamed, changed)
	var list struct {
		PositionProfiles []struct{ PositionTitle string }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &list))
	require.Len(t, list.PositionProfiles, store.MaxPage+2)
	require.Contains(t, body, `"<b>"`)
	b.requireError(b.ask(http.MethodGet, "/feed/jobs.json", ""), http.StatusBadRequest,
		"say whose jobs: add ?tenant= with the name of one tenant", "")
	b.requireError(b.ask(http.MethodGet, "/feed/jobs.json?tenant=acme&tenant=globex", ""), http.StatusBadRequest,
		"say whose jobs: add ?tenant= with the name of one tenant", "")
	b.requireError(b.ask(http.MethodGet, "/feed/jobs.json?tenant=nobody", ""), http.StatusNotFound,
		"there is no tenant of this name here", "")
}

// onFirstWrite does something once the answer has begun.
type onFirstWrite struct {
	http.ResponseWriter
	once sync.Once
	do   func()
}

func (w *onFirstWrite) Write(p []byte) (int, error) {
	w.once.Do(w.do)
	return w.ResponseWriter.Write(p)
}

// The database goes away between two pages: whoever reads the feed must not take the first for all of it.
func TestFeedThatIsCutOffLooksBroken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range store.MaxPage + 1 {
		b.job("acme", &model.Job{BoardCode: fmt.Sprint("J-", n), ID: fmt.Sprint("j-", n), Title: strings.Repeat("t", 200),
			Syndicate: true})
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.Folder, "hiregate.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	answer := httptest.NewRecorder()
	w := &onFirstWrite{ResponseWriter: answer, do: func() {
		_, err := db.ExecContext(t.Context(), "DROP VIEW positions")
		require.NoError(t, err)
	}}
	r := httptest.NewRequest(http.MethodGet, "/feed/jobs.json?tenant=acme", nil)
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { b.ServeHTTP(w, r) },
		"the server would end the answer as a whole one")
	require.Equal(t, http.StatusOK, answer.Code)
	require.False(t, json.Valid(answer.Body.Bytes()))
	told := b.Logged.FilterMessage("a job feed was cut off").All()
	require.Len(t, told, 1)
	require.NotEmpty(t, told[0].ContextMap()["request"])
}

func TestComplianceTexts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, group := range compliance.Groups {
		w := b.ask(http.MethodGet, "/compliance/"+group, "")
		require.Equal(t, http.StatusOK, w.Code)
		form, _ := compliance.Find(group)
		var got map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		require.Equal(t, group, got["group"])
		require.Equal(t, form.Form, got["form"])
		require.Equal(t, form.Source, got["source"])
		require.Len(t, got["text"], len(form.Text))
		require.Equal(t, form.Expires == "", got["expires"] == nil)
	}
	b.requireError(b.ask(http.MethodGet, "/compliance/other", ""), http.StatusNotFound,
		"there is no compliance group of this name", "")
}

// A form that has expired is served all the same, and the log is told once a day.
func TestAnExpiredFormIsServedAndTold(t *testing.T) {
	t.Parallel()
	b := setup(t) // in November 2026; CC-305 expired in April
	warned := func() int {
		return b.Logged.FilterMessage("the form of a compliance group has expired and is still served: update hiregate").Len()
	}
	for range 3 {
		require.Equal(t, http.StatusOK, b.ask(http.MethodGet, "/compliance/complianceOfccp", "").Code)
	}
	require.Equal(t, 1, warned())
	b.Clock.Advance(24 * time.Hour)
	require.Contains(t, b.ask(http.MethodGet, "/v2/job/"+code+"/question", "", b.bearer(partner)...).Body.String(),
		"eeocDisability")
	require.Equal(t, 2, warned())
	b.ask(http.MethodGet, "/compliance/complianceEeo", "")
	require.Equal(t, 2, warned())
}

func TestRates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Rate = model.Rate{PerSecond: 0.5, Burst: 3}
	me := b.bearer(partner)
	ask := func() *http.Response { return b.ask(http.MethodGet, "/v2/job/"+code+"/question", "", me...).Result() }
	for n := range 3 {
		got := ask()
		require.Equal(t, http.StatusOK, got.StatusCode)
		require.Equal(t, []string{"3", fmt.Sprint(2 - n), fmt.Sprint(2 * (n + 1))},
			[]string{got.Header.Get("RateLimit-Limit"), got.Header.Get("RateLimit-Remaining"),
				got.Header.Get("RateLimit-Reset")})
		require.Equal(t, `"user";q=3;w=6`, got.Header.Get("RateLimit-Policy"))
		require.Equal(t, fmt.Sprintf(`"user";r=%d;t=%d`, 2-n, 2*(n+1)), got.Header.Get("RateLimit"))
	}
	refused := b.ask(http.MethodGet, "/v2/job/"+code+"/question", "", me...)
	b.requireError(refused, http.StatusTooManyRequests, "too many requests: wait as long as the header Retry-After says",
		"")
	require.Equal(t, "2", refused.Header().Get("Retry-After"))
	require.Equal(t, "0", refused.Header().Get("RateLimit-Remaining"))
	b.requireError(b.apply("{}", me...), http.StatusTooManyRequests,
		"too many requests: wait as long as the header Retry-After says", "null")
	require.Equal(t, http.StatusOK, b.ask(http.MethodGet, "/v2/job/OTHER/question", "",
		b.bearer("globex@example.com")...).Code, "a limit is a user's own")
	b.Clock.Advance(2 * time.Second)
	require.Equal(t, http.StatusOK, ask().StatusCode)
}

func TestEachSiteHasItsRate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	const path = "/v2/job/" + code + "/question"
	slow, fast := model.Rate{PerSecond: 0.5, Burst: 2}, model.Rate{PerSecond: 1, Burst: 100}
	var statuses []int
	for range 4 {
		b.Rate = fast
		require.Equal(t, http.StatusOK, b.ask(http.MethodGet, path, "", me...).Code)
		b.Rate = slow
		statuses = append(statuses, b.ask(http.MethodGet, path, "", me...).Code)
	}
	require.Equal(t, []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests, http.StatusTooManyRequests}, statuses)
}

// A thousand wrong passwords from one address slow that address down, and nobody else.
func TestAThousandWrongPasswords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	throttled := 0
	for range 1000 {
		switch w := b.authenticate(partner, "wrong", "From", "203.0.113.7"); w.Code {
		case http.StatusTooManyRequests:
			throttled++
			b.requireError(w, http.StatusTooManyRequests,
				"too many wrong passwords came from your address: wait as long as the header Retry-After says", "")
			require.NotEmpty(t, w.Header().Get("Retry-After"))
		default:
			b.requireError(w, http.StatusUnauthorized, wrongUser, "")
		}
	}
	require.Greater(t, throttled, 900)
	require.Equal(t, http.StatusTooManyRequests, b.authenticate(partner, right, "From", "203.0.113.7").Code)
	require.Equal(t, http.StatusOK, b.authenticate(partner, right, "From", "198.51.100.1").Code)
	b.Clock.Advance(time.Hour)
	require.Equal(t, http.StatusOK, b.authenticate(partner, right, "From", "203.0.113.7").Code, "nobody is locked out")
}

// The log has nothing of applicants and partners.
func TestNothingPersonalIsLogged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	b.authenticate(partner, "a wrong password")
	b.requireTaken(b.apply(application(t, code, fine(t)), me...))
	b.apply(application(t, code, with(fine(t), "phone", "12 of Lovelace")), me...)
	b.apply(`{"broken of Lovelace`, me...)
	for _, entry := range b.Logged.All() {
		line := entry.Message + fmt.Sprint(entry.ContextMap())
		for _, word := range []string{"Ada", "Lovelace", "example.com", "password", strings.TrimPrefix(me[1], "Bearer "),
			"I do not want"} {
			require.NotContains(t, line, word)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.ask(http.MethodGet, "/openapi.json", "")
	require.Equal(t, http.StatusOK, w.Code)
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &document))
	require.Equal(t, "3.1.0", document.OpenAPI)
	var paths []string
	for path, operations := range document.Paths {
		paths = append(paths, path)
		at := strings.NewReplacer("{jobBoardCode}", code, "{group}", "complianceEeo").Replace(path)
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete,
			http.MethodPatch} {
			_, described := operations[strings.ToLower(method)]
			require.Equal(t, described, b.ask(method, at, "").Code != http.StatusMethodNotAllowed, "%s %s", method, path)
		}
	}
	require.ElementsMatch(t, []string{"/v2/authentication", "/v2/application", "/v2/job/{jobBoardCode}/question",
		"/feed/jobs.json", "/compliance/{group}", "/openapi.json"}, paths)

	// What is answered is as it is described.
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	whole, err := jsonschema.UnmarshalJSON(strings.NewReader(w.Body.String()))
	require.NoError(t, err)
	require.NoError(t, c.AddResource("openapi.json", whole))
	me := b.bearer(partner)
	for pointer, answer := range map[string]string{
		"/paths/~1v2~1authentication/post/responses/200": b.authenticate(partner, right).Body.String(),
		"/paths/~1v2~1job~1{jobBoardCode}~1question/get/responses/200": b.ask(http.MethodGet, "/v2/job/"+code+"/question",
			"", me...).Body.String(),
		"/paths/~1feed~1jobs.json/get/responses/200": b.ask(http.MethodGet, "/feed/jobs.json?tenant=acme",
			"").Body.String(),
		"/paths/~1compliance~1{group}/get/responses/200": b.ask(http.MethodGet, "/compliance/complianceOfccp",
			"").Body.String(),
		"/components/responses/Error": b.ask(http.MethodGet, "/nothing", "").Body.String(),
		"/components/responses/Invalid": b.apply(application(t, code, []answered{{"x", "y"}}),
			me...).Body.String(),
	} {
		schema, err := c.Compile("openapi.json#" + pointer + "/content/application~1json/schema")
		require.NoError(t, err, pointer)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(value), "%s\n%s", pointer, answer)
	}
	sent, err := c.Compile("openapi.json#/paths/~1v2~1application/post/requestBody/content/application~1json/schema")
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(application(t, code, fine(t))))
	require.NoError(t, err)
	require.NoError(t, sent.Validate(value))
}
