package check

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

const (
	userName = "partner@example.com"
	password = "correct horse"
	jobCode  = "NURSE-1"
)

func init() { answerTime = 10 * time.Minute }

// allowed is how many requests for questions the sound API answers.
const allowed = 30

// applyAPI is a sound Apply API, but for its fault: each of its functions and values can be replaced by one.
type applyAPI struct {
	enter       func(user, given string) int   // status of the authentication; 200: a token
	admit       func(authorization string) int // 0: it goes on
	shown       func([]map[string]any)         // changes the questions that are shown
	contentType string                         // of the questions
	noJob       int                            // status of the questions of an unknown job
	noSuchJob   any                            // errors of an application for an unknown job
	broken      int                            // status of what is not JSON
	first       func(body map[string]any) int  // status of an application before its answers are looked at; 0: it goes on
	overlooks   func(id, value string) bool    // wrong answers that are not seen
	demands     func(given []string) string    // a question that has to be answered, too
	id          func(key string, n int) string // X-Application-Id
	retryAfter  string                         // of 429

	mu           sync.Mutex
	asked, taken int
	keys         map[string]string
	answers      *schemas.Answers
}

func newApplyAPI(t *testing.T) *applyAPI {
	t.Helper()
	five, long := 5, 20
	group := "complianceEeo"
	answers, err := schemas.NewAnswers([]model.Question{
		{ID: "firstName", Format: model.Text, IsRequired: true, Label: "First name"},
		{ID: "email", Format: model.Text, IsRequired: true, Label: "E-mail", Check: "email"},
		{ID: "about", Format: model.Textarea, Label: "About", MaxLength: &long},
		{ID: "resume", Format: model.File, Label: "Resume"},
		{ID: "phone", Format: model.Phone, Label: "Phone"},
		{ID: "start", Format: model.Date, Label: "Start"},
		{ID: "years", Format: model.Number, Label: "Years"},
		{ID: "shifts", Format: model.Checkbox, Label: "Shifts", Options: []string{"Day", "Night | Weekend"}},
		{ID: "short", Format: model.Text, Label: "Short", MaxLength: &five},
		{ID: "gender", Format: model.Select, IsRequired: true, Label: "Gender", Options: []string{"Female", "I decline"}, Group: &group},
		{ID: "licence", Format: model.File, Label: "Licence"},
	})
	require.NoError(t, err)
	return &applyAPI{
		enter: func(user, given string) int {
			if user == userName && given == password {
				return http.StatusOK
			}
			return http.StatusUnauthorized
		},
		admit: func(authorization string) int {
			if authorization == "Bearer the-token" || authorization == "Token the-token" {
				return 0
			}
			return http.StatusUnauthorized
		},
		shown: func([]map[string]any) {}, contentType: "application/json", noJob: 400, broken: 400,
		first:     func(map[string]any) int { return 0 },
		overlooks: func(string, string) bool { return false },
		demands:   func([]string) string { return "" },
		id: func(key string, n int) string {
			if key != "" {
				return key
			}
			return fmt.Sprint(n)
		},
		retryAfter: "1", keys: map[string]string{}, answers: answers,
	}
}

func (a *applyAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	write := func(status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	refuse := func(status int, errors any) {
		write(status, map[string]any{"code": status, "message": "refused", "errors": errors})
	}
	if r.URL.Path == "/v2/authentication" {
		var said struct{ UserName, Password string }
		if json.Unmarshal(body, &said) != nil {
			refuse(400, nil)
			return
		}
		if status := a.enter(said.UserName, said.Password); status != http.StatusOK {
			refuse(status, nil)
			return
		}
		write(http.StatusOK, map[string]string{"token": "the-token"})
		return
	}
	if status := a.admit(r.Header.Get("Authorization")); status != 0 {
		refuse(status, nil)
		return
	}
	if r.URL.Path != "/v2/application" {
		a.show(w, r, refuse)
		return
	}
	var application map[string]any
	if json.Unmarshal(body, &application) != nil {
		refuse(a.broken, nil)
		return
	}
	if application["jobBoardCode"] != jobCode {
		refuse(400, a.noSuchJob)
		return
	}
	if status := a.first(application); status != 0 {
		refuse(status, nil)
		return
	}
	if items := a.wrong(body); len(items) > 0 {
		refuse(400, items)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken++
	w.Header().Set("X-Application-Id", a.id(r.Header.Get("Idempotency-Key"), a.taken))
	w.WriteHeader(http.StatusNoContent)
}

func (a *applyAPI) show(w http.ResponseWriter, r *http.Request, refuse func(int, any)) {
	if r.URL.Path != "/v2/job/"+jobCode+"/question" {
		refuse(a.noJob, nil)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked++; a.asked > allowed {
		if a.retryAfter != "" {
			w.Header().Set("Retry-After", a.retryAfter)
		}
		refuse(http.StatusTooManyRequests, nil)
		return
	}
	raw, _ := json.Marshal(a.answers.Questions())
	var list []map[string]any
	_ = json.Unmarshal(raw, &list)
	a.shown(list)
	w.Header().Set("Content-Type", a.contentType)
	_ = json.NewEncoder(w).Encode(list)
}

// wrong lists what is wrong with the answers of an application.
func (a *applyAPI) wrong(body []byte) (items []map[string]any) {
	var application struct{ Answers []applyclient.Answer }
	_ = json.Unmarshal(body, &application)
	values, ids := map[string]string{}, []string{}
	for _, answer := range application.Answers {
		values[answer.QuestionID], ids = answer.Value, append(ids, answer.QuestionID)
	}
	for _, item := range a.answers.Check(given(a.answers, application.Answers)) {
		if !a.overlooks(item.QuestionID, values[item.QuestionID]) {
			items = append(items, map[string]any{"questionId": item.QuestionID, "messages": item.Messages})
		}
	}
	if id := a.demands(ids); id != "" {
		items = append(items, map[string]any{"questionId": id, "messages": []string{"An answer is required."}})
	}
	return items
}

// overlooking accepts a wrong answer to a question.
func overlooking(id, value string) func(*applyAPI) {
	return func(a *applyAPI) {
		a.overlooks = func(wrong, given string) bool { return wrong == id && strings.HasPrefix(given, value) }
	}
}

// Each check has an Apply API with the fault that it is to find, and the other musts that fail there, with the reason.
var applyFaults = []struct {
	check string
	fault func(*applyAPI)
	also  []string
	why   string
}{
	{check: "C-01", fault: func(a *applyAPI) { a.enter = func(string, string) int { return 403 } }},
	{check: "C-02", fault: func(a *applyAPI) { a.enter = func(string, string) int { return 200 } }},
	{check: "C-03", fault: func(a *applyAPI) {
		enter := a.enter
		a.enter = func(user, given string) int {
			if user != userName {
				return 404
			}
			return enter(user, given)
		}
	}},
	{check: "C-04", fault: func(a *applyAPI) {
		admit := a.admit
		a.admit = func(authorization string) int {
			if authorization == "" {
				return 403
			}
			return admit(authorization)
		}
	}},
	{check: "C-05", fault: func(a *applyAPI) { a.contentType = "text/html" }},
	{check: "C-06", fault: func(a *applyAPI) {
		admit := a.admit
		a.admit = func(authorization string) int {
			if strings.HasPrefix(authorization, "Token ") {
				return 401
			}
			return admit(authorization)
		}
	}},
	{check: "C-07", fault: func(a *applyAPI) { a.shown = func(list []map[string]any) { delete(list[2], "label") } }},
	{check: "C-08", fault: func(a *applyAPI) {
		a.shown = func(list []map[string]any) { list[0]["options"] = []string{"Ada"} }
	}},
	{check: "C-08", fault: func(a *applyAPI) { a.shown = func(list []map[string]any) { list[0]["options"] = []string{} } }},
	{check: "C-09", fault: func(a *applyAPI) { a.shown = func(list []map[string]any) { list[9]["isRequired"] = false } },
		also: []string{"C-12"}, why: "its answer is left out where only required ones are sent"},
	{check: "C-10", fault: func(a *applyAPI) { a.noJob = 404 }},
	{check: "C-11", fault: func(a *applyAPI) {
		a.first = func(body map[string]any) int {
			if len(body["answers"].([]any)) == 11 && !strings.Contains(fmt.Sprint(body), "check-no-option") {
				return 413
			}
			return 0
		}
	}, also: []string{"C-16", "C-17", "C-18", "C-19", "C-20", "C-21", "C-22", "C-23"}, why: "they send as many answers"},
	{check: "C-12", fault: func(a *applyAPI) {
		a.demands = func(given []string) string {
			if !slices.Contains(given, "years") {
				return "years"
			}
			return ""
		}
	}},
	{check: "C-13", fault: overlooking("firstName", "")},
	{check: "C-14", fault: overlooking("gender", "check-")},
	{check: "C-15", fault: overlooking("shifts", "check-")},
	{check: "C-16", fault: overlooking("start", "31.")},
	{check: "C-17", fault: overlooking("years", "forty")},
	{check: "C-18", fault: overlooking("phone", "123")},
	{check: "C-19", fault: overlooking("email", "check.")},
	{check: "C-20", fault: overlooking("resume", "data:")},
	{check: "C-21", fault: overlooking("resume", "TVq")},
	{check: "C-22", fault: overlooking("about", "é")},
	{check: "C-23", fault: overlooking("resume", "Y2hl")},
	{check: "C-23", fault: overlooking("licence", "Y2hl")},
	{check: "C-24", fault: func(a *applyAPI) { a.noSuchJob = []map[string]any{{"questionId": "job", "messages": []string{"?"}}} }},
	{check: "C-25", fault: func(a *applyAPI) { a.broken = 500 }},
	{check: "C-26", fault: func(a *applyAPI) {
		a.first = func(body map[string]any) int {
			if body["check"] != nil {
				return 400
			}
			return 0
		}
	}},
	{check: "C-27", fault: func(a *applyAPI) { a.id = func(_ string, n int) string { return fmt.Sprint(n) } }},
	{check: "C-28", fault: func(a *applyAPI) { a.retryAfter = "" }},
}

// An API that does not number its applications may store them once.
func TestRepetitionWithoutNumbersIsNotJudged(t *testing.T) {
	t.Parallel()
	api := newApplyAPI(t)
	api.id = func(string, int) string { return "" }
	require.Equal(t, skipped, applyResults(t, api, false)["C-27"].Verdict)
}

// applyResults runs all checks on an Apply API; the one with large files, which takes a second, where it is wanted.
func applyResults(t *testing.T, api *applyAPI, large bool) map[string]Result {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	a := newApplicant(server.URL, userName, password, jobCode)
	defer a.Close()
	results := map[string]Result{}
	checks := slices.DeleteFunc(slices.Clone(applyChecks), func(c check[*applicant]) bool { return c.id == "C-23" && !large })
	runAll(t.Context(), checks, a, func(r Result) { results[r.ID] = r })
	require.Len(t, results, len(checks))
	return results
}

func TestSoundApplyAPIPasses(t *testing.T) {
	t.Parallel()
	for _, r := range applyResults(t, newApplyAPI(t), true) {
		require.Equal(t, passed, r.Verdict, "%+v", r)
	}
}

func TestEachApplyCheckFindsItsFault(t *testing.T) {
	t.Parallel()
	proven := map[string]bool{}
	for _, f := range applyFaults {
		proven[f.check] = true
		require.Equal(t, f.also == nil, f.why == "", f.check)
		t.Run(f.check, func(t *testing.T) {
			t.Parallel()
			api := newApplyAPI(t)
			f.fault(api)
			results := applyResults(t, api, f.check == "C-23" || slices.Contains(f.also, "C-23"))
			proves(t, results, f.check, f.also, passed, skipped)
		})
	}
	for _, c := range applyChecks {
		require.True(t, proven[c.id], "%s has no Apply API with its fault", c.id)
	}
}
