package manageapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
)

// A stored tenant is relayed to a service that lets its user sign in. The password is kept and never shown.
func TestAStoredTenantIsRelayed(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var given struct{ UserName, Password string }
		_ = json.NewDecoder(r.Body).Decode(&given)
		if r.URL.Path != "/apply/v2/authentication" {
			http.NotFound(w, r)
			return
		}
		if given.UserName != "partner" || given.Password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"token":"t"}`)
	}))
	t.Cleanup(service.Close)
	b := setup(t)
	b.AllowLoopback(t)
	require.Equal(t, http.StatusCreated, b.send(http.MethodPut, "/v1/tenants/umbrella", `{"secrets":[]}`).status)
	const of = "/v1/tenants/umbrella/apply-upstream"
	put := func(body string, status int) (u api.ApplyUpstream) {
		t.Helper()
		answer := b.send(http.MethodPut, of, body)
		require.Equal(t, status, answer.status, answer.body)
		require.NotContains(t, answer.body, "hunter")
		require.NoError(t, json.Unmarshal([]byte(answer.body), &u))
		return u
	}
	right := fmt.Sprintf(`{"url":%q,"user":"partner","password":"hunter2"}`, service.URL+"/apply")
	require.Equal(t, http.StatusNotFound, b.send(http.MethodGet, of, "").status)
	require.Equal(t, http.StatusNotFound, b.send(http.MethodDelete, of, "").status)
	for body, says := range map[string]string{
		fmt.Sprintf(`{"url":%q,"user":"partner","password":"hunter3"}`, service.URL+"/apply"): "refuses the user name and the password",
		fmt.Sprintf(`{"url":%q,"user":"partner","password":"hunter2"}`, service.URL+"/other"): "no Apply API answers",
		fmt.Sprintf(`{"url":%q,"user":"partner"}`, service.URL+"/apply"):                      "password: it is needed",
		`{"url":"https://192.168.0.1/apply","user":"partner","password":"hunter2"}`:           "egress",
		right[:len(right)-1] + `,"tryForHours":9000000}`:                                      "try_for",
	} {
		answer := b.send(http.MethodPut, of, body)
		require.Equal(t, http.StatusUnprocessableEntity, answer.status, body)
		require.Contains(t, answer.body, says)
	}
	require.Equal(t, http.StatusConflict, b.send(http.MethodPut, "/v1/tenants/acme/apply-upstream", right).status)

	u := put(right, http.StatusCreated)
	require.Equal(t, 168, u.TryFor)
	put(fmt.Sprintf(`{"url":%q,"user":"partner","keepDays":30,"waitSeconds":0}`, service.URL+"/apply"), http.StatusOK)
	require.Equal(t, http.StatusOK, b.send(http.MethodPut, "/v1/tenants/umbrella", `{"name":"Umbrella"}`).status)
	answer := b.send(http.MethodGet, of, "")
	require.Equal(t, http.StatusOK, answer.status)
	require.NotContains(t, answer.body, "hunter")
	require.Contains(t, answer.body, `"keepDays":30`)
	kept := b.Runtime.Relay.Upstream("umbrella")
	require.Equal(t, "hunter2", kept.Password.Reveal())
	require.Equal(t, 30*24*time.Hour, kept.Keep)
	put(fmt.Sprintf(`{"url":%q,"user":"partner"}`, service.URL), http.StatusUnprocessableEntity)
	for body, says := range map[string]string{"": `{"signedIn":true}`,
		fmt.Sprintf(`{"url":%q,"user":"partner"}`, service.URL+"/apply"):                      `{"signedIn":true}`,
		fmt.Sprintf(`{"url":%q,"user":"partner","password":"hunter3"}`, service.URL+"/apply"): `"signedIn":false,"reason":"the service refuses`,
	} {
		answer := b.send(http.MethodPost, of+"/test", body)
		require.Equal(t, http.StatusOK, answer.status, answer.body)
		require.Contains(t, answer.body, says)
	}
	require.Equal(t, http.StatusNotFound, b.send(http.MethodPost, "/v1/tenants/acme/apply-upstream/test", "").status)

	require.Equal(t, http.StatusNoContent, b.send(http.MethodDelete, of, "").status)
	require.Nil(t, b.Runtime.Relay.Upstream("umbrella"))
}
