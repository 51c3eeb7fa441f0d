package check

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// The places of the requirements of an Apply API, as those of a receiver.
const (
	applyAuthentication = "Authentication 2"
	applyResources      = "Resources and their fields, C"
	applyEndpoints      = "Endpoints, C"
	applyErrors         = "Errors"
	applyLimits         = "Limits"
	applyDecisions      = "Decisions, Apply API"
)

const (
	describe  = "answer with application/json: an object of code, which is the status, and message"
	nameIt    = "answer 400 with an item in errors that has the question's id and a message"
	takeSound = "accept what the questions ask for, and answer 204"
)

var applyChecks = []check[*applicant]{
	{"C-01", "The right user name and password get a token, with 200 and application/json.", applyResources, Must,
		func(ctx context.Context, a *applicant) finding {
			if token, r := a.authenticate(ctx, a.user, a.password); token == "" || !r.JSON() {
				return r.unmet("user name and password", `answer 200 and application/json with {"token": "…"}`)
			}
			return finding{}
		}},
	{"C-02", "A wrong password is refused with 4xx.", applyDecisions, Must,
		func(ctx context.Context, a *applicant) finding {
			if _, r := a.authenticate(ctx, a.user, a.password+"x"); !r.refused() {
				return r.unmet("a wrong password", "answer 401")
			}
			return finding{}
		}},
	{"C-03", "An unknown user is refused as a wrong password is.", applyDecisions, Should,
		func(ctx context.Context, a *applicant) finding {
			_, wrong := a.authenticate(ctx, a.user, a.password+"x")
			_, unknown := a.authenticate(ctx, "check-"+a.run+"@example.com", a.password)
			if !unknown.refused() || unknown.Status != wrong.Status {
				return unknown.unmet("an unknown user name", fmt.Sprintf("answer %d, as for a wrong password, "+
					"so that nobody learns who has an account", wrong.Status))
			}
			return finding{}
		}},
	{"C-04", "Questions and applications need a token: without one the answer is 401.", applyAuthentication, Must,
		func(ctx context.Context, a *applicant) finding {
			for what, r := range map[string]reply{
				"a request for questions without a token":     a.ask(ctx, a.job, ""),
				"a request for questions with a wrong token":  a.ask(ctx, a.job, "Bearer check-"+a.run),
				"an application without a token":              a.do(ctx, http.MethodPost, applyclient.ApplicationPath, "", applyclient.Bytes([]byte("{}"))),
				"a request for questions with Basic and name": a.ask(ctx, a.job, "Basic Y2hlY2s6Y2hlY2s="),
			} {
				if r.err != nil || r.Status != http.StatusUnauthorized {
					return r.unmet(what, "answer 401: partners ask for a new token then")
				}
			}
			return finding{}
		}},
	{"C-05", "A job's questions come as an array, with 200 and application/json.", applyEndpoints, Must,
		func(ctx context.Context, a *applicant) finding {
			if found := a.ready(ctx); found.Skipped != "" && a.token == "" {
				return found
			}
			r := a.ask(ctx, a.job, "Bearer "+a.token)
			if _, _, ok := questionsOf(r); !ok || !r.JSON() {
				return r.unmet("a request for the questions of "+a.job, "answer 200 and application/json with an array of questions")
			}
			return finding{}
		}},
	{"C-06", "The scheme word Token is taken as well as Bearer.", applyAuthentication, Should,
		prepared(func(ctx context.Context, a *applicant) finding {
			if r := a.ask(ctx, a.job, "Token "+a.token); r.err != nil || r.Status != http.StatusOK {
				return r.unmet("Authorization: Token …", "take both: the contract shows both")
			}
			return finding{}
		})},
	{"C-07", "A question has id, format, isRequired and label; the format is one of the eight; ids are unique.", applyResources, Must,
		func(ctx context.Context, a *applicant) finding {
			if found := a.ready(ctx); found.Skipped != "" {
				return cmp.Or(a.malformed, found)
			}
			seen := map[string]bool{}
			for n, q := range a.questions {
				switch {
				case q.ID == nil, q.Format == nil, q.IsRequired == nil, q.Label == nil:
					return wrongQuestion(n, "one of its members is missing", "send id, format, isRequired and label")
				case !slices.Contains(model.Formats, *q.Format):
					return wrongQuestion(n, "its format is "+terminal.Printable(string(*q.Format)), "use one of the contract's formats")
				case seen[*q.ID]:
					return wrongQuestion(n, "its id is that of another one", "give each question an id of its own")
				}
				seen[*q.ID] = true
			}
			return finding{}
		}},
	{"C-08", "Checkbox and Select have options; the other formats have null.", applyResources, Must,
		prepared(func(_ context.Context, a *applicant) finding {
			for n, q := range a.questions {
				choice := q.Format != nil && (*q.Format == model.Checkbox || *q.Format == model.Select)
				if choice && len(q.Options) == 0 || !choice && q.Options != nil {
					return wrongQuestion(n, fmt.Sprintf("it has %d options", len(q.Options)),
						"send options for Checkbox and Select, and null for the other formats")
				}
			}
			return finding{}
		})},
	{"C-09", "Questions of a compliance group are required.", "Versioning 2", Must,
		prepared(func(_ context.Context, a *applicant) finding {
			for n, q := range a.questions {
				if q.Group == nil {
					continue
				}
				if !slices.Contains([]string{"complianceEeo", "complianceOfccp", "complianceVevraa"}, *q.Group) {
					return wrongQuestion(n, "its group is "+terminal.Printable(*q.Group), "use one of the contract's groups, or null")
				}
				if q.IsRequired == nil || !*q.IsRequired {
					return wrongQuestion(n, "it is not required", "require what a compliance group asks")
				}
			}
			return finding{}
		})},
	{"C-10", "An unknown job is answered with 400, code and message, as application/json.", applyErrors, Must,
		prepared(func(ctx context.Context, a *applicant) finding {
			if r := a.ask(ctx, "check-"+a.run, "Bearer "+a.token); r.Status != http.StatusBadRequest || !r.described() || !r.JSON() {
				return r.unmet("a request for the questions of an unknown job", "answer 400; "+describe)
			}
			return finding{}
		})},
	{"C-11", "An application with sound answers is accepted: 204 without a body.", applyEndpoints, Must,
		prepared(func(ctx context.Context, a *applicant) finding {
			r := a.apply(ctx, a.job, a.answers())
			if r.err != nil || r.Status != http.StatusNoContent || len(r.Body) > 0 {
				return r.unmet("sound answers to every question", takeSound)
			}
			return finding{}
		})},
	{"C-12", "An application with the required answers alone is accepted.", applyResources, Must,
		prepared(func(ctx context.Context, a *applicant) finding {
			answers := a.answers()
			for _, q := range a.questions {
				if q.ID != nil && q.IsRequired != nil && !*q.IsRequired {
					answers = without(answers, *q.ID)
				}
			}
			if r := a.apply(ctx, a.job, answers); r.err != nil || r.Status != http.StatusNoContent {
				return r.unmet("answers to the required questions", takeSound)
			}
			return finding{}
		})},
	{"C-13", "A missing answer to a required question is named.", applyErrors, Must,
		prepared(func(ctx context.Context, a *applicant) finding {
			q, ok := a.first(func(q question) bool { return q.IsRequired != nil && *q.IsRequired })
			if !ok {
				return finding{Skipped: "the job requires no answer"}
			}
			r := a.apply(ctx, a.job, without(a.answers(), *q.ID))
			return named(r, *q.ID, "no answer to "+*q.ID)
		})},
	wrongAnswer("C-14", "A Select answer that is no option is named.", "check-no-option", ofFormat(model.Select)),
	wrongAnswer("C-15", "A Checkbox answer with something that is no option is named.", "check-no-option", ofFormat(model.Checkbox)),
	wrongAnswer("C-16", "A Date answer that is not YYYY-MM-DD is named.", "31.12.2026", ofFormat(model.Date)),
	wrongAnswer("C-17", "A Number answer that is no number is named.", "forty-two", ofFormat(model.Number)),
	wrongAnswer("C-18", "A Phone answer with six digits is named.", "123 456", ofFormat(model.Phone)),
	wrongAnswer("C-19", "An e-mail address without @ is named.", "check.example.com",
		func(q question) bool { return *q.ID == "email" }),
	wrongAnswer("C-20", "A File answer that is not base64 is named.", "data:text/plain,check", ofFormat(model.File)),
	wrongAnswer("C-21", "A File answer of a type that is not accepted is named.", "TVqQAAMAAAAEAAAA//8AALgAAAAAAAAAQAAAAAAAAAA=",
		ofFormat(model.File)),
	{"C-22", "A text longer than maxLength is named, and one of exactly that length is accepted.", applyLimits, Must,
		prepared(func(ctx context.Context, a *applicant) finding {
			q, ok := a.first(func(q question) bool {
				return q.MaxLength != nil && *q.ID != "email" && (*q.Format == model.Text || *q.Format == model.Textarea)
			})
			if !ok {
				return finding{Skipped: "no text of the job has a maxLength"}
			}
			text := strings.Repeat("é", *q.MaxLength) // characters count, not bytes
			if r := a.apply(ctx, a.job, with(a.answers(), *q.ID, text)); r.Status != http.StatusNoContent {
				return r.unmet(fmt.Sprintf("%d characters as the answer to %s", *q.MaxLength, *q.ID),
					"count characters, accept maxLength of them, and answer 204")
			}
			return named(a.apply(ctx, a.job, with(a.answers(), *q.ID, text+"é")), *q.ID, "one character more than maxLength")
		})},
	{"C-23", "A file below its limit is accepted, and one above is named: 2 MB for resume, 10 MB for others.", applyLimits, Must,
		prepared(func(ctx context.Context, a *applicant) finding {
			found := finding{Skipped: "the job asks for no file"}
			for _, q := range a.questions {
				if q.ID == nil || q.Format == nil || *q.Format != model.File {
					continue
				}
				most := 10
				if *q.ID == "resume" {
					most = 2
				}
				below, above := file(most*1_000_000-1), file(most<<20) // some read MB as MiB: sizes between them are not tried
				if r := a.apply(ctx, a.job, with(a.answers(), *q.ID, below)); r.Status != http.StatusNoContent {
					return r.unmet(fmt.Sprintf("a file of a byte less than %d MB as the answer to %s", most, *q.ID), takeSound)
				}
				sent := fmt.Sprintf("a file of %d MiB as the answer to %s", most, *q.ID)
				if found = named(a.apply(ctx, a.job, with(a.answers(), *q.ID, above)), *q.ID, sent); found.Do != "" {
					return found
				}
			}
			return found
		})},
	{"C-24", "An application for an unknown job is answered with 400 and errors null.", applyErrors, Must,
		prepared(func(ctx context.Context, a *applicant) finding {
			r := a.apply(ctx, "check-"+a.run, a.answers())
			if said, ok := r.Problem(); r.Status != http.StatusBadRequest || !ok || !r.JSON() || said.Errors != nil {
				return r.unmet("an application for an unknown job", "answer 400; "+describe+", and errors null")
			}
			return finding{}
		})},
	{"C-25", "An application that is not JSON is refused with 4xx, code and message.", applyErrors, Must,
		prepared(func(ctx context.Context, a *applicant) finding {
			if r := a.send(ctx, applyclient.Bytes([]byte(`{"jobBoardCode": `))); !r.refused() || !r.described() || !r.JSON() {
				return r.unmet("broken JSON", describe)
			}
			return finding{}
		})},
	{"C-26", "Unknown members of an application are ignored.", applyDecisions, Should,
		prepared(func(ctx context.Context, a *applicant) finding {
			in := a.application(a.job, a.answers()).Open()
			defer in.Close()
			body, _ := io.ReadAll(in) // it has no files, whose errors these would be
			if r := a.send(ctx, applyclient.Bytes(append([]byte(`{"check":true,`), body[1:]...))); r.Status != http.StatusNoContent {
				return r.unmet("an application with an unknown member", "ignore what you don't know, and answer 204")
			}
			return finding{}
		})},
	{"C-27", "An application that is sent again with its Idempotency-Key is stored once.", applyDecisions, Should,
		prepared(func(ctx context.Context, a *applicant) finding {
			body := a.application(a.job, a.answers())
			key := http.Header{"Idempotency-Key": {"check-" + a.run}}
			first, again := a.send(ctx, body, key), a.send(ctx, body, key)
			id := first.Header.Get("X-Application-Id")
			if first.Status == http.StatusNoContent && again.Status == http.StatusNoContent && id+again.Header.Get("X-Application-Id") == "" {
				return finding{Skipped: "both were answered 204 without X-Application-Id, so whether one is stored can't be told"}
			}
			if first.Status != http.StatusNoContent || again.Status != http.StatusNoContent || id == "" ||
				id != again.Header.Get("X-Application-Id") {
				return finding{Sent: "an application twice, with one Idempotency-Key", Got: first.got() + ", then " + again.got(),
					Do: "answer 204 both times, with one X-Application-Id"}
			}
			return finding{}
		})},
	{"C-28", "Whoever sends too much is answered with 429 and Retry-After.", applyDecisions, Should,
		prepared(func(ctx context.Context, a *applicant) finding {
			replies := make([]reply, 3*atOnce)
			var asking sync.WaitGroup
			for n := range replies {
				asking.Go(func() {
					replies[n] = a.doOnce(ctx, http.MethodGet, applyclient.QuestionsPath(a.job), "Bearer "+a.token, applyclient.Body{})
				})
			}
			asking.Wait()
			refused := slices.DeleteFunc(replies, func(r reply) bool { return r.err == nil && r.Status == http.StatusOK })
			for _, r := range refused {
				if r.Status != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" {
					return finding{Sent: fmt.Sprintf("%d requests at once", 3*atOnce), Got: r.got(), Do: "answer 429 with Retry-After"}
				}
			}
			if len(refused) == 0 {
				return finding{Skipped: fmt.Sprintf("%d requests at once were answered", 3*atOnce)}
			}
			return finding{}
		})},
}

// prepared is a check that needs a token and the questions.
func prepared(run func(context.Context, *applicant) finding) func(context.Context, *applicant) finding {
	return func(ctx context.Context, a *applicant) finding {
		if found := a.ready(ctx); found.Skipped != "" {
			return found
		}
		return run(ctx, a)
	}
}

func ofFormat(f model.Format) func(question) bool {
	return func(q question) bool { return *q.Format == f }
}

// wrongAnswer is a check that sends one wrong answer, beside sound ones.
func wrongAnswer(id, requirement, value string, to func(question) bool) check[*applicant] {
	return check[*applicant]{id, requirement, applyEndpoints, Must, prepared(func(ctx context.Context, a *applicant) finding {
		q, ok := a.first(to)
		if !ok {
			return finding{Skipped: "the job has no such question"}
		}
		return named(a.apply(ctx, a.job, with(a.answers(), *q.ID, value)), *q.ID, "a wrong answer to "+*q.ID)
	})}
}

// named demands 400 with an item about the question.
func named(r reply, id, sent string) finding {
	if r.Status != http.StatusBadRequest || !r.described() || !r.names(id) {
		return r.unmet(sent, nameIt)
	}
	return finding{}
}

// itemsOf lists the questions that an error body names.
func itemsOf(r reply) string {
	var ids []string
	said, _ := r.Problem()
	for _, item := range said.Errors {
		ids = append(ids, terminal.Printable(item.QuestionID))
	}
	if ids == nil {
		return ""
	}
	return "; named: " + strings.Join(ids, ", ")
}

func wrongQuestion(n int, got, do string) finding {
	return finding{Sent: "a request for questions", Got: fmt.Sprintf("question %d: %s", n+1, got), Do: do}
}
