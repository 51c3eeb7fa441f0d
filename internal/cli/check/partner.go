package check

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

// kind names the resource that a request of a partner's client is for.
type kind string

const (
	asksToken     kind = "authentication"
	asksQuestions kind = "questions"
	applies       kind = "application"
	asksElse      kind = "another address"
)

// observation is a request of a partner's client, and the status that it was answered with.
type observation struct {
	at            time.Time
	kind          kind
	asked         string // method and path
	authorization string
	current       bool // authorization has the token that was valid then
	contentType   string
	key           string // Idempotency-Key
	body          []byte
	status        int
}

// application reads the body of an application.
func (o observation) application() (a struct {
	JobBoardCode, Source any
	Answers              []struct{ QuestionID, Value any }
}, err error) {
	return a, json.Unmarshal(o.body, &a)
}

// What the service does with the applications of a partner's client, one after the other. A client that repeats by itself
// goes through them alone; for another one a person applies again.
const (
	fails   = iota // 500, to all that come within stormTime
	waits          // 429 with Retry-After
	expires        // 401: the token has ended
	refuses        // 400, with an item
	accepts        // 204, if the answers are right
	done
)

// service plays an Apply API towards a partner's client, and notes what the client does.
type service struct {
	user, password, job string
	storm, retryAfter   time.Duration // see stormTime and retryTime
	answers             *schemas.Answers
	finished            chan struct{} // closed with the first application that is accepted
	each                func(observation)

	mu    sync.Mutex
	token string
	step  int
	since time.Time // of the step, once an application came in it
	seen  []observation
}

const (
	stormTime = 2 * time.Second // after the first application, all are answered 500 for that long
	retryTime = 2 * time.Second // Retry-After of the 429
	mostBody  = 16 << 20        // bytes of a request that are read
)

func newService(user, password, job string) (*service, error) {
	most := 200
	run := rand.Text()[:6] // other ids in each run: a client that does not read the questions is found out
	answers, err := schemas.NewAnswers([]model.Question{
		{ID: "firstName", Format: model.Text, IsRequired: true, Label: "First name", MaxLength: &most},
		{ID: "lastName", Format: model.Text, IsRequired: true, Label: "Last name", MaxLength: &most},
		{ID: "email", Format: model.Text, IsRequired: true, Label: "E-mail address", Check: "email"},
		{ID: "phone", Format: model.Phone, IsRequired: true, Label: "Phone"},
		{ID: "resume", Format: model.File, IsRequired: true, Label: "Resume"},
		{ID: "start" + run, Format: model.Date, IsRequired: true, Label: "Start date"},
		{ID: "years" + run, Format: model.Number, IsRequired: true, Label: "Years of experience"},
		{ID: "why" + run, Format: model.Textarea, Label: "Why do you apply?", MaxLength: &most},
		{ID: "shift" + run, Format: model.Checkbox, IsRequired: true, Label: "Shifts", Options: []string{"Day | Evening", `Night | Weekend`}},
		{ID: "team" + run, Format: model.Select, IsRequired: true, Label: "Team", Options: []string{"Care", "Surgery"}},
	})
	return &service{user: user, password: password, job: job, storm: stormTime, retryAfter: retryTime, answers: answers,
		finished: make(chan struct{}), each: func(observation) {}}, err
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := observation{at: time.Now(), kind: asksElse, asked: r.Method + " " + r.URL.Path, authorization: r.Header.Get("Authorization"),
		contentType: r.Header.Get("Content-Type"), key: r.Header.Get("Idempotency-Key"), body: body}
	o.current = s.token != "" && (o.authorization == "Bearer "+s.token || o.authorization == "Token "+s.token)
	var answer any
	switch path := r.Method + " " + r.URL.Path; {
	case strings.HasSuffix(path, "/v2/authentication") && r.Method == http.MethodPost:
		o.kind = asksToken
		o.status, answer = s.authenticate(body)
	case strings.HasSuffix(path, "/v2/job/"+s.job+"/question") && r.Method == http.MethodGet:
		o.kind = asksQuestions
		if o.status = http.StatusUnauthorized; o.current {
			o.status, answer = http.StatusOK, s.answers.Questions()
		}
	case strings.HasSuffix(path, "/v2/application") && r.Method == http.MethodPost:
		o.kind = applies
		if o.status = http.StatusUnauthorized; o.current {
			o.status, answer = s.apply(w.Header(), o)
		}
	default:
		o.status = http.StatusBadRequest
	}
	s.seen = append(s.seen, o)
	s.each(o)
	if answer == nil && o.status >= 400 {
		answer = said(o.status, nil)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(o.status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer) // the client may be gone
	}
}

// said is an error body (contract, Resources, C).
func said(status int, items any) any {
	return map[string]any{"code": status, "message": http.StatusText(status), "errors": items}
}

func (s *service) authenticate(body []byte) (status int, answer any) {
	var given struct{ UserName, Password string }
	if json.Unmarshal(body, &given) != nil || given.UserName != s.user || given.Password != s.password {
		return http.StatusUnauthorized, nil
	}
	if s.token == "" {
		s.token = rand.Text()
	}
	return http.StatusOK, map[string]string{"token": s.token}
}

// apply answers an application as its step says.
func (s *service) apply(header http.Header, o observation) (status int, answer any) {
	if s.since.IsZero() {
		s.since = o.at
	}
	next := func() { s.step, s.since = s.step+1, time.Time{} }
	if s.step == fails && o.at.Sub(s.since) > s.storm {
		next()
		s.since = o.at
	}
	switch s.step {
	case fails:
		return http.StatusInternalServerError, nil
	case waits:
		if o.at == s.since || o.at.Sub(s.since) < s.retryAfter {
			header.Set("Retry-After", strconv.Itoa(int((s.retryAfter+time.Second-1)/time.Second)))
			return http.StatusTooManyRequests, nil
		}
		next()
		fallthrough
	case expires:
		next()
		s.token = ""
		return http.StatusUnauthorized, nil
	}
	items := s.wrong(o.body)
	if len(items) == 0 && s.step == refuses {
		next()
		items = append(items, item(s.answers.Questions()[7].ID, "Each application is refused once: change something, and send it again."))
	}
	if len(items) > 0 {
		return http.StatusBadRequest, said(http.StatusBadRequest, items)
	}
	if s.step == accepts {
		next()
		close(s.finished)
	}
	return http.StatusNoContent, nil
}

func item(id string, messages ...string) map[string]any {
	return map[string]any{"questionId": id, "messages": messages}
}

// wrong lists the items of what is wrong with an application.
func (s *service) wrong(body []byte) (items []map[string]any) {
	var application struct{ Answers []applyclient.Answer }
	if err := json.Unmarshal(body, &application); err != nil {
		return []map[string]any{item("", fmt.Sprintf("the body can't be read: %v", err))}
	}
	for _, one := range s.answers.Check(given(s.answers, application.Answers)) {
		items = append(items, item(one.QuestionID, one.Messages...))
	}
	return items
}

// given are answers as they are checked: a file is decoded.
func given(asked *schemas.Answers, answers []applyclient.Answer) (all []schemas.Answer) {
	for _, answer := range answers {
		one := schemas.Answer{QuestionID: answer.QuestionID, Text: answer.Value}
		if q, ok := asked.Question(answer.QuestionID); ok && q.Format == model.File {
			one.Text = ""
			if content, err := base64.StdEncoding.DecodeString(answer.Value); err != nil {
				one.Fault = schemas.NotBase64
			} else if t, err := filetype.Detect(bytes.NewReader(content), int64(len(content))); err == nil {
				one.File = &schemas.File{MediaType: t.Name, Size: int64(len(content))}
			}
		}
		all = append(all, one)
	}
	return all
}
