package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/cli/send"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// applicant is a partner of an Apply API that is checked.
type applicant struct {
	base, user, password, job string
	client                    *http.Client
	run                       string // marks the applications of this run
	token                     string // empty: none was asked for
	questions                 []question
	malformed                 finding // a question that can't be read; empty: there is none
}

// question is a question as an Apply API shows it (contract, Resources, C). Members that can be null are pointers.
type question struct {
	ID         *string       `json:"id"`
	Format     *model.Format `json:"format"`
	IsRequired *bool         `json:"isRequired"`
	Label      *string       `json:"label"`
	Options    []string      `json:"options"`
	MaxLength  *int          `json:"maxLength"`
	Group      *string       `json:"group"`
}

// answered is an answer to a question (contract, Resources, C).
type answered struct {
	QuestionID string `json:"questionId"`
	Value      string `json:"value"`
}

const mostOfAnAnswer = 4 << 20 // bytes of an answer that are read

// answerTime is how long a whole exchange may take. Tests take more: their API reads 14 MB with the race detector.
var answerTime = time.Minute

func newApplicant(base, user, password, job string) *applicant {
	client := send.NewClient(atOnce)
	client.Timeout = answerTime
	// A redirect is an answer: elsewhere nobody asked for the password and the applicants.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &applicant{base: strings.TrimRight(base, "/"), user: user, password: password, job: job, client: client,
		run: rand.Text()[:8]}
}

// reply is the answer to a request, and how it ended.
type reply struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
	err    error
}

// got describes the answer to a person.
func (r reply) got() string {
	if r.err != nil {
		if timeout := net.Error(nil); errors.As(r.err, &timeout) && timeout.Timeout() {
			return "no answer within " + answerTime.String()
		}
		return terminal.Cause(r.err).Error()
	}
	text := terminal.StatusText(r.status)
	if said := r.problem(); said.Message != nil {
		text += ", " + terminal.Printable(*said.Message)
	}
	if len(r.body) > 0 && !r.json() {
		text += ", Content-Type " + terminal.Printable(cmp.Or(r.header.Get("Content-Type"), "left out"))
	}
	return text + " in " + terminal.FormatDuration(r.took) + itemsOf(r)
}

func (r reply) refused() bool {
	return r.err == nil && r.status/100 == 4 && r.status != http.StatusTooManyRequests
}

// json reports whether the answer says that it is JSON (contract, Endpoints, C).
func (r reply) json() bool {
	media, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// postponed returns the time after which the API takes the request, if that can be waited for.
func (r reply) postponed() time.Duration {
	if r.err != nil {
		return 0
	}
	return postponement(r.status, webhook.RetryAfter(r.header.Get("Retry-After"), time.Now()))
}

// unmet is the finding of an answer that is not the wanted one. do is for what the request tried, which is not the reason of each
// answer.
func (r reply) unmet(sent, do string) finding {
	switch {
	case r.err != nil:
		do = "look into the log of the API: it has to answer each request"
	case r.status/100 == 3:
		do = "answer at this URL: partners need not follow redirects"
	case r.status == http.StatusTooManyRequests:
		do = "answer so with a Retry-After of a few seconds, after which the request is taken; or take more requests"
	case r.status/100 == 5:
		do = "look into the log of the API: it failed with this request; " + do
	}
	return finding{Sent: sent, Got: r.got(), Do: do}
}

// problem is an error body (contract, Resources, C).
type problem struct {
	Code    *int    `json:"code"`
	Message *string `json:"message"`
	Errors  []struct {
		QuestionID string   `json:"questionId"`
		Messages   []string `json:"messages"`
	} `json:"errors"`
}

func (r reply) problem() (p problem) {
	_ = json.Unmarshal(r.body, &p) // another body has no members
	return p
}

// described reports whether the error body is as the contract has it: code, which is the status, and message.
func (r reply) described() bool {
	p := r.problem()
	return p.Code != nil && *p.Code == r.status && p.Message != nil && *p.Message != ""
}

// names reports whether an item of the error body is about the question and says something.
func (r reply) names(id string) bool {
	for _, item := range r.problem().Errors {
		if item.QuestionID == id && len(item.Messages) > 0 {
			return true
		}
	}
	return false
}

// do sends a request, again where the API postpones it. authorization is the whole header; empty: without one.
func (a *applicant) do(ctx context.Context, method, path, authorization string, body []byte, edits ...func(*http.Request)) reply {
	return patiently(ctx, func() reply { return a.doOnce(ctx, method, path, authorization, body, edits...) }, reply.postponed)
}

func (a *applicant) doOnce(ctx context.Context, method, path, authorization string, body []byte, edits ...func(*http.Request)) reply {
	request, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	for _, edit := range edits {
		edit(request)
	}
	began := time.Now()
	answer, err := a.client.Do(request)
	if err != nil {
		return reply{err: err}
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, mostOfAnAnswer))
	return reply{answer.StatusCode, answer.Header, raw, time.Since(began), err}
}

// authenticate asks for a token.
func (a *applicant) authenticate(ctx context.Context, user, password string) (token string, r reply) {
	r = a.do(ctx, http.MethodPost, "/v2/authentication", "", encode(map[string]string{"userName": user, "password": password}))
	var said struct{ Token string }
	if r.err == nil && r.status == http.StatusOK && json.Unmarshal(r.body, &said) == nil {
		token = said.Token
	}
	return token, r
}

// ready gets a token and the job's questions, once. Its finding says what is missing for the checks that need them.
func (a *applicant) ready(ctx context.Context) finding {
	if a.questions != nil {
		return finding{}
	}
	token, r := a.authenticate(ctx, a.user, a.password)
	if token == "" {
		return finding{Skipped: "there is no token: " + r.got()}
	}
	a.token = token
	r = a.ask(ctx, a.job, "Bearer "+token)
	questions, malformed, ok := questionsOf(r)
	switch {
	case !ok:
		return finding{Skipped: "the job's questions can't be read: " + r.got()}
	case malformed.Do != "":
		a.malformed = malformed
		return finding{Skipped: "the job's questions can't be read: see C-07"}
	case len(questions) == 0:
		return finding{Skipped: "the job asks no questions: name another one with --job"}
	}
	a.questions = questions
	return finding{}
}

// questionsOf reads the questions of an answer. ok reports whether it has an array; malformed says what is wrong with one of its
// elements.
func questionsOf(r reply) (questions []question, malformed finding, ok bool) {
	var list []json.RawMessage
	if r.err != nil || r.status != http.StatusOK || json.Unmarshal(r.body, &list) != nil || list == nil {
		return nil, finding{}, false
	}
	for n, raw := range list {
		var q question
		err := json.Unmarshal(raw, &q)
		if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
			return nil, wrongQuestion(n, strings.TrimSpace(wrong.Field+" is a JSON "+wrong.Value),
				"send id, format, label and group as strings, isRequired as a boolean, options as an array of strings, maxLength as an integer"), true
		}
		questions = append(questions, q)
	}
	return questions, finding{}, true
}

func (a *applicant) ask(ctx context.Context, job, authorization string) reply {
	return a.do(ctx, http.MethodGet, questionsPath(job), authorization, nil)
}

func questionsPath(job string) string { return "/v2/job/" + url.PathEscape(job) + "/question" }

// apply sends an application.
func (a *applicant) apply(ctx context.Context, job string, answers []answered, edits ...func(*http.Request)) reply {
	return a.send(ctx, encode(map[string]any{"jobBoardCode": job, "source": "check-" + a.run, "answers": answers}), edits...)
}

func (a *applicant) send(ctx context.Context, body []byte, edits ...func(*http.Request)) reply {
	return a.do(ctx, http.MethodPost, "/v2/application", "Bearer "+a.token, body, edits...)
}

// answers are sound answers to all questions, of an applicant with an address of its own.
func (a *applicant) answers() []answered {
	var all []answered
	for _, q := range a.questions {
		if q.ID != nil && q.Format != nil {
			all = append(all, answered{*q.ID, a.sound(q)})
		}
	}
	return all
}

// sound is a right answer to a question.
func (a *applicant) sound(q question) string {
	if *q.ID == "email" {
		return strings.ToLower("check-" + a.run + "-" + rand.Text()[:8] + "@example.com")
	}
	switch *q.Format {
	case model.Checkbox, model.Select:
		if len(q.Options) == 0 {
			return ""
		}
		if *q.Format == model.Select {
			return q.Options[len(q.Options)-1]
		}
		return model.JoinOptions(q.Options[:1])
	case model.Date:
		return time.Now().UTC().Format(time.DateOnly)
	case model.File:
		return file(1000)
	case model.Number:
		return "42"
	case model.Phone:
		return "+1 555 0100 199"
	}
	text := "check-" + a.run
	if q.MaxLength != nil {
		text = text[:min(len(text), *q.MaxLength)]
	}
	return text
}

// file is a text of that many bytes, in base64.
func file(size int) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("check\n"), size/6+1)[:size])
}

// first is the first question that has what is looked for.
func (a *applicant) first(has func(question) bool) (question, bool) {
	n := slices.IndexFunc(a.questions, func(q question) bool { return q.ID != nil && q.Format != nil && has(q) })
	if n < 0 {
		return question{}, false
	}
	return a.questions[n], true
}

// without returns the answers without the one to a question.
func without(answers []answered, id string) []answered {
	return slices.DeleteFunc(slices.Clone(answers), func(a answered) bool { return a.QuestionID == id })
}

// with returns the answers with another one to a question.
func with(answers []answered, id, value string) []answered {
	return append(without(answers, id), answered{id, value})
}

func encode(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("check: %v", err)) // strings, lists and maps of them always can be
	}
	return raw
}
