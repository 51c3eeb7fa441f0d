package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/internal/webhook"
)

// sealText is the n-th text that a test seals with.
func sealText(n int) string { return fmt.Sprintf("text-%d-of-more-than-thirty-two-characters", n) }

// TestKilledWhileSecretsAreSealedAnew changes what thousands of tenants' secrets are sealed with, again and again, and
// kills the gateway at random moments of it. Each start opens all of them, and in the end the last key does alone.
func TestKilledWhileSecretsAreSealedAnew(t *testing.T) {
	t.Parallel()
	const tenants, kills = 3000, 6
	s := newSystemWith(t, setup{options: "seal_key " + sealText(0)})
	partner := s.startRecorder(func(string, int) int { return http.StatusOK })
	s.put("/tenants/initech", map[string]any{"name": "Initech", "secrets": []string{inboundSecret}})
	s.post201("/tenants/initech/integrations", map[string]any{"name": "hris", "url": "http://" + s.partner() + "/in/7",
		"secret": outboundSecret})
	s.put("/tenants/initech/candidates/c-1", map[string]any{"name": map[string]string{"given": "Ada"}})
	s.gateway.kill()
	s.inStore(func(db *store.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			for n := range tenants {
				if err := tx.UpsertTenant(&model.Tenant{Name: fmt.Sprint("t-", n), Secrets: []model.Secret{inboundSecret}},
					time.Now()); err != nil {
					return err
				}
			}
			return nil
		}))
	})

	middle := 0
	texts := []string{sealText(0)}
	for n := range kills {
		texts = append([]string{sealText(n + 1)}, texts...)
		s.options = "seal_key " + strings.Join(texts, " ")
		s.configure()
		s.startGateway()
		wait(t, time.Duration(rand.IntN(300))*time.Millisecond)
		s.gateway.kill()
		s.inStore(func(db *store.DB) {
			all, err := vault.New(texts...)
			require.NoError(t, err)
			require.NoError(t, db.CheckSecrets(t.Context(), all))
			if db.CheckSecrets(t.Context(), all.Newest()) != nil {
				middle++
			}
		})
	}
	t.Logf("%d of %d kills came before all was sealed anew", middle, kills)

	s.startGateway()
	s.options = "seal_key " + texts[0]
	s.configure()
	reload := func() bool {
		_, code := run(t, nil, hiregate(t), "reload", "--config", s.caddyfile(), "--adapter", "caddyfile", "--address",
			loopback(s.admin))
		return code == 0
	}
	require.Eventually(t, reload, patience, 200*time.Millisecond, "the former keys are needed still")
	s.post201("/tenants/initech/candidates/c-1/exports", map[string]any{})
	sent := partner.awaitExports(t, 1)[0]
	require.Equal(t, webhook.Sign(outboundSecret, sent.body), sent.header.Get("X-Service-Signature"))
	require.Len(t, partner.of("VERIFY"), 1, "an integration was verified anew, though its secret is the same")
}

// inStore opens the database of a gateway that does not run.
func (s *system) inStore(do func(*store.DB)) {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), "sqlite://"+filepath.Join(s.dir, "hiregate.db"), store.Options{})
	require.NoError(s.t, err)
	do(db)
	require.NoError(s.t, db.Close())
}
