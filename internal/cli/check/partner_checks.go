package check

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

// mostAfterFailure is how many applications may come while the service answers 500.
const mostAfterFailure = 3

var partnerChecks = []check[*service]{
	{"D-01", "A token is asked for with userName and password, as JSON.", applyEndpoints, Must,
		func(_ context.Context, s *service) finding {
			if s.count(asksToken) == 0 {
				return finding{Sent: "the address, the user name and the password", Got: "no request POST /v2/authentication",
					Do: "ask for a token first, with POST /v2/authentication below the address that this command shows"}
			}
			return s.some(asksToken, "a token", func(o observation) string {
				if o.status != http.StatusOK {
					return "the user name or the password was another one, or the body no JSON object of userName and password"
				}
				return ""
			}, "send the user name and the password that this command shows")
		}},
	{"D-02", "The token is sent as Authorization: Bearer, or Token.", applyAuthentication, Must,
		func(_ context.Context, s *service) finding {
			scheme := func(o observation) string {
				if !strings.HasPrefix(o.authorization, "Bearer ") && !strings.HasPrefix(o.authorization, "Token ") {
					return "a request for " + string(o.kind) + " whose header Authorization began otherwise, or was not there"
				}
				return ""
			}
			const do = "send Authorization: Bearer and the token with each request but the first"
			found := s.every(asksQuestions, "a token", scheme, do)
			if applied := s.every(applies, "a token", scheme, do); found.Do == "" && applied.Skipped == "" {
				return applied
			}
			return found
		}},
	{"D-03", "A token is used again: it is asked for once, and again after a 401.", applyAuthentication, Should,
		func(_ context.Context, s *service) finding {
			asked, refused := 0, 0
			for _, o := range s.seen {
				switch {
				case o.kind == asksToken && o.status == http.StatusOK:
					asked++
				case o.status == http.StatusUnauthorized && o.kind != asksToken:
					refused++
				}
			}
			if asked == 0 {
				return finding{Skipped: "no token was asked for"}
			}
			if asked > 1+refused {
				return finding{Sent: fmt.Sprintf("a token, and 401 as often as: %d", refused), Got: fmt.Sprintf("%d requests for a token", asked),
					Do: "keep the token, from one start of the client to the next as well: it is valid for 48 hours; ask for another one " +
						"after a 401"}
			}
			return finding{}
		}},
	{"D-04", "After a 401 a new token is asked for, and the application is sent again.", applyAuthentication, Must,
		func(_ context.Context, s *service) finding {
			for n, o := range s.seen {
				if o.kind != applies || o.status != http.StatusUnauthorized || !o.current {
					continue
				}
				rest := s.seen[n+1:]
				if slices.ContainsFunc(rest, func(o observation) bool { return o.kind == applies && o.current }) {
					return finding{}
				}
				return finding{Sent: "401: the token has ended", Got: fmt.Sprintf("%d other requests, and no application with a new token",
					len(rest)), Do: "ask for a token, and send the application again"}
			}
			return finding{Skipped: "no application came so far that it was answered 401"}
		}},
	{"D-05", "The job's questions are read before an application is sent.", applyEndpoints, Must,
		func(_ context.Context, s *service) finding {
			first := slices.IndexFunc(s.seen, func(o observation) bool { return o.kind == applies })
			if first < 0 {
				return finding{Skipped: "no application came"}
			}
			if !slices.ContainsFunc(s.seen[:first], func(o observation) bool {
				return o.kind == asksQuestions && o.status == http.StatusOK
			}) {
				return finding{Sent: "nothing yet", Got: "an application", Do: "read what the job asks each time: questions change"}
			}
			return finding{}
		}},
	{"D-06", "Only what the job asks is answered, each question once.", applyEndpoints, Must,
		func(_ context.Context, s *service) finding {
			return s.everyAnswer("the questions of the job", func(_ model.Question, known bool, _ any, again bool) string {
				switch {
				case !known:
					return "an answer to a question that the job does not ask"
				case again:
					return "two answers to one question"
				}
				return ""
			}, "answer the questions that were read, each once")
		}},
	{"D-07", "Every required question is answered.", applyResources, Must,
		func(_ context.Context, s *service) finding {
			return s.every(applies, "applications", func(o observation) string {
				a, err := o.application()
				if err != nil {
					return "" // that is another check
				}
				for _, q := range s.answers.Questions() {
					if q.IsRequired && !slices.ContainsFunc(a.Answers, func(one struct{ QuestionID, Value any }) bool {
						return one.QuestionID == q.ID && one.Value != ""
					}) {
						return "no answer to " + q.ID
					}
				}
				return ""
			}, "answer each question with isRequired")
		}},
	{"D-08", "Every value is a string, also numbers and choices.", applyResources, Must,
		func(_ context.Context, s *service) finding {
			return s.everyAnswer("questions", func(_ model.Question, _ bool, value any, _ bool) string {
				if _, ok := value.(string); !ok {
					return "a value that is no string"
				}
				return ""
			}, `write {"questionId": "…", "value": "…"}`)
		}},
	{"D-09", "Options of a Checkbox are joined by pipes, and a pipe inside an option is escaped.", applyEndpoints, Must,
		ofOneFormat(model.Checkbox, `write \| for each pipe of an option, and | between options`)},
	{"D-10", "A Select answer is exactly one of the options.", applyEndpoints, Must,
		ofOneFormat(model.Select, "send the option as it was read")},
	{"D-11", "A Date answer is YYYY-MM-DD.", applyEndpoints, Must, ofOneFormat(model.Date, "write 2026-11-25")},
	{"D-12", "A Number answer is a numeric string.", applyEndpoints, Must, ofOneFormat(model.Number, "write digits alone")},
	{"D-13", "A file is the base64 of its content, without data: in front.", applyEndpoints, Must,
		func(_ context.Context, s *service) finding {
			return s.everyAnswer("a question for a resume", func(q model.Question, _ bool, value any, _ bool) string {
				if text, ok := value.(string); ok && q.Format == model.File {
					if _, err := base64.StdEncoding.DecodeString(text); err != nil {
						return "a value that is not base64"
					}
				}
				return ""
			}, "send the base64 of the bytes, in the standard alphabet with padding, and nothing in front of it")
		}},
	{"D-14", "A resume is smaller than 2 MB and of an accepted type.", applyLimits, Must,
		func(_ context.Context, s *service) finding {
			return s.every(applies, "a question for a resume", func(o observation) string {
				var a struct{ Answers []applyclient.Answer }
				if json.Unmarshal(o.body, &a) != nil {
					return ""
				}
				files := given(s.answers, a.Answers)
				files = slices.DeleteFunc(files, func(one schemas.Answer) bool { return one.QuestionID != "resume" || one.Fault != "" })
				if len(files) > 0 && slices.ContainsFunc(s.answers.Check(files), func(wrong schemas.InvalidAnswer) bool {
					return wrong.QuestionID == "resume"
				}) {
					return "a resume that is too large, or not of an accepted type"
				}
				return ""
			}, "look at size and type before you send it")
		}},
	{"D-15", "After a 429 the next application comes when Retry-After is over.", applyDecisions, Must,
		func(_ context.Context, s *service) finding {
			var limited *observation
			for _, o := range s.seen {
				if o.kind != applies {
					continue
				}
				if limited != nil {
					if wait := o.at.Sub(limited.at); wait < s.retryAfter {
						return finding{Sent: "429 with Retry-After: " + terminal.FormatDuration(s.retryAfter),
							Got: "the next application after " + terminal.FormatDuration(wait), Do: "wait as long as Retry-After says"}
					}
					return finding{}
				}
				if o.status == http.StatusTooManyRequests {
					limited = &o
				}
			}
			return finding{Skipped: "no application came after a 429"}
		}},
	{"D-16", "After a 500 it is tried again a few times, not without end.", applyDecisions, Must,
		func(_ context.Context, s *service) finding {
			failures, later := 0, 0
			for _, o := range s.seen {
				switch {
				case o.status == http.StatusInternalServerError:
					failures++
				case o.kind == applies && failures > 0:
					later++
				}
			}
			if failures == 0 {
				return finding{Skipped: "no application came so far that it was answered 500"}
			}
			if failures+later == 1 {
				return finding{Skipped: "no application came after the 500: start the client again where it does not repeat by itself"}
			}
			if failures > mostAfterFailure {
				return finding{Sent: "500", Got: fmt.Sprintf("%d applications in %s", failures, terminal.FormatDuration(s.storm)),
					Do: "wait a second, then twice as long each time"}
			}
			return finding{}
		}},
	{"D-17", "What was refused with 400 is not sent again unchanged.", applyErrors, Must,
		func(_ context.Context, s *service) finding {
			var refused []byte
			for _, o := range s.seen {
				switch {
				case o.kind != applies:
				case o.status == http.StatusBadRequest:
					if bytes.Equal(refused, o.body) {
						return sameAgain
					}
					refused = o.body
				case refused != nil && bytes.Equal(refused, o.body):
					return sameAgain
				}
			}
			if refused == nil {
				return finding{Skipped: "no application came so far that it was refused"}
			}
			return finding{}
		}},
	{"D-18", "An application that is sent again has its Idempotency-Key.", applyDecisions, Should,
		func(_ context.Context, s *service) finding {
			keys, repeated := map[string]string{}, false // by body
			for _, o := range s.seen {
				if o.kind != applies {
					continue
				}
				before, again := keys[string(o.body)]
				if again && (o.key == "" || before != o.key) {
					return finding{Sent: "an answer after which an application is sent again", Got: "no Idempotency-Key, or another one",
						Do: "send a new Idempotency-Key with each application, and the same one when it is sent again: it is stored once"}
				}
				keys[string(o.body)], repeated = o.key, repeated || again
			}
			if !repeated {
				return finding{Skipped: "no application was sent again unchanged"}
			}
			return finding{}
		}},
}

var sameAgain = finding{Sent: "400 with an item in errors", Got: "the same application again",
	Do: "show the messages to the applicant, and send what they correct"}

// count returns how many requests of a kind came.
func (s *service) count(k kind) (n int) {
	for _, o := range s.seen {
		if o.kind == k {
			n++
		}
	}
	return n
}

// every demands something of all requests of a kind. wrong returns what is wrong with one; empty: nothing.
func (s *service) every(k kind, sent string, wrong func(observation) string, do string) finding {
	none := true
	for _, o := range s.seen {
		if o.kind != k {
			continue
		}
		none = false
		if got := wrong(o); got != "" {
			return finding{Sent: sent, Got: got, Do: do}
		}
	}
	if none {
		return finding{Skipped: "no request for " + string(k) + " came"}
	}
	return finding{}
}

// some demands that one request of a kind at least is right.
func (s *service) some(k kind, sent string, wrong func(observation) string, do string) finding {
	for _, o := range s.seen {
		if o.kind == k && wrong(o) == "" {
			return finding{}
		}
	}
	return s.every(k, sent, wrong, do)
}

// everyAnswer demands something of all answers of all applications.
func (s *service) everyAnswer(sent string, wrong func(q model.Question, known bool, value any, again bool) string, do string) finding {
	return s.every(applies, sent, func(o observation) string {
		a, err := o.application()
		if err != nil {
			return "a body that is not an application: " + err.Error()
		}
		seen := map[string]bool{}
		for _, one := range a.Answers {
			id, _ := one.QuestionID.(string)
			q, known := s.answers.Question(id)
			if q == nil {
				q = new(model.Question)
			}
			if got := wrong(*q, known, one.Value, seen[id]); got != "" {
				return got
			}
			seen[id] = true
		}
		return ""
	}, do)
}

// ofOneFormat is the check of the answers to the questions of a format.
func ofOneFormat(f model.Format, do string) func(context.Context, *service) finding {
	return func(_ context.Context, s *service) finding {
		return s.every(applies, "a question of the format "+string(f), func(o observation) string {
			var a struct{ Answers []applyclient.Answer }
			if json.Unmarshal(o.body, &a) != nil {
				return ""
			}
			for _, wrong := range s.answers.Check(given(s.answers, a.Answers)) {
				if wrong.Format == f && slices.ContainsFunc(a.Answers, func(one applyclient.Answer) bool {
					return one.QuestionID == wrong.QuestionID && one.Value != ""
				}) {
					return strings.Join(wrong.Messages, " ")
				}
			}
			return ""
		}, do)
	}
}
