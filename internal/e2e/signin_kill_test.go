package e2e

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

const appCallback = "http://localhost:8090/callback"

// signInRoute mounts sign-in below /signin, with the key that seals the signing keys.
const signInRoute = `handle_path /signin/* {
		signin {
			key a-key-of-more-than-thirty-two-bytes
		}
	}`

// newSignIn is a system with the user ada and the client app.
func newSignIn(t *testing.T, database string) *system {
	t.Helper()
	s := newSystemWith(t, setup{database: database, routes: signInRoute})
	s.makeApp()
	return s
}

// makeApp makes the user ada and the client app.
func (s *system) makeApp() {
	s.t.Helper()
	s.post201("/users", map[string]any{"email": "ada@example.com", "password": "correct horse"})
	s.post201("/oauth-clients", map[string]any{"id": "app", "name": "App", "secret": "app-secret",
		"redirectUris": []string{appCallback}})
}

// code signs ada in and gives the code that the client app is sent.
func (s *system) code() string {
	s.t.Helper()
	request := url.Values{"response_type": {"code"}, "client_id": {"app"}, "redirect_uri": {appCallback},
		"scope": {"openid"}}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.PostForm(s.url("/signin/oauth/sign-in"),
		url.Values{"request": {request.Encode()}, "email": {"ada@example.com"}, "password": {"correct horse"}})
	require.NoError(s.t, err)
	answer.Body.Close()
	back, err := answer.Location()
	require.NoError(s.t, err)
	require.NotEmpty(s.t, back.Query().Get("code"), "%s", back)
	return back.Query().Get("code")
}

// exchange asks for tokens, on a connection of its own. The access token is that of a 200.
func (s *system) exchange(code string) (status int, access string, err error) {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {appCallback}}
	r, err := http.NewRequest(http.MethodPost, s.url("/signin/openId/accessToken"), strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("app", "app-secret")
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer.StatusCode, "", err
	}
	var issued struct {
		AccessToken string `json:"access_token"`
	}
	return answer.StatusCode, issued.AccessToken, json.Unmarshal(text, &issued)
}

func (s *system) userinfo(access string) int {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url("/signin/oauth/userinfo"), nil)
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+access)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	answer.Body.Close()
	return answer.StatusCode
}

// TestCodeSurvivesARestart kills the gateway between authorize and token.
func TestCodeSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := newSignIn(t, "")
	code := s.code()
	s.gateway.kill()
	s.startGateway()
	status, access, err := s.exchange(code)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, http.StatusOK, s.userinfo(access))
	s.gateway.kill()
	s.startGateway()
	require.Equal(t, http.StatusOK, s.userinfo(access))
}

// TestKillDuringExchangeLeavesOneWinner kills the gateway while 40 exchange the same code, starts it and lets more of
// them come: all in all one is given tokens at most, and what it was given is revoked by those that came after it.
func TestKillDuringExchangeLeavesOneWinner(t *testing.T) {
	t.Parallel()
	const kills = 5
	storetest.Each(t, func(t *testing.T, address string) {
		s := newSignIn(t, address)
		cut, late := 0, 0
		for round := range kills {
			code := s.code()
			var mu sync.Mutex
			var won []string
			broken := 0
			exchange := func() {
				status, access, err := s.exchange(code)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					broken++
				case status == http.StatusOK:
					won = append(won, access)
				case status != http.StatusBadRequest && status != http.StatusServiceUnavailable:
					t.Errorf("an exchange was answered %d", status)
				}
			}
			var asking sync.WaitGroup
			for range 40 {
				asking.Go(exchange)
			}
			wait(t, time.Duration(rand.IntN(3000*(round+1)))*time.Microsecond)
			s.gateway.kill()
			asking.Wait()
			if broken > 0 {
				cut++
			}
			before := len(won)
			s.startGateway()
			for range 3 {
				exchange()
			}
			require.LessOrEqual(t, len(won), 1, "round %d: a code has two winners", round)
			if len(won) > before {
				late++
			}
			for _, access := range won {
				require.Equal(t, http.StatusUnauthorized, s.userinfo(access),
					"round %d: a replay did not revoke what the code gave", round)
			}
		}
		require.NotZero(t, cut, "no exchange was under way when the gateway was killed")
		t.Logf("of %d kills, %d broke exchanges off; %d times the winner came after the restart", kills, cut, late)
	})
}
