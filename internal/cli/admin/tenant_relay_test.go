package admin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
)

// A tenant is relayed to the service that the flags name; what they leave out stays, the password too, which is not shown.
func TestTenantRelay(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var given struct{ Password string }
		if r.URL.Path == "/jobs.json" {
			io.WriteString(w, `{"positionProfiles":[]}`)
			return
		}
		if _ = json.NewDecoder(r.Body).Decode(&given); given.Password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"token":"t"}`)
	}))
	t.Cleanup(service.Close)
	b := setup(t)
	b.AllowLoopback(t)
	relay := func(flags ...string) (string, error) {
		t.Helper()
		out, _, err := b.hiregate(append([]string{"tenant", "relay", "initech"}, flags...)...)
		require.NotContains(t, out, "hunter2")
		return out, err
	}
	_, _, err := b.hiregate("tenant", "set", "initech")
	require.NoError(t, err)
	_, err = relay()
	require.ErrorContains(t, err, "relayed to no service")
	_, err = relay("--url", service.URL, "--user", "partner")
	require.ErrorContains(t, err, "password")
	_, err = relay("--url", service.URL, "--user", "partner", "--password-file", clitest.File(t, "wrong", []byte("hunter1")))
	require.ErrorContains(t, err, "refuses the user name and the password")
	out, err := relay("--url", service.URL, "--user", "partner", "--password-file", clitest.File(t, "right", []byte("hunter2\n")))
	require.NoError(t, err)
	require.Equal(t, "the applications of tenant initech are relayed to "+service.URL+"\n", out)
	_, err = relay("--keep-days", "30", "--rate", "1/s burst 2", "--source", "Careers")
	require.NoError(t, err)
	_, err = relay("--feed", service.URL+"/nothing")
	require.ErrorContains(t, err, "the feed answered 401: correct its address")
	_, err = relay("--feed", service.URL+"/jobs.json")
	require.NoError(t, err)
	out, err = relay("--json")
	require.NoError(t, err)
	require.JSONEq(t, `{"url":"`+service.URL+`","user":"partner","source":"Careers","waitSeconds":5,"tryForHours":168,"keepDays":30,
		"rate":{"perSecond":1,"burst":2},"feed":"`+service.URL+`/jobs.json"}`, out)
	_, err = relay("--feed", "")
	require.NoError(t, err)
	out, err = relay("--json")
	require.NoError(t, err)
	require.NotContains(t, out, "feed")
	out, err = relay()
	require.NoError(t, err)
	require.Contains(t, out, "168 hours")
	out, err = relay("--test")
	require.NoError(t, err)
	require.Equal(t, "the service lets the user sign in\n", out)
	_, err = relay("--test", "--password-file", clitest.File(t, "another", []byte("hunter1")))
	require.ErrorContains(t, err, "refuses the user name and the password")
	_, err = relay("--test", "--remove")
	require.ErrorContains(t, err, "--test")
	_, err = relay("--remove", "--keep-days", "3")
	require.ErrorContains(t, err, "--remove")
	_, err = relay("--remove")
	require.NoError(t, err)
	_, err = relay()
	require.Error(t, err)
}
