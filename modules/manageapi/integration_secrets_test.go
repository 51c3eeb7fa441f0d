package manageapi_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// An edit with a former secret begins a rotation; one without secrets leaves both; an empty former secret ends it, and
// so does a new secret alone. Each new secret is verified before it is saved.
func TestSecretsOfAnIntegrationRotate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	knows := "one-and-sixteen-bytes"
	address := b.partner(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !webhook.Verify(r.Header.Get("X-Service-Signature"), body, knows) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	b.must(http.StatusCreated, http.MethodPost, integrations, `{"name":"hris","url":"`+address+`/x","secret":"one-and-sixteen-bytes"}`)
	edit := func(status int, body string) (string, string) {
		a := b.must(status, http.MethodPut, integrations+"/hris", body)
		require.NotContains(t, a.body, `"one-and-sixteen-bytes"`)
		i, ok := b.Gateway.Config.Integration("initech", "hris")
		require.True(t, ok)
		if status == http.StatusOK {
			require.Equal(t, i.FormerSecret != "", strings.Contains(a.body, `"rotating":true`))
		}
		return i.Secret.Reveal(), i.FormerSecret.Reveal()
	}
	two := func(present, former string) []string { return []string{present, former} }
	require.Equal(t, []string{"one-and-sixteen-bytes", ""},
		two(edit(http.StatusUnprocessableEntity, `{"secret":"two-and-sixteen-bytes","formerSecret":"one-and-sixteen-bytes"}`)))
	knows = "two-and-sixteen-bytes"
	require.Equal(t, []string{"two-and-sixteen-bytes", "one-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"secret":"two-and-sixteen-bytes","formerSecret":"one-and-sixteen-bytes"}`)))
	require.Equal(t, []string{"two-and-sixteen-bytes", "one-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"inFlight":3}`)))
	require.Equal(t, []string{"two-and-sixteen-bytes", "one-and-sixteen-bytes"}, two(edit(http.StatusUnprocessableEntity, `{"formerSecret":"two-and-sixteen-bytes"}`)))
	require.Equal(t, []string{"two-and-sixteen-bytes", ""}, two(edit(http.StatusOK, `{"formerSecret":""}`)))
	knows = "three-and-sixteen-bytes"
	require.Equal(t, []string{"three-and-sixteen-bytes", "two-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"secret":"three-and-sixteen-bytes","formerSecret":"two-and-sixteen-bytes"}`)))
	knows = "four-and-sixteen-bytes"
	require.Equal(t, []string{"four-and-sixteen-bytes", "three-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"secret":"four-and-sixteen-bytes","rotate":true}`)))
	b.Clock.Advance(time.Hour)
	require.Equal(t, []string{"four-and-sixteen-bytes", "three-and-sixteen-bytes"}, two(edit(http.StatusOK, `{"inFlight":4}`)))
	shown := get[api.IntegrationHours](b, integrations+"/hris/health")
	require.Equal(t, gatewaytest.Noon, shown.RotatedAt)
	require.Equal(t, model.AdminEndpoint, shown.RotatedBy.Actor)
	require.Equal(t, []string{"four-and-sixteen-bytes", "three-and-sixteen-bytes"}, two(edit(http.StatusUnprocessableEntity, `{"rotate":true}`)))
	knows = "five-and-sixteen-bytes"
	require.Equal(t, []string{"four-and-sixteen-bytes", "three-and-sixteen-bytes"},
		two(edit(http.StatusUnprocessableEntity, `{"secret":"five-and-sixteen-bytes","rotate":true,"formerSecret":"three-and-sixteen-bytes"}`)))
	require.Equal(t, []string{"five-and-sixteen-bytes", ""}, two(edit(http.StatusOK, `{"secret":"five-and-sixteen-bytes"}`)))
	require.Zero(t, get[api.IntegrationHours](b, integrations+"/hris/health").RotatedAt)
}

// Credentials are sent with VERIFY and with the test export, and no answer shows them.
func TestCredentialsAreWriteOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	receiver := func() string {
		return b.partner(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "gate" || password != "hunter2" || r.Header.Get("X-Api-Key") != "hunter3" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		})
	}
	address := receiver()
	const credentials = `{"headers":[{"name":"X-Api-Key","value":"hunter3"}],"basic":{"user":"gate","password":"hunter2"}}`
	put := func(status int, body string) reply {
		a := b.must(status, http.MethodPut, integrations+"/hris", body)
		require.NotContains(t, a.body, "hunter")
		return a
	}
	failed := parsed[failedVerify](b, put(http.StatusUnprocessableEntity, `{"url":"`+address+`/x","secret":"s-and-sixteen-bytes"}`))
	require.Contains(t, failed.Detail, "VERIFY was answered 401: it does not accept the signature or the credentials")
	put(http.StatusCreated, `{"url":"`+address+`/x","secret":"s-and-sixteen-bytes","authentication":`+credentials+`}`)
	put(http.StatusOK, `{"documents":"inline"}`)
	shown := b.must(http.StatusOK, http.MethodGet, integrations+"/hris", "").body
	require.Contains(t, shown, `"authentication":{"headers":["X-Api-Key"],"scheme":"basic"}`)
	trial := b.must(http.StatusOK, http.MethodPost, integrations+"/hris/test", "").body
	require.Contains(t, trial, `"received":true`)
	require.NotContains(t, trial, "hunter")
	require.NotContains(t, trial, "Z2F0ZT", "the header Authorization")

	other := receiver()
	require.Contains(t, put(http.StatusUnprocessableEntity, `{"url":"`+other+`/x"}`).body, "authentication is needed",
		"nobody has credentials sent to a host of their own")
	put(http.StatusOK, `{"url":"`+other+`/x","authentication":`+credentials+`}`)
	put(http.StatusUnprocessableEntity, `{"authentication":{"bearer":"hunter4"}}`)
	put(http.StatusUnprocessableEntity, `{"authentication":{}}`)
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, integrations+"/hris", "").body, `"scheme":"basic"`, "it stayed")

	for body, want := range map[string]string{
		`{"headers":[{"name":"X-Service-UUID","value":"x"}]}`:                         "header X-Service-UUID",
		`{"headers":[{"name":"content-length","value":"x"}]}`:                         "authentication: header content-length",
		`{"bearer":"hunter2","basic":{"user":"a","password":"b"}}`:                    "authentication: basic, bearer, oauth2",
		`{"oauth2":{"tokenUrl":"ftp://x/y","clientId":"a","clientSecret":"hunter2"}}`: "authentication.oauth2.tokenUrl",
		`{"tls":{"certificate":"hunter2","key":"hunter2"}}`:                           "authentication: tls",
	} {
		require.Contains(t, put(http.StatusUnprocessableEntity, `{"authentication":`+body+`}`).body, want)
	}
	b.requireCleanLog()
}

// A client certificate is shown, and its end needs a person from 14 days before.
func TestClientCertificateEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	b.AllowLoopback(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	raw, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	leaf := server.Certificate()
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}))
	credentials := model.Authentication{TLS: &model.ClientTLS{Certificate: certificate, CA: certificate,
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))}}
	in := func(a string) string {
		return `{"url":"` + server.URL + `/x","secret":"s-and-sixteen-bytes","authentication":` + a + `}`
	}
	require.Contains(t, b.must(http.StatusUnprocessableEntity, http.MethodPut, integrations+"/hris", in("{}")).body,
		"is of an authority that is not known here")
	shown := b.must(http.StatusCreated, http.MethodPut, integrations+"/hris", in(string(credentials.Format()))).body
	require.Contains(t, shown, `"certificateEndsAt":"`+leaf.NotAfter.UTC().Format(time.RFC3339)+`"`)
	require.NotContains(t, shown, "PRIVATE")
	needs := func() []model.Need {
		all := get[struct{ Needs []model.Need }](b, "/v1/status").Needs
		return slices.DeleteFunc(all, func(n model.Need) bool { return n.Tenant != "initech" })
	}
	require.Empty(t, needs())
	b.Clock.Advance(leaf.NotAfter.Sub(gatewaytest.Noon) - 13*24*time.Hour)
	require.Equal(t, []model.Need{{Kind: model.NeedCertificate, Tenant: "initech", Integration: "hris",
		Since: leaf.NotAfter.Add(-14 * 24 * time.Hour), Action: "hiregate integration show initech/hris",
		Sentence: "initech/hris: its client certificate ends at " + leaf.NotAfter.UTC().Format(time.RFC3339) +
			": renew it in tls of the integration's authentication"}}, needs())
}
