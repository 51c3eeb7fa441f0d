package apply_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	wrongUser = "user name or password is wrong"
	noJob     = "there is no open job with this job board code"
	noToken   = "send the header Authorization with the word Bearer and a token of /v2/authentication"
	badToken  = "the token is unknown, expired or revoked: ask /v2/authentication for a new one"
	twoTexts  = "send a JSON object with the strings userName and password"
)

func TestAuthentication(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.authenticate(partner, right)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, http.Header{contentType: {asJSON}, "Content-Length": w.Header()["Content-Length"],
		"Cache-Control":          {"no-store"},
		"X-Content-Type-Options": {"nosniff"}, "X-Request-Id": w.Header()["X-Request-Id"]}, w.Header())
	require.Regexp(t, `^\{"token":"[A-Za-z0-9_-]{43}"\}\n$`, w.Body.String())
	require.Equal(t, http.StatusOK, b.authenticate("PARTNER@example.com", right).Code,
		"the case of an e-mail address is of no account")

	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableAPIUser("globex", "u-2", b.Clock.Now()); return err })
	for n, c := range [][2]string{{partner, "other"}, {partner, ""}, {"nobody@example.com", right}, {"", ""},
		{"globex@example.com", right}} {
		w := b.authenticate(c[0], c[1], "From", "192.0.2."+string(rune('2'+n)))
		b.requireError(w, http.StatusUnauthorized, wrongUser, "")
		require.Equal(t, `Bearer realm="apply"`, w.Header().Get("WWW-Authenticate"))
	}
	for _, body := range []string{"{}", `{"userName":"a"}`, `{"password":"a"}`, `{"userName":"a","password":1}`, `[]`,
		`"x"`} {
		b.requireError(b.ask(http.MethodPost, "/v2/authentication", body, contentType, asJSON), http.StatusBadRequest,
			twoTexts, "")
	}
	b.requireError(b.ask(http.MethodPost, "/v2/authentication", `{"userName":"`+strings.Repeat("a", 17<<10)+`"}`,
		contentType, asJSON),
		http.StatusRequestEntityTooLarge, "the body is larger than 16 KiB", "")
}

// A partner may have one name with several tenants: what tells a tenant's administrator that the name is taken would
// tell of the others.
func TestPasswordChoosesAmongTenants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other, err := password.Hash(t.Context(), "another horse")
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertAPIUser(&model.APIUser{ID: "u-3", Tenant: "globex", Name: strings.ToUpper(partner), Password: other,
			CreatedAt: b.Clock.Now()})
	})
	asks := func(plain, job string) int {
		w := b.authenticate(partner, plain)
		require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
		var answer map[string]string
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		return b.ask(http.MethodGet, "/v2/job/"+job+"/question", "", "Authorization", "Bearer "+answer["token"]).Code
	}
	require.Equal(t, http.StatusOK, asks(right, code))
	require.NotEqual(t, http.StatusOK, asks(right, "OTHER"))
	require.Equal(t, http.StatusOK, asks("another horse", "OTHER"))
	require.NotEqual(t, http.StatusOK, asks("another horse", code))
	require.Equal(t, http.StatusUnauthorized, b.authenticate(partner, "wrong horse").Code)

	hash, err := hashed()
	require.NoError(t, err)
	reset := func(hash string) {
		b.Write(t, func(tx *store.Tx) error { _, err := tx.ResetAPIUser("globex", "u-3", hash); return err })
	}
	reset(hash)
	require.Equal(t, http.StatusUnauthorized, b.authenticate(partner, right).Code,
		"nobody knows which of the two tenants it is")
	require.Len(t, b.Logged.FilterMessageSnippet("the same password with several tenants").All(), 1)
	b.Write(t, func(tx *store.Tx) error { _, err := tx.DisableAPIUser("globex", "u-3", b.Clock.Now()); return err })
	require.Equal(t, http.StatusOK, asks(right, code))
}

func TestTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.token(partner)
	path := "/v2/job/" + code + "/question"
	for _, header := range []string{"Bearer " + token, "Token " + token, "bearer " + token, "TOKEN  " + token} {
		require.Equal(t, http.StatusOK, b.ask(http.MethodGet, path, "", "Authorization", header).Code, header)
	}
	for _, headers := range [][]string{nil, {"Authorization", "Bearer"}, {"Authorization", "Basic " + token},
		{"Authorization", token}, {"Authorization", "Bearer a b"},
		{"Authorization", "Bearer " + token, "Authorization", "Bearer " + token}} {
		w := b.ask(http.MethodGet, path, "", headers...)
		b.requireError(w, http.StatusUnauthorized, noToken, "")
		require.Equal(t, `Bearer realm="apply"`, w.Header().Get("WWW-Authenticate"))
		b.requireError(b.apply("{}", headers...), http.StatusUnauthorized, noToken, "null")
	}
	refused := func(token string) {
		t.Helper()
		w := b.ask(http.MethodGet, path, "", "Authorization", "Bearer "+token)
		b.requireError(w, http.StatusUnauthorized, badToken, "")
		require.Equal(t, `Bearer realm="apply", error="invalid_token"`, w.Header().Get("WWW-Authenticate"))
	}
	refused("x" + token)
	b.Clock.Advance(model.TokenLife - time.Microsecond)
	require.Equal(t, http.StatusOK, b.ask(http.MethodGet, path, "", "Authorization", "Bearer "+token).Code,
		"it is good for 48 hours")
	b.Clock.Advance(time.Microsecond)
	refused(token)

	changed, disabled := b.token(partner), b.token("globex@example.com")
	b.Write(t, func(tx *store.Tx) error {
		if _, err := tx.ResetAPIUser("acme", "u-1", "other"); err != nil {
			return err
		}
		_, err := tx.DisableAPIUser("globex", "u-2", b.Clock.Now())
		return err
	})
	refused(changed)
	refused(disabled)
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	w := b.ask(http.MethodGet, "/v2/job/"+code+"/question", "", me...)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, asJSON, w.Header().Get(contentType))
	require.JSONEq(t, string(sample(t, "questions.json")), w.Body.String(), "null has to stay null")
	head := b.ask(http.MethodHead, "/v2/job/"+code+"/question", "", me...)
	require.Equal(t, http.StatusOK, head.Code)
	require.Equal(t, "[]\n", b.ask(http.MethodGet, "/v2/job/a%2Fb%20c/question", "", me...).Body.String(),
		"%2F stays in the job board code")
	for _, board := range []string{"nothing", "CLOSED", "OTHER", "%00", "%FF", "nurse-1"} {
		b.requireError(b.ask(http.MethodGet, "/v2/job/"+board+"/question", "", me...), http.StatusBadRequest, noJob, "")
	}
	for _, path := range []string{"/v2/job//question", "/v2/job/a/b/question", "/v2/job/NURSE-1/question/",
		"/v2/job/NURSE-1", "/v2", "/", "/v2/authentication/x", "/compliance/"} {
		b.requireError(b.ask(http.MethodGet, path, "", me...), http.StatusNotFound,
			"the Apply API has nothing at this address", "")
	}
}

func TestOneTenantASite(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.token(partner)
	b.API.Tenant = "globex"
	b.requireError(b.authenticate(partner, right), http.StatusUnauthorized, wrongUser, "")
	b.requireError(b.ask(http.MethodGet, "/v2/job/"+code+"/question", "", "Authorization", "Bearer "+token),
		http.StatusUnauthorized, badToken, "")
	require.Equal(t, "[]\n", b.ask(http.MethodGet, "/v2/job/OTHER/question", "",
		b.bearer("globex@example.com")...).Body.String())
	b.requireError(b.ask(http.MethodGet, "/feed/jobs.json?tenant=acme", ""), http.StatusNotFound,
		"there is no tenant of this name here", "")
	require.Contains(t, b.ask(http.MethodGet, "/feed/jobs.json", "").Body.String(), "OTHER")
}

func TestMethodsAndTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	for path, allow := range map[string]string{"/v2/authentication": "POST", "/v2/application": "POST",
		"/v2/job/x/question": "GET, HEAD", "/feed/jobs.json": "GET, HEAD",
		"/compliance/complianceEeo": "GET, HEAD", "/openapi.json": "GET, HEAD"} {
		w := b.ask(http.MethodPut, path, "{}", me...)
		items := ""
		if path == "/v2/application" {
			items = "null"
		}
		b.requireError(w, http.StatusMethodNotAllowed, "this address takes "+allow+" only", items)
		require.Equal(t, allow, w.Header().Get("Allow"))
	}
	const text, encoding = "send JSON, with the header Content-Type: application/json",
		"send the body as it is, without Content-Encoding"
	for _, kind := range []string{"", "text/plain", "application/jsonx", "application/vnd.api+json",
		"application/json; charset=latin1", "multipart/form-data; boundary=x"} {
		b.requireError(b.ask(http.MethodPost, "/v2/application", "{}", append(me, contentType, kind)...),
			http.StatusUnsupportedMediaType, text, "null")
		b.requireError(b.ask(http.MethodPost, "/v2/authentication", "{}", contentType, kind),
			http.StatusUnsupportedMediaType, text, "")
	}
	b.requireError(b.apply("{}", append(me, "Content-Encoding", "gzip")...), http.StatusUnsupportedMediaType, encoding,
		"null")
	for _, kind := range []string{"application/json; charset=utf-8", `application/json;charset="UTF-8"`,
		"Application/JSON", "application/json; profile=x", "application/json; charset"} {
		b.requireTaken(b.ask(http.MethodPost, "/v2/application", application(t, code, fine(t)),
			append(me, contentType, kind)...))
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for sent, kept := range map[string]bool{"abc-1": true, strings.Repeat("x", 128): true, "": false, "a b": false,
		"ä": false, strings.Repeat("x", 129): false} {
		got := b.ask(http.MethodGet, "/openapi.json", "", "X-Request-Id", sent).Header().Get("X-Request-Id")
		require.Equal(t, kept, got == sent, "%q", sent)
		require.NotEmpty(t, got)
	}
}

func TestShapeOfAnApplication(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	rest := `,"answers":[]}`
	for _, body := range []string{``, `{`, `{"jobBoardCode":"NURSE-1","source":"","answers":[]} x`,
		`{"source":"","source":""` + rest} {
		w := b.apply(body, me...)
		require.Equal(t, http.StatusBadRequest, w.Code, body)
		require.Contains(t, w.Body.String(), "the body is not valid JSON: ", body)
		require.Contains(t, w.Body.String(), `"errors":null`, body)
	}
	listed, err := os.ReadFile("../../docs/answers.md")
	require.NoError(t, err)
	for body, message := range map[string]string{
		`[]`:                                     "an application is a JSON object",
		`null`:                                   "an application is a JSON object",
		`{"source":""` + rest:                    "jobBoardCode is missing: send the job board code of the job",
		`{"jobBoardCode":"NURSE-1"` + rest:       "source is missing: send a text, which may be empty",
		`{"jobBoardCode":"NURSE-1","source":""}`: "answers are missing: send an array",
		`{"jobBoardCode":1,"source":""` + rest: "jobBoardCode is a string: send the job " +
			"board code of the job",
		`{"jobBoardCode":null,"source":""` + rest: "jobBoardCode is a string: send the job " +
			"board code of the job",
		`{"jobBoardCode":"NURSE-1","source":null` + rest:                                     "source is a string, which may be empty",
		`{"jobBoardCode":"NURSE-1","source":"","answers":{}}`:                                "answers are an array: send one",
		`{"jobBoardCode":"NURSE-1","source":"","answers":[1]}`:                               "an answer is an object with questionId and value",
		`{"jobBoardCode":"NURSE-1","source":"","answers":[{"questionId":"email"}]}`:          "an answer has a questionId and a value, which are strings: a value is missing",
		`{"jobBoardCode":"NURSE-1","source":"","answers":[{"value":"email"}]}`:               "an answer has a questionId and a value, which are strings: a questionId is missing",
		`{"jobBoardCode":"NURSE-1","source":"","answers":[{"questionId":"a","value":7}]}`:    "the value of an answer is a string, which may be empty",
		`{"jobBoardCode":"NURSE-1","source":"","answers":[{"questionId":null,"value":"x"}]}`: "questionId is a string: send the id of a question",
		`{"jobBoardCode":"NURSE-1","source":"","answers":[{"questionId":"` + strings.Repeat("a", 1021) +
			`","value":"x"}]}`: "questionId is longer than 1020 bytes: send the id of a question",
		`{"jobBoardCode":"NURSE-1","source":"` + strings.Repeat("ä", 256) + `"` +
			rest: "source is longer than 255 characters: shorten it",
		`{"jobBoardCode":"NURSE-1","source":"` + strings.Repeat("ä", 100_000) + `"` +
			rest: "source is longer than 255 characters: shorten it",
	} {
		b.requireError(b.apply(body, me...), http.StatusBadRequest, message, "null")
		require.Contains(t, string(listed), "`"+message+"`", "answers.md promises all of them")
	}
	for _, board := range []string{"nothing", "CLOSED", "OTHER", "", strings.Repeat("x", 1021),
		strings.Repeat("😀", 100_000)} {
		b.requireError(b.apply(application(t, board, fine(t)), me...), http.StatusBadRequest, noJob, "null")
	}
	require.Empty(t, b.applications("acme"))
	require.Empty(t, b.files())
	long := strings.Replace(application(t, code, fine(t)), "Job Board", strings.Repeat("ä", 255), 1)
	b.requireTaken(b.apply(long, me...))
	b.requireTaken(b.apply(strings.Replace(application(t, code, with(fine(t), "email", "bob@example.com")), "Job Board",
		"", 1), me...))
}

func TestServiceInMaintenance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	require.NoError(t, b.Runtime.Store().Close())
	const message = "the service can't use its database now: send the same again in a moment"
	taken := b.apply(application(t, code, fine(t)), me...)
	b.requireError(taken, http.StatusServiceUnavailable, message, "null")
	require.NotEmpty(t, taken.Header().Get("Retry-After"))
	token := b.authenticate(partner, right)
	b.requireError(token, http.StatusServiceUnavailable, message, "")
	require.NotEmpty(t, token.Header().Get("Retry-After"))
}

func TestADatabaseThatHangs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	busy, release, released := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		released <- b.Runtime.Store().Write(context.Background(),
			func(*store.Tx) error { close(busy); <-release; return nil })
	}()
	<-busy
	taken := b.apply(application(t, "a/b c", []answered{}), me...)
	close(release)
	require.NoError(t, <-released)
	b.requireError(taken, http.StatusServiceUnavailable,
		"the service can't use its database now: send the same again in a moment", "null")
	require.NotEmpty(t, taken.Header().Get("Retry-After"))
	require.Empty(t, b.applications("acme"))
}
