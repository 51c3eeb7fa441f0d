package apply_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/apply"
)

const (
	partner = "partner@example.com" // of acme
	right   = "correct horse"
	code    = "NURSE-1"
)

var hashed = sync.OnceValues(func() (string, error) { return password.Hash(context.Background(), right) })

// fixture is an Apply API of its own: acme asks for NURSE-1 what testdata/samples/questions.json has; CLOSED is closed,
// and OTHER is a job of globex.
type fixture struct {
	*gatewaytest.Fixture
	*apply.API
	t testing.TB
}

func setup(t testing.TB) *fixture {
	t.Helper()
	return setupOn(t, gatewaytest.New(t))
}

func setupOn(t testing.TB, g *gatewaytest.Fixture) *fixture {
	t.Helper()
	b := &fixture{Fixture: g, t: t}
	b.API = apply.New(apply.API{Gateway: g.Gateway, Rate: model.Rate{PerSecond: 1e6, Burst: 1e6},
		Guards: apply.NewGuards(g.Clock.Now), Log: g.Log,
		Address: func(r *http.Request) string { return r.RemoteAddr }})
	hash, err := hashed()
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error {
		for id, u := range map[string]*model.APIUser{"u-1": {Tenant: "acme", Name: partner},
			"u-2": {Tenant: "globex", Name: "globex@example.com"}} {
			u.ID, u.Password, u.CreatedAt = id, hash, g.Clock.Now()
			if err := tx.InsertAPIUser(u); err != nil {
				return err
			}
		}
		return nil
	})
	b.job("acme", &model.Job{BoardCode: code, ID: "job-1", Title: "Nurse", URI: "https://jobs.example.com/1",
		Questions: sampleQuestions(t), ComplianceGroups: []string{"complianceOfccp"}, Syndicate: true})
	b.job("acme", &model.Job{BoardCode: "CLOSED", ID: "job-2", Title: "Gone", Closed: true, Syndicate: true})
	b.job("acme", &model.Job{BoardCode: "a/b c", ID: "job-3", Title: "Slash"})
	b.job("globex", &model.Job{BoardCode: "OTHER", ID: "job-1", Title: "Other", Syndicate: true})
	return b
}

func (b *fixture) job(tenant string, j *model.Job) {
	b.t.Helper()
	b.Write(b.t, func(tx *store.Tx) error {
		if before, ok, err := tx.Job(tenant, j.BoardCode); err != nil {
			return err
		} else if ok {
			j.Row = before.Row
		}
		j.Tenant = tenant
		return tx.UpsertJob(j, b.Clock.Now())
	})
}

// sampleQuestions are those of the sample that no compliance group asks.
func sampleQuestions(t testing.TB) (all []model.Question) {
	t.Helper()
	require.NoError(t, json.Unmarshal(sample(t, "questions.json"), &all))
	return slices.DeleteFunc(all, func(q model.Question) bool { return q.Group != nil })
}

func sample(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/samples/" + name)
	require.NoError(t, err)
	return raw
}

// ask sends a request. Headers are name and value in turn.
func (b *fixture) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(method, path, nil)
	}
	r.RemoteAddr = "192.0.2.1"
	for n := 0; n < len(headers); n += 2 {
		if headers[n] == "From" {
			r.RemoteAddr = headers[n+1]
			continue
		}
		r.Header.Add(headers[n], headers[n+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

const asJSON, contentType = "application/json", "Content-Type"

func (b *fixture) authenticate(user, plain string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	raw, err := json.Marshal(map[string]string{"userName": user, "password": plain})
	require.NoError(b.t, err)
	return b.ask(http.MethodPost, "/v2/authentication", string(raw), append([]string{contentType, asJSON}, headers...)...)
}

// token gets one for a user.
func (b *fixture) token(user string) string {
	b.t.Helper()
	w := b.authenticate(user, right)
	require.Equal(b.t, http.StatusOK, w.Code, "%s", w.Body)
	var answer map[string]string
	require.NoError(b.t, json.Unmarshal(w.Body.Bytes(), &answer))
	require.Len(b.t, answer, 1, "the answer has exactly token")
	require.NotEmpty(b.t, answer["token"])
	return answer["token"]
}

func (b *fixture) bearer(user string) []string {
	b.t.Helper()
	return []string{"Authorization", "Bearer " + b.token(user)}
}

// answered is an answer of an application, as the contract has it.
type answered struct {
	QuestionID string `json:"questionId"`
	Value      string `json:"value"`
}

// fine are right answers to all that the sample requires.
func fine(t testing.TB) []answered {
	return []answered{
		{"firstName", "Ada"}, {"lastName", "Lovelace"}, {"email", "ada@example.com"},
		{"resume", base64.StdEncoding.EncodeToString(sample(t, "resume.pdf"))},
		{"citizenWorkStatus", "Authorized"}, {"1000123", `Day|Weekend \| Holiday`},
		{"eeocDisability", "I do not want to answer"},
		{"eeocDisabilitySignature", "Ada Lovelace"}, {"eeocDisabilitySignatureDate", "2026-11-20"},
	}
}

// with changes or adds answers: id and value in turn. Without is left out.
func with(all []answered, changes ...string) []answered {
	all = slices.Clone(all)
	for n := 0; n < len(changes); n += 2 {
		all = slices.DeleteFunc(all, func(a answered) bool { return a.QuestionID == changes[n] })
		if changes[n+1] != without {
			all = append(all, answered{changes[n], changes[n+1]})
		}
	}
	return all
}

const without = "\x00without"

func application(t testing.TB, board string, answers []answered) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"jobBoardCode": board, "source": "Job Board", "answers": answers})
	require.NoError(t, err)
	return string(raw)
}

func (b *fixture) apply(body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.ask(http.MethodPost, "/v2/application", body, append([]string{contentType, asJSON}, headers...)...)
}

// requireError compares an error answer, whole. errors are the items, as JSON; of other routes than applications'
// there are none.
func (b *fixture) requireError(w *httptest.ResponseRecorder, status int, message, errors string) {
	b.t.Helper()
	require.Equal(b.t, status, w.Code, "%s", w.Body)
	require.Equal(b.t, asJSON, w.Header().Get(contentType))
	require.NotEmpty(b.t, w.Header().Get("X-Request-Id"))
	require.Equal(b.t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	want := map[string]any{"code": status, "message": message}
	if errors != "" {
		want["errors"] = json.RawMessage(errors)
	}
	raw, err := json.Marshal(want)
	require.NoError(b.t, err)
	require.JSONEq(b.t, string(raw), w.Body.String())
}

// requireTaken is for an application that was taken. It gives its id.
func (b *fixture) requireTaken(w *httptest.ResponseRecorder) string {
	b.t.Helper()
	require.Equal(b.t, http.StatusNoContent, w.Code, "%s", w.Body)
	require.Empty(b.t, w.Body.String())
	require.Empty(b.t, w.Header().Values(contentType), "a 204 has no Content-Type")
	require.NotEmpty(b.t, w.Header().Get("X-Request-Id"))
	id := w.Header().Get("X-Application-Id")
	require.NotEmpty(b.t, id)
	return id
}

// applications are a tenant's job applications.
func (b *fixture) applications(tenant string) []*model.JobApplication {
	b.t.Helper()
	page, err := b.Runtime.Store().ListJobApplications(b.t.Context(), tenant, store.ApplicationFilter{Limit: store.MaxPage})
	require.NoError(b.t, err)
	require.False(b.t, page.More)
	var all []*model.JobApplication
	for _, a := range page.Items {
		all = append(all, a.JobApplication)
	}
	return all
}

// files are the names in the document store.
func (b *fixture) files() (names []string) {
	b.t.Helper()
	require.NoError(b.t, filepath.WalkDir(filepath.Join(b.Folder, "documents"),
		func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				names = append(names, d.Name())
			}
			return err
		}))
	return names
}

// askReading sends an application whose body is read from a reader.
func (b *fixture) askReading(body io.Reader, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v2/application", body)
	r.Header.Set(contentType, asJSON)
	for n := 0; n < len(headers); n += 2 {
		r.Header.Add(headers[n], headers[n+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// closing closes the job when it has been read to its end.
type closing struct {
	io.Reader
	b *fixture
}

func (c *closing) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == io.EOF {
		c.b.job("acme", &model.Job{BoardCode: code, ID: "job-1", Questions: sampleQuestions(c.b.t),
			ComplianceGroups: []string{"complianceOfccp"}, Closed: true})
	}
	return n, err
}
