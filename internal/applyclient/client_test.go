package applyclient_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/applyclient"
)

// inMemory implements applyclient.Tokens.
type inMemory struct{ token string }

func (m *inMemory) Token(context.Context) (string, error) { return m.token, nil }

func (m *inMemory) Renew(ctx context.Context, _ string,
	signIn func(context.Context) (string, error)) (token string, err error) {
	m.token, err = signIn(ctx)
	return m.token, err
}

// service is an Apply API that notes what it is asked.
type service struct {
	*httptest.Server
	asked []string // path and Authorization
	takes string   // the Authorization that is good
}

func newService(t *testing.T, takes string) (*service, *applyclient.Client) {
	t.Helper()
	s := &service{takes: takes}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, strings.TrimSpace(r.URL.EscapedPath()+" "+r.Header.Get("Authorization")))
		switch {
		case r.URL.Path == applyclient.SignInPath:
			var sent map[string]string
			if json.NewDecoder(r.Body).Decode(&sent) != nil || sent["userName"] != "ada" || sent["password"] != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			io.WriteString(w, `{"token":"fresh"}`)
		case r.Header.Get("Authorization") != s.takes:
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == applyclient.ApplicationPath:
			w.WriteHeader(http.StatusNoContent)
		default:
			io.WriteString(w, `[{"id":"email","format":"Text"}]`)
		}
	}))
	t.Cleanup(s.Close)
	c := applyclient.New(s.URL+"/", "ada", s.Client())
	c.Password, c.Tokens = func() (string, error) { return "secret", nil }, new(inMemory)
	return s, c
}

func TestDoRenewsATokenOnce(t *testing.T) {
	t.Parallel()
	const questions, signIn = "/v2/job/a%2Fb/question", applyclient.SignInPath
	for name, c := range map[string]struct {
		kept, takes string
		status      int
		asked       []string
	}{
		"a kept one is good": {"old", "Bearer old", 200, []string{questions + " Bearer old"}},
		"there is none":      {"", "Bearer fresh", 200, []string{signIn, questions + " Bearer fresh"}},
		"it has ended": {"old", "Bearer fresh", 200,
			[]string{questions + " Bearer old", questions + " Token old", signIn, questions + " Bearer fresh"}},
		"a kept one goes after the word Token": {"old", "Token old", 200, []string{questions + " Bearer old", questions + " Token old"}},
		"it goes after the word Token": {"", "Token fresh", 200,
			[]string{signIn, questions + " Bearer fresh", questions + " Token fresh"}},
		"none is good": {"old", "none", 401,
			[]string{questions + " Bearer old", questions + " Token old", signIn, questions + " Bearer fresh", questions + " Token fresh"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client := newService(t, c.takes)
			client.Tokens = &inMemory{c.kept}
			a, err := client.Do(t.Context(), http.MethodGet, applyclient.QuestionsPath("a/b"), applyclient.Body{}, nil)
			require.NoError(t, err)
			require.Equal(t, c.status, a.Status)
			require.Equal(t, c.asked, s.asked)
			if c.status == http.StatusOK {
				all, err := a.Questions()
				require.NoError(t, err)
				require.Equal(t, "email", all[0].ID)
			}
		})
	}
}

func TestSignInErrors(t *testing.T) {
	t.Parallel()
	_, client := newService(t, "")
	client.Password = func() (string, error) { return "wrong", nil }
	_, err := client.SignIn(t.Context())
	var refused *applyclient.SignInError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusUnauthorized, refused.Reply.Status)
	client.Password = func() (string, error) { return "", errors.New("no password") }
	_, err = client.SignIn(t.Context())
	require.EqualError(t, err, "no password")
}

// Elsewhere nobody asked for the password and the applicants.
func TestRedirectsAreAnswers(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	t.Cleanup(elsewhere.Close)
	s := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	client := applyclient.New(s.URL, "ada", s.Client())
	client.Password = func() (string, error) { return "secret", nil }
	_, err := client.SignIn(t.Context())
	require.ErrorAs(t, err, new(*applyclient.SignInError))
	client.Tokens = &inMemory{"t"}
	a, err := client.Apply(t.Context(), applyclient.Application("J", "", nil), "k")
	require.NoError(t, err)
	require.Equal(t, http.StatusTemporaryRedirect, a.Status)
	require.Equal(t, applyclient.Undecided, a.Verdict())
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		media, raw string
		want       applyclient.Verdict
	}{
		{204, "", "", applyclient.Delivered},
		{200, "", "", applyclient.Deviating},
		{202, "application/json; charset=utf-8", `{"id":1}`, applyclient.Deviating},
		{200, "application/json", `<html>`, applyclient.Undecided},
		{200, "text/html", `<html>`, applyclient.Undecided},
		{200, "text/html", `{}`, applyclient.Undecided},
		{400, "application/json", `{"code":400,"message":"no","errors":null}`, applyclient.Refused},
		{400, "application/json", `{"code":400,"message":"no","errors":[{"questionId":"email","messages":["no"]}]}`,
			applyclient.Refused},
		{413, "application/json", `{"code":413,"message":"too large"}`, applyclient.Refused},
		{422, "application/json", `{"code":422,"message":"no"}`, applyclient.Refused},
		{400, "application/json", `{"code":403,"message":"no"}`, applyclient.Undecided},
		{400, "application/json", `{"code":400}`, applyclient.Undecided},
		{400, "application/json", `{"message":"blocked"}`, applyclient.Undecided},
		{400, "application/json", `{"code":400,"message":"no","errors":{"email":"no"}}`, applyclient.Undecided},
		{400, "text/html", `<html>`, applyclient.Undecided},
		{401, "application/json", `{"code":401,"message":"no"}`, applyclient.Undecided},
		{403, "application/json", `{"code":403,"message":"no"}`, applyclient.Undecided},
		{404, "application/json", `{"code":404,"message":"no"}`, applyclient.Undecided},
		{409, "application/json", `{"code":409,"message":"no"}`, applyclient.Undecided},
		{500, "application/json", `{"code":500,"message":"no"}`, applyclient.Undecided},
		{302, "", "", applyclient.Undecided},
	} {
		r := &applyclient.Reply{Status: c.status, Header: http.Header{"Content-Type": {c.media}}, Body: []byte(c.raw)}
		require.Equal(t, c.want, r.Verdict(), "%d %s", c.status, c.raw)
	}
}

func textFile(text string) *applyclient.File {
	return &applyclient.File{Size: int64(len(text)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func TestApplicationIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "ab", "abc", strings.Repeat("long ", 100_000)} {
		body := applyclient.Application(`J"1`, "Bö", []applyclient.Answer{{QuestionID: "q", Value: `a<b&"c"`},
			{QuestionID: "resume", File: textFile(text)}, {QuestionID: "file", File: textFile(text + "!")}})
		first, err := io.ReadAll(body.Open())
		require.NoError(t, err)
		again, err := io.ReadAll(body.Open())
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.EqualValues(t, len(first), body.Size)
		var got struct {
			JobBoardCode, Source string
			Answers              []struct{ QuestionID, Value string }
		}
		require.NoError(t, json.Unmarshal(first, &got))
		require.Equal(t, `J"1`, got.JobBoardCode)
		require.Equal(t, "Bö", got.Source)
		require.Equal(t, `a<b&"c"`, got.Answers[0].Value)
		require.Equal(t, base64.StdEncoding.EncodeToString([]byte(text)), got.Answers[1].Value)
		require.Equal(t, base64.StdEncoding.EncodeToString([]byte(text+"!")), got.Answers[2].Value)
	}
}

func TestFilesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	shorter, failing, missing := textFile("abc"), textFile("abc"), textFile("abc")
	shorter.Size = 4
	failing.Open = func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(broken)), nil }
	missing.Open = func() (io.ReadCloser, error) { return nil, broken }
	for want, file := range map[error]*applyclient.File{applyclient.ErrShorter: shorter, broken: failing} {
		requireFileError(t, file, want)
	}
	requireFileError(t, missing, broken)
}

// requireFileError sends an application with a file.
func requireFileError(t *testing.T, file *applyclient.File, want error) {
	t.Helper()
	_, client := newService(t, "Bearer fresh")
	_, err := client.Apply(t.Context(),
		applyclient.Application("J", "", []applyclient.Answer{{QuestionID: "resume", File: file}}), "k")
	var failed *applyclient.FileError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "resume", failed.QuestionID)
	require.ErrorIs(t, err, want)
}
