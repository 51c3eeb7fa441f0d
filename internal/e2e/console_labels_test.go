package e2e

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Somebody whose role is of the tenants with a label works in one of these, and is out as soon as it has lost the label.
func TestRolesOfLabels(t *testing.T) {
	t.Parallel()
	ports := newDevPorts(t)
	dev(t, t.TempDir(), ports).line(devReady)
	console, admin := ports.url("/console"), "http://"+loopback(ports.admin)
	out, code := run(t, nil, hiregate(t), "send", ports.url("/hooks/acme"), "--secret", "acme-signing-secret")
	require.Zero(t, code, out)
	uuid := uuidLine.FindStringSubmatch(out)[1]
	s := newSurfer(t)
	configure := func(pairs ...string) {
		t.Helper()
		s.open(admin + "/config/")
		config := s.text
		for n := 0; n < len(pairs); n += 2 {
			require.Contains(t, config, pairs[n])
			config = strings.Replace(config, pairs[n], pairs[n+1], 1)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, admin+"/load", strings.NewReader(config))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		wrong, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, "%s", wrong)
	}
	configure(`"name":"acme",`, `"labels":["region=north"],"name":"acme",`,
		`{"emails":["viewer@example.com"],"role":"viewer",`, `{"emails":["viewer@example.com"],"labels":["region=north"],"role":"operator",`,
		`,"tenant":"acme"}],"title"`, `}],"title"`)
	s.open(console)
	s.submit(url.Values{"email": {"viewer@example.com"}, "password": {"correct horse"}, "action": {"sign-in"}})
	require.Equal(t, console+"/in/acme", s.at.String())
	for _, path := range []string{"", "/", "/exports", "/integrations", "/redeliveries", "/tenants", "/tenants/acme", "/audit"} {
		s.open(console + "/in/acme" + path)
		require.Equal(t, http.StatusOK, s.status, path)
		require.NotContains(t, s.text, "globex", path)
	}
	body := "/exports/acme/" + uuid + "/body"
	s.open(console + "/exports/acme/" + uuid)
	require.Contains(t, s.text, `action="/console/in/acme`+body)
	s.text = `<form method="post" action="` + console + `/in/acme` + body + `">`
	s.submit(url.Values{})
	require.Equal(t, http.StatusOK, s.status, s.text)
	s.open(console + "/in/globex/exports")
	require.Equal(t, http.StatusNotFound, s.status)

	configure(`["region=north"],"name":"acme"`, `["region=south"],"name":"acme"`)
	s.open(console + "/in/acme/exports")
	require.Equal(t, http.StatusNotFound, s.status)
	s.open(console)
	require.Equal(t, http.StatusForbidden, s.status)
	require.Contains(t, s.text, "no client has it now")
}
