package signin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/modules/signin"
)

// bare is a fixture whose database has no keys yet.
func bare(t *testing.T) *fixture {
	t.Helper()
	b := &fixture{Fixture: gatewaytest.New(t), t: t}
	b.Provider = b.provider(issuer)
	b.populate()
	return b
}

// published are the ids of the keys for ES256 in the order of their generations.
func (b *fixture) published() (ids []string) {
	b.t.Helper()
	w := b.get("/oauth/jwks")
	var set jose.JSONWebKeySet
	require.NoError(b.t, json.Unmarshal(w.Body.Bytes(), &set), "%s", w.Body)
	for _, k := range set.Keys {
		if k.Algorithm == "ES256" {
			ids = append(ids, k.KeyID)
		}
	}
	return ids
}

// signer is the id of the key that signs now.
func (b *fixture) signer() string {
	b.t.Helper()
	token := b.flow(base().with(params{"client_id": "curved"})).IDToken
	b.claims(token) // its key is published
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	require.NoError(b.t, err)
	return signed.Signatures[0].Header.KeyID
}

// "keys rotate with overlap (next published before it signs)"
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	b := bare(t)
	first := b.published()
	require.Len(t, first, 1)
	require.Equal(t, first[0], b.signer())
	b.Clock.Advance(signin.RotateEvery - 24*time.Hour - time.Minute)
	require.Equal(t, first, b.published())

	b.Clock.Advance(2 * time.Minute)
	both := b.published()
	require.Len(t, both, 2, "the next key is not published ahead")
	require.Equal(t, first[0], both[0])
	require.Equal(t, first[0], b.signer(), "a key signs before it was published for a day")
	token := b.flow(base().with(params{"client_id": "curved"})).IDToken

	b.Clock.Advance(24 * time.Hour)
	require.Equal(t, both[1], b.signer())
	require.Equal(t, both, b.published(), "what was signed a moment ago can't be verified")
	b.claims(token)

	b.Clock.Advance(26 * time.Hour)
	require.Equal(t, both[1:], b.published(), "a key is published for good")
	require.Equal(t, both[1], b.signer())

	// After a long rest, the next key is published ahead all the same.
	b.Clock.Advance(2 * signin.RotateEvery)
	require.Equal(t, both[1], b.published()[0])
	require.Len(t, b.published(), 2)
	require.Equal(t, both[1], b.signer())
	b.Clock.Advance(25 * time.Hour)
	require.NotEqual(t, both[1], b.signer())
}

// An ID token is a good hint after the key that signed it is no longer published, for as long as a refresh token
// issued with it is good.
func TestHintOfAFormerKey(t *testing.T) {
	t.Parallel()
	b := bare(t)
	curved := base().with(params{"client_id": "curved"})
	first := b.signer()
	b.Clock.Advance(signin.RotateEvery - 24*time.Hour)
	require.Len(t, b.published(), 2)
	b.Clock.Advance(24*time.Hour - time.Minute)
	require.Equal(t, first, b.signer())
	token := b.flow(curved).IDToken
	require.Len(t, b.published(), 2)
	b.Clock.Advance(identity.RefreshLife)
	require.Len(t, b.published(), 1)
	require.NotEqual(t, first, b.signer())

	u := b.browser()
	u.enter(curved)
	hinted := curved.with(params{"prompt": "none", "id_token_hint": token})
	require.NotEmpty(t, back(t, u.authorize(hinted), callback).Get("code"))
	bye := url.Values{"id_token_hint": {token}, "post_logout_redirect_uri": {"https://app.example.com/bye"}}
	require.Equal(t, "https://app.example.com/bye", u.ask(http.MethodGet, "/oauth/logout?"+bye.Encode(),
		nil).Header().Get("Location"))

	b.Clock.Advance(24*time.Hour + 2*time.Minute)
	requireError(t, u.authorize(hinted), hinted, "invalid_request")
	stored, err := b.Runtime.Store().ListKeys(t.Context())
	require.NoError(t, err)
	require.Len(t, stored, 2, "a key is kept for good")
}

// A key that is kept for hints alone, and was sealed with a text that is gone, keeps nobody from signing in.
func TestFormerKeyOfALostText(t *testing.T) {
	t.Parallel()
	b := bare(t)
	b.signer()
	const another = "another text of more than thirty-two characters"
	b.Provider = b.provider(issuer, another, seal)
	b.Clock.Advance(signin.RotateEvery)
	require.Len(t, b.published(), 2)
	b.Clock.Advance(3 * 24 * time.Hour)
	b.Provider = b.provider(issuer, another)
	b.signer()
}

// Nodes that start at the same time agree on the keys.
func TestKeysAreShared(t *testing.T) {
	t.Parallel()
	b := bare(t)
	answers := make([][]byte, 4)
	var wg sync.WaitGroup
	for n := range answers {
		p := b.provider(issuer)
		wg.Go(func() {
			u := &browser{b: b, p: p}
			answers[n] = u.ask("GET", "/oauth/jwks", nil).Body.Bytes()
		})
	}
	wg.Wait()
	for _, one := range answers[1:] {
		require.Equal(t, string(answers[0]), string(one))
	}
	b.signer()
}

// Where the database hangs, those who ask for the keys wait for it once, and not one after the other.
func TestKeysWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	b := bare(t)
	first := b.get("/oauth/jwks").Body.String()
	here := b.Ring.Store
	gone, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "gone.db"), store.Options{})
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	var asked atomic.Int64
	answers := func() (all []*httptest.ResponseRecorder) {
		asked.Store(0)
		came, answer := make(chan struct{}, 10), make(chan struct{})
		b.Ring.Store = func() *store.DB {
			asked.Add(1)
			came <- struct{}{}
			<-answer
			return gone
		}
		all = make([]*httptest.ResponseRecorder, 5)
		var wg sync.WaitGroup
		for n := range all {
			wg.Go(func() { all[n] = b.get("/oauth/jwks") })
		}
		<-came
		close(answer)
		wg.Wait()
		return all
	}
	b.Clock.Advance(2 * time.Minute)
	for _, w := range answers() {
		require.Equal(t, first, w.Body.String(), "the keys that were read before don't serve")
	}
	require.Equal(t, int64(1), asked.Load())

	b.Provider = b.provider(issuer) // which knows none yet
	for _, w := range answers() {
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
	}
	require.Equal(t, int64(1), asked.Load())
	b.Ring.Store = here
	b.Clock.Advance(time.Second)
	left, leave := context.WithCancel(t.Context())
	leave()
	w := httptest.NewRecorder()
	b.Provider.ServeHTTP(w, httptest.NewRequestWithContext(left, http.MethodGet, "/oauth/jwks", nil))
	require.Equal(t, first, w.Body.String(), "who hangs up fails for all")
}

// "encrypted at rest": neither the database's rows nor anything else there shows a private key, and only its text
// opens it.
func TestKeysAreSealed(t *testing.T) {
	t.Parallel()
	b := bare(t)
	first := b.published()
	stored, err := b.Runtime.Store().ListKeys(t.Context())
	require.NoError(t, err)
	require.Len(t, stored, 2)
	for _, k := range stored {
		// PEM, and the object identifiers of PKCS #8
		for _, form := range []string{"PRIVATE", "\x06\x07\x2a\x86\x48\xce\x3d", "\x06\x09\x2a\x86\x48\x86\xf7"} {
			require.False(t, bytes.Contains(k.Sealed, []byte(form)))
		}
	}
	const another = "another text of more than thirty-two characters"
	wrong := b.provider(issuer, another)
	b.Provider = wrong
	require.Equal(t, 503, b.get("/oauth/jwks").Code)
	logged := b.Logged.All()
	require.Contains(t, logged[len(logged)-1].ContextMap()["error"], "configure the one that it was sealed with beside it")
	// A new text with the former one beside it opens all, and seals what comes.
	both := b.provider(issuer, another, seal)
	b.Provider = both
	require.Equal(t, first, b.published())
	b.Clock.Advance(signin.RotateEvery)
	require.Len(t, b.published(), 2)

	_, err = vault.New(another, "short")
	require.ErrorContains(t, err, "openssl rand")
	_, err = vault.New()
	require.Error(t, err, "a key is kept unsealed")
}

// The text is changed node by node: while one seals with the new one already, another has it behind the former one.
func TestSealingChangesNodeByNode(t *testing.T) {
	t.Parallel()
	b := bare(t)
	const another = "another text of more than thirty-two characters"
	ahead, behind := b.provider(issuer, another, seal), b.provider(issuer, seal, another)
	first := b.published()
	b.Clock.Advance(signin.RotateEvery)
	b.Provider = ahead
	both := b.published()
	require.Equal(t, first, both[:1])
	require.Len(t, both, 2)
	b.Provider = behind
	require.Equal(t, both, b.published())
	b.Clock.Advance(25 * time.Hour)
	require.Equal(t, both[1], b.signer())
}

// A key whose id somebody changed in the database is not opened as another.
func TestSealedToItsID(t *testing.T) {
	t.Parallel()
	b := bare(t)
	b.published()
	stored, err := b.Runtime.Store().ListKeys(t.Context())
	require.NoError(t, err)
	n := slices.IndexFunc(stored, func(k *identity.Key) bool { return k.Algorithm == identity.ES256 })
	forged := *stored[n]
	forged.Generation, forged.ID = 2, "forged"
	b.Write(t, func(tx *store.Tx) error { _, err := tx.InsertKey(&forged); return err })
	b.Provider = b.provider(issuer)
	require.Equal(t, 503, b.get("/oauth/jwks").Code)
}
