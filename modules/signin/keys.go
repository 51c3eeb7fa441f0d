package signin

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

// How keys take turns. A key is published a day before it signs, so that clients which keep the key set for some time know it by
// then, and a day longer than what it signed is good. It is kept longer than that: an application sends the ID token that it has as a hint,
// however old, and one whose refresh token is still good has none that is older.
const (
	keysAhead  = 24 * time.Hour
	keysBehind = identity.IDTokenLife + 24*time.Hour
	keysKept   = identity.RefreshLife + 24*time.Hour
	keysFresh  = time.Minute // how long they are not read anew
	keysPause  = time.Second // how long they are not where there are none yet, and they could not be read
	rsaBits    = 2048

	// RotateEvery is how long a key signs, unless the configuration says otherwise.
	RotateEvery = 90 * 24 * time.Hour
	// MinRotate is the least that the configuration may say.
	MinRotate = 7 * 24 * time.Hour
)

// Ring holds the keys that ID tokens are signed with. They are the database's: all nodes have the same. The first of each
// algorithm is made when it is first needed, each further one a day before the end of its predecessor's time.
type Ring struct {
	Store func() *store.DB
	Now   func() time.Time
	Log   *zap.Logger
	// Every is how long a key signs.
	Every time.Duration
	// Vault is what the private keys are sealed with in the database.
	Vault *vault.Vault

	mu   sync.Mutex
	read time.Time     // when that was tried last
	good time.Duration // for how long what came of it is good
	keys []*key
	err  error // nil where there are keys
}

// key is a key of the ring, opened.
type key struct {
	*identity.Key
	private   crypto.Signer
	published bool // false: it is kept for hints alone
}

// current gives the key that signs now.
func (r *Ring) current(ctx context.Context, a identity.Algorithm) (*key, error) {
	keys, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	var best *key
	for _, k := range keys {
		if k.Algorithm == a && !k.SignsFrom.After(now) {
			best = k
		}
	}
	if best == nil {
		return nil, fmt.Errorf("there is no key for %s yet: look at the clocks of the nodes", a)
	}
	return best, nil
}

// all gives the keys, by algorithm and generation. Those that were read before serve while the database is away. It
// is asked once for all who wait, and for whoever comes behind them: where it hangs, each of them would wait as long, one after the other.
func (r *Ring) all(ctx context.Context) ([]*key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	if now.Sub(r.read).Abs() < r.good {
		return r.keys, r.err
	}
	keys, err := r.load(context.WithoutCancel(ctx), now) // since it is not for this request alone
	switch {
	case err == nil:
		r.keys, r.err, r.good = keys, nil, keysFresh
	case len(r.keys) > 0:
		r.Log.Warn("the signing keys could not be read anew", zap.Error(err))
		r.good = keysFresh
	default:
		r.err, r.good = err, keysPause
	}
	r.read = r.Now()
	return r.keys, r.err
}

// load reads the keys, after it made those that are due and removed those that are over.
func (r *Ring) load(ctx context.Context, now time.Time) ([]*key, error) {
	stored, err := r.Store().Keys(ctx)
	if err != nil {
		return nil, err
	}
	changed := false
	for _, a := range identity.Algorithms {
		one, err := r.turn(ctx, a, of(a, stored), now)
		if err != nil {
			return nil, err
		}
		changed = changed || one
	}
	if changed {
		if stored, err = r.Store().Keys(ctx); err != nil {
			return nil, err
		}
	}
	var keys []*key
	for _, k := range stored {
		opened, err := r.open(k)
		published := k.Generation >= oldest(of(k.Algorithm, stored), keysBehind, now)
		if err != nil && published {
			return nil, err
		}
		if err == nil { // otherwise the text that it was sealed with is gone, and its hints with it
			opened.published = published
			keys = append(keys, opened)
		}
	}
	return keys, nil
}

// oldest gives the generation of an algorithm's keys before which none is needed: it has signed for a time.
func oldest(keys []*identity.Key, signed time.Duration, now time.Time) (generation int) {
	for _, k := range keys {
		if !k.SignsFrom.Add(signed).After(now) {
			generation = k.Generation
		}
	}
	return generation
}

func of(a identity.Algorithm, keys []*identity.Key) (mine []*identity.Key) {
	for _, k := range keys {
		if k.Algorithm == a {
			mine = append(mine, k)
		}
	}
	return mine
}

// turn makes an algorithm's next key when it is due, and removes those that are over. It reports whether anything changed.
func (r *Ring) turn(ctx context.Context, a identity.Algorithm, keys []*identity.Key, now time.Time) (changed bool, err error) {
	generation, from := 1, now
	if len(keys) > 0 {
		last := keys[len(keys)-1]
		generation, from = last.Generation+1, last.SignsFrom.Add(r.Every)
		if earliest := now.Add(keysAhead); from.Before(earliest) {
			from = earliest
		}
		if now.Before(last.SignsFrom.Add(r.Every - keysAhead)) {
			generation = 0
		}
	}
	if generation > 0 {
		k, err := r.generate(a, generation, from, now)
		if err != nil {
			return false, err
		}
		// Another node may be quicker: its key is the one then.
		if err := r.Store().Write(ctx, func(tx *store.Tx) error { _, err := tx.AddKey(k); return err }); err != nil {
			return false, err
		}
		changed = true
	}
	if first := oldest(keys, keysKept, now); len(keys) > 0 && keys[0].Generation < first {
		err = r.Store().Write(ctx, func(tx *store.Tx) error { return tx.DropKeys(a, first) })
		changed = true
	}
	return changed, err
}

func (r *Ring) generate(a identity.Algorithm, generation int, from, now time.Time) (*identity.Key, error) {
	var private crypto.Signer
	var err error
	if a == identity.ES256 {
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		private, err = rsa.GenerateKey(rand.Reader, rsaBits)
	}
	if err != nil {
		return nil, err
	}
	thumbprint, err := (&jose.JSONWebKey{Key: private.Public()}).Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	k := &identity.Key{Algorithm: a, Generation: generation, ID: base64.RawURLEncoding.EncodeToString(thumbprint), SignsFrom: from, CreatedAt: now}
	k.Sealed, err = r.Vault.Seal(forSigningKeys, k.ID, raw)
	return k, err
}

func (r *Ring) open(k *identity.Key) (*key, error) {
	raw, err := r.Vault.Open(forSigningKeys, k.ID, k.Sealed)
	if err != nil {
		return nil, fmt.Errorf("a signing key: %w", err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(raw)
	if err != nil {
		return nil, fmt.Errorf("reading a signing key: %w", err)
	}
	private, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("reading a signing key: it does not sign")
	}
	return &key{Key: k, private: private}, nil
}

// public is the key as clients see it (RFC 7517).
func (k *key) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.private.Public(), KeyID: k.ID, Algorithm: string(k.Algorithm), Use: "sig"}
}

// sign makes a JWT of claims, in JSON.
func (k *key) sign(claims []byte) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(k.Algorithm), Key: jose.JSONWebKey{Key: k.private, KeyID: k.ID}},
		new(jose.SignerOptions).WithType("JWT"))
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// verify gives the claims of a JWT that one of our keys signed, whatever its time; false for any other.
func (r *Ring) verify(ctx context.Context, token string) ([]byte, bool) {
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		return nil, false
	}
	keys, err := r.all(ctx)
	if err != nil {
		return nil, false
	}
	for _, k := range keys {
		h := signed.Signatures[0].Header
		if k.ID != h.KeyID || string(k.Algorithm) != h.Algorithm {
			continue
		}
		if claims, err := signed.Verify(k.private.Public()); err == nil {
			return claims, true
		}
	}
	return nil, false
}
