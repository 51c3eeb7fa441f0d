package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Receivers that are right pass `hiregate check receiver`: the gateway's, the one of `listen`, and a partner's that shares
// no code with us. One with another secret fails.
func TestSoundReceiversPassTheirCheck(t *testing.T) {
	t.Parallel()
	s := newReceiver(t, setup{})
	ports := freePorts(t, 2)
	listening := start(t, []string{"HIREGATE_SECRET=" + inboundSecret}, hiregate(t), "listen", "--addr", loopback(ports[0]),
		"--lifeline")
	listening.line("Listening")
	start(t, nil, "node", "testdata/partner.mjs", fmt.Sprint(ports[1]), inboundSecret).line("^listening")
	secret := func(text string) string {
		file := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	right := secret(inboundSecret)
	for name, url := range map[string]string{
		"gateway": "http://" + loopback(s.http) + "/hooks/acme",
		"listen":  "http://" + loopback(ports[0]) + "/inbound",
		"partner": "http://" + loopback(ports[1]) + "/inbound",
	} {
		out, code := run(t, nil, hiregate(t), "check", "receiver", url, "--secret", right, "--format", "json",
			"--documents-wait", patience.String())
		require.Zero(t, code, "%s: %s", name, out)
		checks := 0
		for line := range strings.Lines(out) {
			var r struct{ ID, Verdict string }
			require.NoError(t, json.Unmarshal([]byte(line), &r), line)
			require.True(t, r.Verdict == "passed" || r.ID == "B-26", "%s: %s", name, line) // B-26 needs a second secret
			checks++
		}
		require.Greater(t, checks, 40)
	}
	out, code := run(t, nil, hiregate(t), "check", "receiver", "http://"+loopback(s.http)+"/hooks/acme", "--secret",
		secret("another"), "--only", "B-01")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "B-01")
	require.Contains(t, out, "401")
}

// `hiregate apply` keeps what `hiregate check partner` demands of a partner's client. It is started again where it leaves
// that to people: after a 500, and after an answer that was refused.
func TestOurClientPassesItsCheck(t *testing.T) {
	t.Parallel()
	address, folder := loopback(freePorts(t, 1)[0]), t.TempDir()
	watching := start(t, nil, hiregate(t), "check", "partner", "--listen", address, "--format", "json")
	watching.line("^Apply at http://" + address)
	env := []string{"HIREGATE_PASSWORD=check-password", "XDG_CACHE_HOME=" + folder}
	client := []string{"apply", "--url", "http://" + address, "--user", "partner@example.com", "--job", "CHECK-1"}

	out, code := run(t, env, hiregate(t), append(client, "--questions", "--json")...)
	require.Zero(t, code, out)
	answers, why := map[string]any{}, ""
	for line := range strings.Lines(out) {
		var q struct {
			ID, Format string
			Options    []string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &q), line)
		switch {
		case q.Format == "Checkbox":
			answers[q.ID] = q.Options
		case q.Format == "Select":
			answers[q.ID] = q.Options[0]
		default:
			answers[q.ID] = map[string]any{"Date": "2026-12-01", "File": sample(t, "resume.pdf"), "Number": "7", "Phone": "+1 555 0100 199",
				"Text": "Ada", "Textarea": "I like it"}[q.Format]
		}
		if q.Format == "Textarea" {
			why = q.ID
		}
	}
	answers["email"] = "ada@example.com"
	file := filepath.Join(folder, "answers.json")
	require.Eventually(t, func() bool {
		raw, err := json.Marshal(answers)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, raw, 0o600))
		out, code = run(t, env, hiregate(t), append(client, "--answers", file, "--idempotency-key", fmt.Sprintf("key-%x", len(answers[why].(string))))...)
		if strings.Contains(out, "refused once") {
			answers[why] = "I like it very much"
		}
		return code == 0
	}, patience, time.Second, "the last answer was %s", out)
	require.Zero(t, watching.exitCode(), watching.out.String())
	require.Equal(t, 18, strings.Count(watching.out.String(), `"verdict":"passed"`), watching.out.String())
}

// What the gateway sends in the role of a service keeps all that `hiregate check sender` demands. The command ends by itself.
func TestOurServicePassesItsCheck(t *testing.T) {
	t.Parallel()
	s := newSystemWith(t, setup{
		options: "candidate_url https://service.example.com/candidates/{candidate}",
		tenant:  "integration hris {\nurl http://PARTNER/check?client=check\nsecret " + outboundSecret + "\nretry 500ms 1s\n}",
	})
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(outboundSecret+"\n"), 0o600))
	watching := start(t, nil, hiregate(t), "check", "sender", "--listen", s.partner(), "--secret-file", secret, "--format", "json")
	watching.line("^Save an integration with the URL http://" + s.partner() + `/check\?client=check and the secret in `)
	watching.line("VERIFY .* answered 202")
	watching.line("VERIFY .* answered 200")
	s.put("/tenants/acme/jobs/NURSE-1", map[string]any{"id": "job-1", "title": "Nurse", "customFields": []any{}})
	for n := range 2 {
		c, a := fmt.Sprint("c-", n), fmt.Sprint("a-", n)
		s.put("/tenants/acme/candidates/"+c, map[string]any{"name": map[string]string{"given": "Zoë"}})
		s.put("/tenants/acme/job-applications/"+a, map[string]any{"candidate": c, "jobBoardCode": "NURSE-1"})
		s.post201("/tenants/acme/job-applications/"+a+"/documents?id=doc&fileName=r.pdf", []byte("%PDF-1.4"))
		s.post201("/tenants/acme/candidates/"+c+"/exports", map[string]any{})
		watching.line(fmt.Sprint(n+5, "  CANDIDATE-EXPORT .* answered 200")) // the first one after 503 and 302
	}
	require.Zero(t, watching.exitCode(), watching.out.String())
	require.Equal(t, 39, strings.Count(watching.out.String(), `"verdict":"passed"`), watching.out.String())
}
