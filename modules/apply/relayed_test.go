package apply_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/check"
	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func TestARelayedTenantAnswersAsItsService(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	questions := r.ask(http.MethodGet, "/v2/job/"+code+"/question", "", me...)
	require.Equal(t, http.StatusOK, questions.Code, "%s", questions.Body)
	theirs := r.service.ask(http.MethodGet, "/v2/job/"+code+"/question", "", r.service.bearer(partner)...)
	require.JSONEq(t, theirs.Body.String(), questions.Body.String())
	r.requireError(r.ask(http.MethodGet, "/v2/job/NONE/question", "", me...), http.StatusBadRequest,
		"there is no open job with this job board code", "")

	answers := with(fine(t), "lastName", "Garci\u0301a")
	id := r.requireTaken(r.apply(application(t, code, answers), me...))
	taken := r.service.applications("acme")
	require.Len(t, taken, 1)
	require.Empty(t, r.applications("acme"), "it was taken here as well")
	given, err := r.service.Runtime.Store().ApplicationAnswers(t.Context(), "acme", taken[0].ID)
	require.NoError(t, err)
	require.Equal(t, "Job Board", given.Source)
	values := map[string][]string{}
	for _, g := range given.Answers {
		values[g.Question] = g.Values
	}
	require.Equal(t, []string{"Garc\u00eda"}, values["lastName"], "texts are composed")
	docs, _, err := r.service.Runtime.Store().ListApplicationDocuments(t.Context(), "acme", taken[0].ID, 0, 10)
	require.NoError(t, err)
	require.Len(t, docs, 1)
	require.EqualValues(t, len(sample(t, "resume.pdf")), docs[0].Size)

	all := r.submissions(t)
	require.Len(t, all, 1)
	require.Equal(t, id, all[0].ID)
	require.Equal(t, model.SubmissionDelivered, all[0].State)
	require.False(t, all[0].Uncertain)
	content, err := r.Runtime.Store().SubmissionContent(t.Context(), all[0])
	require.NoError(t, err)
	for _, a := range content.Answers {
		require.False(t, a.Compliance, "answers of compliance groups are erased once they are delivered")
	}
	found, err := r.Runtime.Store().ListSubmissions(t.Context(), "acme", store.SubmissionFilter{Email: "ADA@example.com"})
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestARelayedTenantChecksAnswers(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	w := r.apply(application(t, code, with(fine(t), "email", "nobody", "firstName", without)), r.bearer(partner)...)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), `"questionId":"email"`)
	require.Contains(t, w.Body.String(), `"questionId":"firstName"`)
	require.Empty(t, r.bodies, "the service was sent what it does not want")
	require.Empty(t, r.submissions(t))
}

// What the service refuses at once is refused, and nothing is kept of it: the key can be used again.
func TestARefusalOfTheServiceIsPassedOn(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := append(r.bearer(partner), "Idempotency-Key", "k-1")
	require.Equal(t, http.StatusOK, r.ask(http.MethodGet, "/v2/job/"+code+"/question", "", me...).Code)
	const refusal = `{"code":400,"message":"not this one","errors":[{"questionId":"email","messages":["blocked"]}]}`
	r.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(contentType, asJSON)
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, refusal)
	})
	r.requireError(r.apply(application(t, code, fine(t)), me...), http.StatusBadRequest, "not this one",
		`[{"questionId":"email","messages":["blocked"]}]`)
	require.Empty(t, r.submissions(t))
	uploads, err := r.Runtime.Store().ListUploads(t.Context(), r.Clock.Now().Add(time.Hour), 0, 10)
	require.NoError(t, err)
	require.Len(t, uploads, len(r.files()), "a file is kept of it")
	r.answer(nil)
	r.requireTaken(r.apply(application(t, code, with(fine(t), "firstName", "Grace")), me...))
	require.Len(t, r.service.applications("acme"), 1)
}

// Whatever an outage looks like, the applicant is not turned away, and the application arrives once.
func TestAnOutageOfTheServiceIsA204(t *testing.T) {
	t.Parallel()
	status := func(code int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(contentType, media)
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		serve     http.HandlerFunc
		reason    string
		uncertain bool
	}{
		"401":             {status(401, asJSON, `{"code":401,"message":"no"}`), "refuses the token", false},
		"403":             {status(403, asJSON, `{"code":403,"message":"no"}`), "the service answered 403", false},
		"500":             {status(500, asJSON, `{"code":500,"message":"no"}`), "the service answered 500", true},
		"a login page":    {status(200, "text/html", "<html>"), "something in front of it", true},
		"a firewall":      {status(400, "text/html", "<html>"), "something in front of it", false},
		"a redirect":      {http.RedirectHandler("https://elsewhere.example", http.StatusFound).ServeHTTP, "a redirect", false},
		"429":             {status(429, asJSON, `{"code":429,"message":"no"}`), "the service answered 429", false},
		"no answer":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed the connection", true},
		"an empty answer": {status(400, asJSON, ""), "something in front of it", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setupRelaying(t)
			me := r.bearer(partner)
			path := "/v2/job/" + code + "/question"
			require.Equal(t, http.StatusOK, r.ask(http.MethodGet, path, "", me...).Code)
			r.answer(c.serve)
			id := r.requireTaken(r.apply(application(t, code, fine(t)), me...))
			s := r.submissions(t)[0]
			require.Equal(t, model.SubmissionWaiting, s.State)
			require.Contains(t, s.Reason, c.reason)
			require.Equal(t, c.uncertain, s.Uncertain)
			require.Empty(t, r.service.applications("acme"))

			r.Clock.Advance(time.Hour)
			w := r.ask(http.MethodGet, path, "", me...)
			require.Equal(t, http.StatusOK, w.Code, "what is known serves meanwhile")
			require.NotEmpty(t, w.Header().Get("Age"))

			r.answer(nil)
			require.Equal(t, model.SubmissionDelivered, r.attempt(t, id).State)
			require.Len(t, r.service.applications("acme"), 1)
			require.Equal(t, c.uncertain, r.submissions(t)[0].Uncertain, "the service did not say that it knew it")
			for first, key := <-r.bodies, <-r.keys; len(r.bodies) > 0; {
				require.Equal(t, first, <-r.bodies, "it is sent byte for byte")
				require.Equal(t, key, <-r.keys)
			}
			u, err := r.Runtime.Store().Upstream(t.Context(), "acme", nil)
			require.NoError(t, err)
			require.Empty(t, u.Fault)
		})
	}
}

// An answer that got lost: the service says that it knew the application.
func TestALostAnswerIsNoSecondApplication(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := append(r.bearer(partner), "Idempotency-Key", "k-1")
	r.requireQuestions(t, me)
	r.answer(func(_ http.ResponseWriter, q *http.Request) {
		http.StripPrefix("/apply", r.service.API).ServeHTTP(httptest.NewRecorder(), q)
		panic(http.ErrAbortHandler)
	})
	body := application(t, code, fine(t))
	id := r.requireTaken(r.apply(body, me...))
	require.True(t, r.submissions(t)[0].Uncertain)
	require.Len(t, r.service.applications("acme"), 1)
	r.answer(nil)
	r.Clock.Advance(time.Minute)
	s := r.attempt(t, id)
	require.Equal(t, model.SubmissionDelivered, s.State)
	require.False(t, s.Uncertain)
	require.Len(t, r.service.applications("acme"), 1)
	require.Equal(t, id, r.requireTaken(r.apply(body, me...)), "a repeat is the same submission")
	require.Len(t, r.submissions(t), 1)
}

// A service that takes long is not waited for, and what it refuses later is kept for somebody to look at.
func TestARefusalThatComesLateIsKept(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	r.upstream(t, func(u *model.ApplyUpstream) { u.Wait = time.Millisecond })
	me := r.bearer(partner)
	r.requireQuestions(t, me)
	answer := make(chan struct{})
	r.answer(func(w http.ResponseWriter, _ *http.Request) {
		<-answer
		w.Header().Set(contentType, asJSON)
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"code":400,"message":"no","errors":[{"questionId":"email","messages":["blocked"]}]}`)
	})
	r.requireTaken(r.apply(application(t, code, fine(t)), me...))
	require.Equal(t, model.SubmissionWaiting, r.submissions(t)[0].State)
	close(answer)
	require.Eventually(t, func() bool { return r.submissions(t)[0].State == model.SubmissionRefused }, time.Minute,
		10*time.Millisecond)
	content, err := r.Runtime.Store().SubmissionContent(t.Context(), r.submissions(t)[0])
	require.NoError(t, err)
	require.Equal(t, []model.InvalidAnswer{{QuestionID: "email", Messages: []string{"blocked"}}}, content.Refusal)
}

// A gateway that ended within an attempt leaves a lease, after which the next attempt is made.
func TestAnAttemptThatNobodyEndedIsMadeAgain(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	r.requireQuestions(t, me)
	r.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	id := r.requireTaken(r.apply(application(t, code, fine(t)), me...))
	s := r.submissions(t)[0]
	lease := r.Runtime.Relay.NewLease()
	lease.Till = r.Clock.Now().Add(time.Minute)
	r.Write(t, func(tx *store.Tx) error {
		leased, err := tx.LeaseSubmission(s, lease, r.Clock.Now())
		require.True(t, leased)
		return err
	})
	due := func() int {
		all, err := r.Runtime.Store().ListDueSubmissions(t.Context(), "acme", r.Clock.Now(), 10)
		require.NoError(t, err)
		return len(all)
	}
	r.Clock.Advance(30 * time.Second)
	require.Zero(t, due())
	r.Clock.Advance(time.Minute)
	require.Equal(t, 1, due())
	r.answer(nil)
	s = r.attempt(t, id)
	require.Equal(t, model.SubmissionDelivered, s.State)
	require.True(t, s.Uncertain)
}

// After the time of try_for a submission has failed, and can be sent once more.
func TestASubmissionFailsAfterItsTime(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	r.requireQuestions(t, me)
	r.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	id := r.requireTaken(r.apply(application(t, code, fine(t)), me...))
	r.Clock.Advance(model.DefaultTryFor - time.Second)
	s := r.attempt(t, id)
	require.Equal(t, model.SubmissionWaiting, s.State)
	require.Equal(t, s.TryUntil, s.NextAt, "the last attempt is at the end")
	r.Clock.Advance(time.Minute)
	s = r.attempt(t, id)
	require.Equal(t, model.SubmissionFailed, s.State)
	r.answer(nil)
	r.Write(t, func(tx *store.Tx) error {
		again, err := tx.RedeliverSubmission(s, r.Clock.Now(), r.Clock.Now().Add(time.Hour))
		require.True(t, again)
		return err
	})
	require.Equal(t, model.SubmissionDelivered, r.attempt(t, id).State)
}

// However many submissions find that the token is refused, the service is asked for one alone.
func TestATokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	r.requireQuestions(t, me)
	var signedIn atomic.Int64
	r.answer(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/apply/v2/authentication" {
			signedIn.Add(1)
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	r.Clock.Advance(time.Minute)
	for n := range 5 {
		r.requireTaken(r.apply(application(t, code, with(fine(t), "email", fmt.Sprintf("a%d@example.com", n))), me...))
	}
	require.EqualValues(t, 1, signedIn.Load())
	for _, s := range r.submissions(t) {
		require.Equal(t, model.SubmissionWaiting, s.State)
	}
}

// A tenant that is relayed to itself says so, instead of asking itself for ever.
func TestARelayThatLeadsBackIsRefused(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	own := httptest.NewServer(http.StripPrefix("/apply", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.API.ServeHTTP(w, q)
	})))
	t.Cleanup(own.Close)
	r.upstream(t, func(u *model.ApplyUpstream) { u.URL = own.URL + "/apply" })
	r.Clock.Advance(time.Minute)
	w := r.ask(http.MethodGet, "/v2/job/"+code+"/question", "", r.bearer(partner)...)
	require.Equal(t, http.StatusBadRequest, w.Code, "%s", w.Body)
}

func TestASubmissionIsErasedWithItsFiles(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	r.requireTaken(r.apply(application(t, code, fine(t)), r.bearer(partner)...))
	s := r.submissions(t)[0]
	r.Write(t, func(tx *store.Tx) error {
		_, err := tx.EraseSubmission(s, r.Clock.Now())
		return err
	})
	_, err := r.Runtime.Store().SubmissionContent(t.Context(), s)
	require.ErrorIs(t, err, store.ErrNotFound)
	uploads, err := r.Runtime.Store().ListUploads(t.Context(), r.Clock.Now().Add(time.Hour), 0, 10)
	require.NoError(t, err)
	require.Len(t, uploads, 1)
	raw, err := json.Marshal(r.submissions(t)[0])
	require.NoError(t, err)
	require.NotContains(t, string(raw), "ada")
}

// A relayed tenant keeps what the contract demands of an Apply API, as its service does.
func TestARelayedTenantPassesTheCheckOfTheContract(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	server := httptest.NewServer(r.API)
	t.Cleanup(server.Close)
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte(right), 0o600))
	out, _, err := clitest.Run(t.Context(), check.Command(), "apply", server.URL, "--user", partner, "--password", password,
		"--job", code)
	require.NoError(t, err, out)
	require.Contains(t, out, "failed: 0 must")
}

// A form of a relayed tenant asks what the service asks, and shows what it says.
func TestAFormOfARelayedTenant(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	b := r.forms()
	page := b.get("/" + code)
	require.Equal(t, http.StatusOK, page.Code, "%s", page.Body)
	for _, q := range sampleQuestions(t) {
		require.Contains(t, page.Body.String(), `name="a.`+q.ID+`"`)
	}
	require.Contains(t, page.Body.String(), "Voluntary Self-Identification of Disability", "the group's legal text")
	receipt := b.requireThanks(b.post("/"+code, filled(), b.resume()))
	require.Len(t, r.service.applications("acme"), 1)
	require.Equal(t, http.StatusOK, b.get("/receipts/"+receipt).Code)
	require.Equal(t, receipt, b.requireThanks(b.post("/"+code, filled(), b.resume())), "a double click")
	further := b.requireThanks(b.post("/"+code, but(filled(), "a.firstName", "Grace"), b.resume()))
	require.NotEqual(t, receipt, further)

	r.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(contentType, asJSON)
		w.WriteHeader(http.StatusUnprocessableEntity)
		io.WriteString(w, `{"code":422,"message":"no","errors":[{"questionId":"email","messages":["E-mail: this address is blocked"]}]}`)
	})
	b.requireWrong(b.post("/"+code, but(filled(), "once", "key-2"), b.resume()), "this address is blocked")
	r.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(contentType, asJSON)
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"code":400,"message":"you applied before","errors":null}`)
	})
	w := b.post("/"+code, but(filled(), "once", "key-3"), b.resume())
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "you applied before")
	r.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	b.requireThanks(b.post("/"+code, but(filled(), "once", "key-4"), b.resume()))

	// What a machine may have sent waits for a person.
	r.answer(nil)
	b.requireThanks(b.post("/"+code, but(filled(), "once", "key-5", "company", "x"), b.resume()))
	s := r.submissions(t)[0]
	require.Equal(t, model.SubmissionSuspected, s.State)
	require.NotEmpty(t, s.Reason)
	require.Len(t, r.service.applications("acme"), 1, "the further one is a version of it")
	r.Write(t, func(tx *store.Tx) error {
		again, err := tx.RedeliverSubmission(s, r.Clock.Now(), r.Clock.Now().Add(time.Hour))
		require.True(t, again)
		return err
	})
	require.Equal(t, model.SubmissionDelivered, r.attempt(t, s.ID).State)
}

// The service refuses each token for a day: nobody is lost, and it is not flooded with sign-ins.
func TestADayOf401(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	me := r.bearer(partner)
	r.requireQuestions(t, me)
	var signedIn, applied atomic.Int64
	r.answer(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/apply/v2/authentication" {
			signedIn.Add(1)
		} else {
			applied.Add(1)
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	const sent = 10
	for n := range sent {
		r.requireTaken(r.apply(application(t, code, with(fine(t), "email", fmt.Sprintf("a%d@example.com", n))), me...))
	}
	attempts := func() {
		due, err := r.Runtime.Store().ListDueSubmissions(t.Context(), "acme", r.Clock.Now(), 100)
		require.NoError(t, err)
		for _, s := range due {
			r.attempt(t, s.ID)
		}
	}
	const rounds = 24 * 2
	for range rounds {
		r.Clock.Advance(30 * time.Minute)
		attempts()
	}
	for _, s := range r.submissions(t) {
		require.Equal(t, model.SubmissionWaiting, s.State)
	}
	u, err := r.Runtime.Store().Upstream(t.Context(), "acme", nil)
	require.NoError(t, err)
	require.Contains(t, u.Fault, "refuses the user name and the password")
	require.LessOrEqual(t, signedIn.Load(), int64(rounds+1), "a sign-in for each attempt")
	r.requireQuestions(t, me)

	r.answer(nil)
	for range 3 { // the first one that is accepted brings all others
		r.Clock.Advance(time.Hour)
		attempts()
	}
	for _, s := range r.submissions(t) {
		require.Equal(t, model.SubmissionDelivered, s.State)
	}
	require.Len(t, r.service.applications("acme"), sent)
}
