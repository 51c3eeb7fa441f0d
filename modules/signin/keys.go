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
	"golang.org/x/sync/singleflight"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

// Signing keys rotate. A key is published a day before it signs, so that clients that cache the key set know it by
// then, and until a day after the last token that it signed expires. It is stored longer than that: applications send
// old ID tokens as hints, up to the life of a refresh token.
const (
	keysAhead  = 24 * time.Hour
	keysBehind = identity.IDTokenLife + 24*time.Hour
	keysKept   = identity.RefreshLife + 24*time.Hour
	keysFresh  = time.Minute // for which keys are cached
	keysPause  = time.Second // between reads while there are no keys
	rsaBits    = 2048

	// RotateEvery is the time for which a key signs, unless it is configured.
	RotateEvery = 90 * 24 * time.Hour
	// MinRotate is the shortest time that may be configured.
	MinRotate = 7 * 24 * time.Hour
)

// Ring holds the keys that ID tokens are signed with. They are stored in the database, so that all nodes have the same.
// The first of each algorithm is made on demand, each further one a day before its predecessor expires.
type Ring struct {
	Store func() *store.DB
	Now   func() time.Time
	Log   *zap.Logger
	// Every is the time for which a key signs.
	Every time.Duration
	// Vault seals the private keys in the database.
	Vault *vault.Vault

	loads singleflight.Group
	mu    sync.Mutex
	read  time.Time     // when the last read was tried
	good  time.Duration // how long its result is valid
	keys  []*key
	err   error // nil when there are keys
}

// key is a key of the ring, opened.
type key struct {
	*identity.Key
	private   crypto.Signer
	published bool // false: it is stored to verify hints
}

// current returns the key that signs now.
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

// all returns the keys, by algorithm and generation. While the database does not answer it returns cached keys. One
// read serves all waiting callers and the next ones: if the database hangs, they must not wait for it one after the
// other.
func (r *Ring) all(ctx context.Context) ([]*key, error) {
	if keys, fresh, err := r.cached(); fresh {
		return keys, err
	}
	keys, err, _ := r.loads.Do("", func() (any, error) {
		if keys, fresh, err := r.cached(); fresh { // by now
			return keys, err
		}
		now := r.Now()
		keys, err := r.load(context.WithoutCancel(ctx), now) // because it serves other requests as well
		return r.loaded(keys, err)
	})
	return keys.([]*key), err
}

// cached returns the keys that were read last, and whether they need not be read again yet.
func (r *Ring) cached() (keys []*key, fresh bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys, r.Now().Sub(r.read).Abs() < r.good, r.err
}

// loaded caches what was read, and returns the keys that serve now.
func (r *Ring) loaded(keys []*key, err error) ([]*key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.keys, r.err, r.good = keys, nil, keysFresh
	case len(r.keys) > 0:
		r.Log.Warn("the signing keys could not be read again; the cached ones are used", zap.Error(err))
		r.good = keysFresh
	default:
		r.err, r.good = err, keysPause
	}
	r.read = r.Now()
	return r.keys, r.err
}

// load creates the keys that are due, deletes expired ones, and reads the others.
func (r *Ring) load(ctx context.Context, now time.Time) ([]*key, error) {
	stored, err := r.Store().ListKeys(ctx)
	if err != nil {
		return nil, err
	}
	changed := false
	for _, a := range identity.Algorithms {
		one, err := r.rotate(ctx, a, of(a, stored), now)
		if err != nil {
			return nil, err
		}
		changed = changed || one
	}
	if changed {
		if stored, err = r.Store().ListKeys(ctx); err != nil {
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
		if err == nil { // an old key whose seal key is gone is skipped
			opened.published = published
			keys = append(keys, opened)
		}
	}
	return keys, nil
}

// oldest returns the oldest generation of an algorithm that is still needed: later ones have not signed for long
// enough.
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

// rotate creates an algorithm's next key when it is due, and deletes expired ones. It reports whether anything changed.
func (r *Ring) rotate(ctx context.Context, a identity.Algorithm, keys []*identity.Key,
	now time.Time) (changed bool, err error) {
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
		// Another node may be faster: then its key is used.
		if err := r.Store().Write(ctx, func(tx *store.Tx) error { _, err := tx.InsertKey(k); return err }); err != nil {
			return false, err
		}
		changed = true
	}
	if first := oldest(keys, keysKept, now); len(keys) > 0 && keys[0].Generation < first {
		err = r.Store().Write(ctx, func(tx *store.Tx) error { return tx.DeleteKeys(a, first) })
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
	k := &identity.Key{Algorithm: a, Generation: generation, ID: base64.RawURLEncoding.EncodeToString(thumbprint),
		SignsFrom: from, CreatedAt: now}
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

// public returns the key as clients see it (RFC 7517).
func (k *key) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.private.Public(), KeyID: k.ID, Algorithm: string(k.Algorithm), Use: "sig"}
}

// sign returns a JWT of claims in JSON, of a type (RFC 7515 section 4.1.9).
func (k *key) sign(claims []byte, kind jose.ContentType) (string, error) {
	key := jose.SigningKey{Algorithm: jose.SignatureAlgorithm(k.Algorithm),
		Key: jose.JSONWebKey{Key: k.private, KeyID: k.ID}}
	signer, err := jose.NewSigner(key, new(jose.SignerOptions).WithType(kind))
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// verify returns the claims of a JWT that one of our keys signed, expired or not; false for any other.
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
