package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A secret that changed in its file is taken up by a reload of the same Caddyfile, and the tenant shows which of its
// secrets is still used.
func TestReloadTakesUpASecretInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	write := func(secret string) { require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600)) }
	write("one")
	s := newSystem(t, "secret {file."+file+"}")
	sign := func(id, secret string) int {
		body := minimal(id)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		status, _, err := s.post(http.DefaultClient, id, body, func(r *http.Request) {
			r.Close = true
			r.Header.Set("X-Service-Signature", hex.EncodeToString(mac.Sum(nil)))
		})
		require.NoError(t, err)
		return status
	}
	require.Equal(t, http.StatusAccepted, sign("u-1", "one"))
	require.Equal(t, http.StatusUnauthorized, sign("u-2", "two"))
	write("two")
	s.reload()
	require.Equal(t, http.StatusAccepted, sign("u-3", "two"))
	require.Equal(t, http.StatusUnauthorized, sign("u-4", "one"))
	require.Eventually(t, func() bool {
		return strings.Contains(s.cli("tenant", "show", "acme", "--json"), `{"number":2,"lastUsedAt":"`)
	}, patience, patience/100, "no use of the new secret is shown")
	out := s.cli("tenant", "show", "acme")
	require.Regexp(t, `(?m)^secret 1 last used +never`, out)
	require.Regexp(t, `(?m)^wrong signatures +[12]`, out)
	s.gateway.line("signature matches no secret")
}

// While the secret of an integration is changed, no export waits: they are signed with the old secret until the partner
// answers VERIFY with the new one, and with that from then on.
func TestOutboundSecretRotatesWithoutAPause(t *testing.T) {
	t.Parallel()
	s := newSystem(t, shortRetries)
	var mu sync.Mutex
	knows := map[string]bool{outboundSecret: true}
	signedWith := func(signature string, body []byte) string {
		for secret := range map[string]bool{outboundSecret: true, "next": true} {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write(body)
			if hex.EncodeToString(mac.Sum(nil)) == signature {
				return secret
			}
		}
		return "neither"
	}
	partner := s.startRecorder(ok)
	partner.mu.Lock()
	partner.accepts = func(r request) bool {
		mu.Lock()
		defer mu.Unlock()
		return knows[signedWith(r.header.Get("X-Service-Signature"), r.body)]
	}
	partner.mu.Unlock()
	s.gateway.line("integration configured")
	s.awaitOutcome(s.accepted(minimal("c-1")), "delivered")

	s.tenant = strings.ReplaceAll(s.tenant, "secret "+outboundSecret, "secret next "+outboundSecret)
	s.reload()
	s.gateway.line("exports are signed with the former one")
	s.awaitOutcome(s.accepted(minimal("c-2")), "delivered")
	require.Contains(t, s.cli("integration", "list", "--json"), "signed with its former secret")

	mu.Lock()
	knows["next"] = true
	mu.Unlock()
	s.cli("integration", "enable", "acme/hris")
	require.Eventually(t, func() bool {
		return !strings.Contains(s.cli("integration", "list", "--json"), "signed with its former secret")
	}, patience, patience/100, "the new secret is not verified")
	s.awaitOutcome(s.accepted(minimal("c-3")), "delivered")

	s.tenant = strings.ReplaceAll(s.tenant, "secret next "+outboundSecret, "secret next")
	s.reload()
	verified := len(partner.of("VERIFY"))
	s.awaitOutcome(s.accepted(minimal("c-4")), "delivered")
	require.Len(t, partner.of("VERIFY"), verified, "the end of a rotation asks for no VERIFY")
	var signed []string
	for _, r := range partner.of("CANDIDATE-EXPORT") {
		signed = append(signed, signedWith(r.header.Get("X-Service-Signature"), r.body))
	}
	require.Equal(t, []string{outboundSecret, outboundSecret, "next", "next"}, signed)
	require.Zero(t, s.metric("hiregate_deliveries_total", `class="held"`))
}
