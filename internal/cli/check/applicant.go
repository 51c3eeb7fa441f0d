package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/cli/send"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// applicant is a partner of an Apply API that is checked.
type applicant struct {
	*applyclient.Client
	user, password, job string
	run                 string // marks the applications of this run
	token               string // empty: none was asked for
	questions           []question
	malformed           finding // a question that can't be read; empty: there is none
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

// answerTime is how long a whole exchange may take. Tests take more: their API reads 14 MB with the race detector.
var answerTime = time.Minute

func newApplicant(base, user, password, job string) *applicant {
	client := send.NewClient(atOnce)
	client.Timeout = answerTime
	return &applicant{Client: applyclient.New(base, user, client), user: user, password: password, job: job,
		run: rand.Text()[:8]}
}

// reply is the answer to a request, and how it ended.
type reply struct {
	applyclient.Reply
	took time.Duration
	err  error
}

// got describes the answer to a person.
func (r reply) got() string {
	if r.err != nil {
		if timeout := net.Error(nil); errors.As(r.err, &timeout) && timeout.Timeout() {
			return "no answer within " + answerTime.String()
		}
		return terminal.Cause(r.err).Error()
	}
	text := terminal.StatusText(r.Status)
	if said, _ := r.Problem(); said.Message != nil {
		text += ", " + terminal.Printable(*said.Message)
	}
	if len(r.Body) > 0 && !r.JSON() {
		text += ", Content-Type " + terminal.Printable(cmp.Or(r.Header.Get("Content-Type"), "left out"))
	}
	return text + " in " + terminal.FormatDuration(r.took) + itemsOf(r)
}

func (r reply) refused() bool {
	return r.err == nil && r.Status/100 == 4 && r.Status != http.StatusTooManyRequests
}

// postponed returns the time after which the API takes the request, if that can be waited for.
func (r reply) postponed() time.Duration {
	if r.err != nil {
		return 0
	}
	return postponement(r.Status, webhook.RetryAfter(r.Header.Get("Retry-After"), time.Now()))
}

// unmet is the finding of an answer that is not the wanted one. do is for what the request tried, which is not the reason of each
// answer.
func (r reply) unmet(sent, do string) finding {
	switch {
	case r.err != nil:
		do = "look into the log of the API: it has to answer each request"
	case r.Status/100 == 3:
		do = "answer at this URL: partners need not follow redirects"
	case r.Status == http.StatusTooManyRequests:
		do = "answer so with a Retry-After of a few seconds, after which the request is taken; or take more requests"
	case r.Status/100 == 5:
		do = "look into the log of the API: it failed with this request; " + do
	}
	return finding{Sent: sent, Got: r.got(), Do: do}
}

// described reports whether the error body is as the contract has it.
func (r reply) described() bool {
	_, ok := r.Problem()
	return ok
}

// names reports whether an item of the error body is about the question and says something.
func (r reply) names(id string) bool {
	said, _ := r.Problem()
	for _, item := range said.Errors {
		if item.QuestionID == id && len(item.Messages) > 0 {
			return true
		}
	}
	return false
}

// do sends a request, again where the API postpones it. authorization is the whole header; empty: without one.
func (a *applicant) do(ctx context.Context, method, path, authorization string, body applyclient.Body,
	headers ...http.Header) reply {
	return patiently(ctx, func() reply { return a.doOnce(ctx, method, path, authorization, body, headers...) }, reply.postponed)
}

func (a *applicant) doOnce(ctx context.Context, method, path, authorization string, body applyclient.Body,
	headers ...http.Header) reply {
	all := http.Header{}
	for _, more := range headers {
		maps.Copy(all, more)
	}
	began := time.Now()
	answer, err := a.Send(ctx, method, path, authorization, body, all)
	if answer == nil {
		return reply{err: err}
	}
	return reply{*answer, time.Since(began), err}
}

// authenticate asks for a token.
func (a *applicant) authenticate(ctx context.Context, user, password string) (token string, r reply) {
	r = a.do(ctx, http.MethodPost, applyclient.SignInPath, "", applyclient.Credentials(user, password))
	if r.err == nil {
		token = r.Token()
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
	if r.err != nil || r.Status != http.StatusOK || json.Unmarshal(r.Body, &list) != nil || list == nil {
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
	return a.do(ctx, http.MethodGet, applyclient.QuestionsPath(job), authorization, applyclient.Body{})
}

// apply sends an application.
func (a *applicant) apply(ctx context.Context, job string, answers []applyclient.Answer, headers ...http.Header) reply {
	return a.send(ctx, a.application(job, answers), headers...)
}

func (a *applicant) application(job string, answers []applyclient.Answer) applyclient.Body {
	return applyclient.Application(job, "check-"+a.run, answers)
}

func (a *applicant) send(ctx context.Context, body applyclient.Body, headers ...http.Header) reply {
	return a.do(ctx, http.MethodPost, applyclient.ApplicationPath, "Bearer "+a.token, body, headers...)
}

// answers are sound answers to all questions, of an applicant with an address of its own.
func (a *applicant) answers() []applyclient.Answer {
	var all []applyclient.Answer
	for _, q := range a.questions {
		if q.ID != nil && q.Format != nil {
			all = append(all, applyclient.Answer{QuestionID: *q.ID, Value: a.sound(q)})
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
func without(answers []applyclient.Answer, id string) []applyclient.Answer {
	return slices.DeleteFunc(slices.Clone(answers), func(a applyclient.Answer) bool { return a.QuestionID == id })
}

// with returns the answers with another one to a question.
func with(answers []applyclient.Answer, id, value string) []applyclient.Answer {
	return append(without(answers, id), applyclient.Answer{QuestionID: id, Value: value})
}
