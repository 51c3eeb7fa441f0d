package webhook_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// echo answers a VERIFY event of an integration with what a receiver makes of the request, and returns the answer.
func echo(t *testing.T, path string, a *model.Authentication, of func(*http.Request) (header, body string)) webhook.Answer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header, body := of(r)
		w.Header().Set("X-Echo", header)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	i := integration(server.URL, a)
	i.URL, i.Secret = server.URL+path, "signing-secret"
	answer, _, err := names(t).Verify(t.Context(), webhook.ClientFor(loopback(t), i), i)
	require.NoError(t, err)
	return answer
}

// encodings are the ways in which receivers write a header of a request into an answer.
var encodings = map[string]func(string) string{
	"plain": func(s string) string { return s },
	"JSON":  func(s string) string { raw, _ := json.Marshal(s); return string(raw) },
	"slash": func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
	"twice": func(s string) string {
		raw, _ := json.Marshal(s)
		raw, _ = json.Marshal(string(raw))
		return string(raw)
	},
	"ASCII":  asciiJSON,
	"HTML":   html.EscapeString,
	"entity": func(s string) string { return strings.ReplaceAll(html.EscapeString(s), "/", "&#x2F;") },
	"query":  url.QueryEscape,
	"path":   url.PathEscape,
	"lower":  func(s string) string { return strings.NewReplacer("/", "%2f", "+", "%2b", "=", "%3d").Replace(s) },
	"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"URL-64": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"within": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(`{"Key": "` + s + `"}`)) },
	"beside": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(`{"Key":  "` + s + `"}`)) },
	"latin1": func(s string) string {
		var all []rune
		for n := range len(s) {
			all = append(all, rune(s[n]))
		}
		return string(all)
	},
}

// asciiJSON escapes all that is no letter or digit of ASCII.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && r != '/' && r != '+' && r != '<' && r != '&' && r != '"' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// What a receiver repeats of the credentials that it was just sent is in no answer, however it is written.
func TestAnswersShowNoCredentials(t *testing.T) {
	t.Parallel()
	const key = `k/9+"<&=é%41 pA\ss`
	for name, a := range map[string]*model.Authentication{
		"header":        {Headers: []model.AuthHeader{{Name: "X-Api-Key", Value: key}}},
		"bearer":        {Bearer: "tok/en+with=="},
		"basic":         {Basic: &model.BasicAuth{User: "gateway-user", Password: key}},
		"authorization": {Headers: []model.AuthHeader{{Name: "Authorization", Value: "Basic Z2F0ZXdheS11c2VyOmh1bnRlcjJodW50ZXIy"}}},
	} {
		for how, encode := range encodings {
			var sent []string
			answer := echo(t, "/in/acme", a, func(r *http.Request) (string, string) {
				shown := r.Header.Get("X-Api-Key")
				if value := r.Header.Get("Authorization"); value != "" {
					_, shown, _ = strings.Cut(value, " ")
				}
				_, password, _ := r.BasicAuth()
				sent = []string{encode(shown)}
				if password != "" {
					sent = append(sent, encode(password))
				}
				text := strings.Join(sent, "\nuser gateway-user, password ")
				return strings.ReplaceAll(text, "\n", " "), "before " + text + " after"
			})
			for _, secret := range sent {
				// Of base64 with something around it, bits of the credential's first and last character may stay.
				core := secret
				if how == "within" || how == "beside" {
					core = secret[16 : len(secret)-8]
				}
				require.NotContains(t, string(answer.Head), core, "%s as %s", name, how)
				require.NotContains(t, string(answer.Header), core, "%s as %s", name, how)
			}
			require.Regexp(t, `^before .*\(secret\)`, string(answer.Head))
			require.Regexp(t, ` after$`, string(answer.Head))
			require.Regexp(t, `X-Echo: .*\(secret\)`, string(answer.Header))
			if name == "basic" {
				require.Contains(t, string(answer.Head), "user gateway-user,", "user names stay")
			}
		}
	}
}

// An access token that was fetched for the attempt is a credential as well.
func TestAnswersShowNoAccessToken(t *testing.T) {
	t.Parallel()
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token": "at-123456789", "token_type": "Bearer", "expires_in": 3600}`))
	}))
	t.Cleanup(issuer.Close)
	answer := echo(t, "/in/acme", &model.Authentication{OAuth2: &model.OAuth2{TokenURL: issuer.URL + "/token", ClientID: "gate",
		ClientSecret: "client-secret"}}, func(r *http.Request) (string, string) {
		return r.Header.Get("Authorization"), "you sent " + r.Header.Get("Authorization")
	})
	require.Equal(t, "you sent Bearer (secret)", string(answer.Head))
	require.Contains(t, string(answer.Header), "X-Echo: Bearer (secret)\n")
}

// Of an integration's URL only scheme and host are shown; the signing secret is not sent, and known to the receiver.
func TestAnswersShowNoAddress(t *testing.T) {
	t.Parallel()
	for path, cases := range map[string][][2]string{
		"/hook/KEY": {
			{"Cannot POST /hook/KEY", "Cannot POST (secret)"},
			{"Cannot POST &#x2F;hook&#x2F;KEY.", "Cannot POST (secret)."},
			{`{"path":"\/hook\/KEY"}`, `{"path":"(secret)"}`},
		},
		"/hooks/candidates/a1b2c3d4e5?client=x&token=sesame-open": {
			{"no route for /hooks/candidates/a1b2c3d4e5?client=x&amp;token=sesame-open", "no route for (secret)"},
			{`{"client":"x","token":"sesame-open"}`, `{"client":"x","token":"(secret)"}`},
			{"hook a1b2c3d4e5 takes no candidates", "hook (secret) takes no candidates"},
		},
		"/": {{"POST /", "POST /"}},
		"/in/acme": {{"expected the secret signing-secret, not a short one", "expected the secret (secret), not a short one"},
			{"400 Bad Request: the candidate has no e-mail address", "400 Bad Request: the candidate has no e-mail address"}},
	} {
		for _, c := range cases {
			answer := echo(t, path, nil, func(*http.Request) (string, string) { return c[0], c[0] })
			require.Equal(t, c[1], string(answer.Head))
			require.Contains(t, string(answer.Header), "X-Echo: "+c[1]+"\n")
		}
	}
}

// Credentials of fewer than eight characters stand in many an answer by chance, and stay.
func TestShortCredentialsStay(t *testing.T) {
	t.Parallel()
	a := &model.Authentication{Headers: []model.AuthHeader{{Name: "X-Tenant", Value: "acme"}, {Name: "X-Key", Value: "12345678"}}}
	answer := echo(t, "/in/7", a, func(*http.Request) (string, string) { return "acme", "acme has no 1234567, but 12345678" })
	require.Equal(t, "acme has no 1234567, but (secret)", string(answer.Head))
}

// Where the answer is cut off, so may be a credential.
func TestCredentialIsCutOff(t *testing.T) {
	t.Parallel()
	const key = "0123456789/abcdef"
	for _, shown := range []string{key[:1], key[:7], key[:16], "0123456789%2", `0123456789\u00`, "0123456789&#x2"} {
		answer := echo(t, "/in/acme", &model.Authentication{Bearer: key}, func(*http.Request) (string, string) {
			return "", strings.Repeat("-", webhook.AnswerBound-len(shown)) + shown + "and more"
		})
		require.Equal(t, strings.Repeat("-", webhook.AnswerBound-len(shown))+"(secret)", string(answer.Head))
	}
	answer := echo(t, "/in/acme", &model.Authentication{Bearer: key}, func(*http.Request) (string, string) { return "", key[:16] })
	require.Equal(t, key[:16], string(answer.Head), "it ended there")
}

// Answers that were stored before are shown without what the integration is sent now, and without the tokens that it
// was sent then.
func TestOlderAnswers(t *testing.T) {
	t.Parallel()
	i := integration("https://hr.acme.example", &model.Authentication{Headers: []model.AuthHeader{{Name: "X-Key", Value: "key-of-acme"}}})
	i.FormerSecret = "former-secret"
	credentials := webhook.CredentialsOf(i)
	for answer, want := range map[string]string{
		"POST /in/acme with key-of-acme": "POST (secret) with (secret)",
		"key-of-acm":                     "key-of-acm",
		"not former-secret":              "not (secret)",
		`"Authorization": "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x_-"`: `"Authorization": "Bearer (secret)"`,
		"authorization=Basic%20Z2F0ZTpodW50ZXIy":                 "authorization=Basic%20(secret)",
		"Basic authentication is required":                       "Basic authentication is required",
	} {
		require.Equal(t, want, string(credentials.BlankOlder([]byte(answer))))
	}
	i.URL = "no URL"
	require.Equal(t, "(secret)", string(webhook.CredentialsOf(i).BlankOlder([]byte("former-secret"))))
}

// Signatures of both kinds are found by their form: those of answers that were stored before, too.
func TestBlankSignatures(t *testing.T) {
	t.Parallel()
	i := integration("https://hr.acme.example", nil)
	i.Secret, i.StandardWebhooks = "signing-secret", true
	hexadecimal := webhook.Sign("signing-secret", []byte("x"))
	for how, encode := range encodings {
		for name, signature := range map[string]string{
			"hexadecimal": hexadecimal, "upper case": strings.ToUpper(hexadecimal),
			"standard": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		} {
			encoded := encode(signature)
			if name == "hexadecimal" || how != "within" && how != "beside" && (name == "standard" || !strings.Contains(how, "64")) {
				answer := string(webhook.BlankSignatures([]byte("got " + encoded + ", sorry")))
				require.NotContains(t, answer, encoded[20:len(encoded)-20], "%s as %s", name, how)
				require.Contains(t, answer, "got ")
				require.Contains(t, answer, "sorry")
			}
		}
	}
	for _, plain := range []string{"5b0c7d2e-1111-4111-8111-111111111111", "version v1, of the interface", strings.Repeat("z", 100)} {
		require.Equal(t, plain, string(webhook.BlankSignatures([]byte(plain))))
	}
}
