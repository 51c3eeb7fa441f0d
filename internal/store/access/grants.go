package access

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertCode inserts the grant of a code, by its hash, for a user who is signed in. ErrNotFound: the session has ended.
func (tx *Tx) InsertCode(code, session identity.Hash, g *identity.Grant) error {
	if err := tx.lockUser(g.UserID); err != nil {
		return err
	}
	if err := tx.sweepGrants(g.IssuedAt); err != nil {
		return err
	}
	// The session's row is written, so that whoever ends it waits, and tells the client as well.
	if err := tx.sql.Run(`UPDATE sessions SET used_at = $2 WHERE hash = $1`, session[:], rows.Micros(g.IssuedAt)); err != nil {
		return err
	}
	till := g.IssuedAt.Add(identity.CodeLife)
	return tx.sql.RunOr(ErrNotFound, `
		INSERT INTO grants (code, issuer, client, user_id, redirect_uri, scope, claims, nonce, challenge, signed_in_at,
		issued_at, code_till, till, session, ends_at, sid)
		SELECT $1, $2, $3, user_id, $5, $6, $7, $8, $9, $10, $11, $12, $13, hash, grants_till, sid FROM sessions WHERE hash = $14
		AND user_id = $4`,
		code[:], g.Issuer, g.Client, g.UserID, g.RedirectURI, g.Scope, g.Claims, g.Nonce, g.Challenge,
		rows.Micros(g.SignedInAt), rows.Micros(g.IssuedAt), rows.Micros(till), rows.Micros(till), session[:])
}

// sweepGrants deletes some expired tokens and grants. A grant stays for as long as its tokens.
func (tx *Tx) sweepGrants(now time.Time) error {
	if err := rows.DeleteExpired(tx.sql, "tokens", "hash", "till", 2*rows.Sweep, now); err != nil {
		return err
	}
	return tx.sql.Run(`DELETE FROM grants WHERE code IN (SELECT code FROM grants WHERE till <= $1
		AND NOT EXISTS (SELECT 1 FROM tokens WHERE tokens.code = grants.code) ORDER BY till LIMIT $2)`,
		rows.Micros(now), rows.Sweep)
}

// Exchange is a code that a client, which has proved who it is, exchanges for tokens.
type Exchange struct {
	Code        identity.Hash
	Issuer      string
	Client      string
	RedirectURI string
	Challenge   string // made of the verifier that was sent; empty: none was
	Tokens      []identity.Token
}

// grantEnd is the end of a grant; those of former versions have none of their own (see identity.GrantLife).
const grantEnd = `COALESCE(grants.ends_at, grants.issued_at + 2592000000000)`

const grantColumns = `issuer, client, user_id, redirect_uri, scope, claims, nonce, challenge, signed_in_at, issued_at, ` +
	grantEnd + `, sid`

func grantFields(g *identity.Grant) []any {
	return []any{&g.Issuer, &g.Client, &g.UserID, &g.RedirectURI, &g.Scope, &g.Claims, &g.Nonce, &g.Challenge,
		rows.Time(&g.SignedInAt), rows.Time(&g.IssuedAt), rows.Time(&g.EndsAt), &g.SID}
}

// ExchangeCode consumes a code and inserts its tokens, which get its scope. It returns nil for a code that is unknown,
// expired, used or another client's; a second use by its client revokes the tokens. Of several exchanges at once, on
// whatever nodes, one gets the grant: the condition and the change are one statement.
func (tx *Tx) ExchangeCode(x *Exchange, now time.Time) (*identity.Grant, error) {
	g, till := new(identity.Grant), now
	for _, t := range x.Tokens {
		till = later(till, t.Till)
	}
	won, err := tx.sql.Scan(grantFields(g), `
		UPDATE grants SET consumed_at = $1, till = $2
		WHERE code = $3 AND issuer = $4 AND client = $5 AND redirect_uri = $6 AND challenge = $7
		AND code_till > $1 AND consumed_at IS NULL AND revoked_at IS NULL AND `+grantEnd+` > $1
		AND EXISTS (SELECT 1 FROM users WHERE users.id = grants.user_id AND users.disabled_at IS NULL)
		RETURNING `+grantColumns,
		rows.Micros(now), rows.Micros(till), x.Code[:], x.Issuer, x.Client, x.RedirectURI, x.Challenge)
	if err != nil {
		return nil, err
	}
	if !won {
		err := tx.sql.Run(`UPDATE grants SET revoked_at = $1 WHERE code = $2 AND consumed_at IS NOT NULL
			AND revoked_at IS NULL AND issuer = $3 AND client = $4`,
			rows.Micros(now), x.Code[:], x.Issuer, x.Client)
		return nil, err
	}
	return g, tx.insertTokens(x.Code[:], g, x.Tokens, now)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// insertTokens inserts tokens; those without a scope of their own get that of the grant. None outlives the grant.
func (tx *Tx) insertTokens(code []byte, g *identity.Grant, tokens []identity.Token, now time.Time) error {
	for _, t := range tokens {
		if t.Scope == "" {
			t.Scope = g.Scope
		}
		if t.Till.After(g.EndsAt) {
			t.Till = g.EndsAt
		}
		if err := tx.sql.Run(`INSERT INTO tokens (hash, code, kind, scope, issued_at, till)
			VALUES ($1, $2, $3, $4, $5, $6)`,
			t.Hash[:], code, string(t.Kind), t.Scope, rows.Micros(now), rows.Micros(t.Till)); err != nil {
			return err
		}
	}
	return nil
}

// RotateRefreshToken ends a refresh token of a client and inserts the tokens that replace it. It returns nil for a
// token that is unknown, expired, revoked or another client's. A client that refreshes for several requests at once, or
// lost the answer, sends the former token again: each use within identity.RefreshGrace of the first gets tokens of its
// own in the same grant. A later use means that the token was stolen, so that all of its grant is revoked (RFC 9700
// section 4.14.2).
func (tx *Tx) RotateRefreshToken(refresh identity.Hash, issuer, client string, tokens []identity.Token,
	now time.Time) (*identity.Grant, error) {
	var code []byte
	won, err := tx.sql.Scan([]any{&code}, `
		UPDATE tokens SET ended_at = COALESCE(ended_at, $1)
		WHERE hash = $2 AND kind = 'refresh' AND till > $1 AND (ended_at IS NULL OR ended_at > $5)
		AND EXISTS (SELECT 1 FROM grants JOIN users ON users.id = grants.user_id WHERE grants.code = tokens.code
		AND grants.issuer = $3 AND grants.client = $4
			AND grants.revoked_at IS NULL AND users.disabled_at IS NULL)
		RETURNING code`, rows.Micros(now), refresh[:], issuer, client, rows.Micros(now.Add(-identity.RefreshGrace)))
	if err != nil {
		return nil, err
	}
	if !won {
		err := tx.sql.Run(`UPDATE grants SET revoked_at = $1 WHERE revoked_at IS NULL AND issuer = $2 AND client = $3
			AND code = (SELECT code FROM tokens WHERE hash = $4 AND kind = 'refresh' AND ended_at IS NOT NULL)`,
			rows.Micros(now), issuer, client, refresh[:])
		return nil, err
	}
	g, till := new(identity.Grant), now
	for _, t := range tokens {
		till = later(till, t.Till)
	}
	lives, err := tx.sql.Scan(grantFields(g), `UPDATE grants SET till = $1 WHERE code = $2 AND revoked_at IS NULL
		AND `+grantEnd+` > $3 RETURNING `+grantColumns, rows.Micros(till), code, rows.Micros(now))
	if err != nil || !lives { // it has ended, or was revoked a moment ago
		return nil, err
	}
	// here as well: an application may refresh for years without anybody who signs in
	if err := tx.sweepGrants(now); err != nil {
		return nil, err
	}
	return g, tx.insertTokens(code, g, tokens, now)
}

// RevokeToken revokes a token of a client; with a refresh token all of its grant. It reports false for a token that is
// not the client's.
func (tx *Tx) RevokeToken(hash identity.Hash, issuer, client string, now time.Time) (bool, error) {
	var code []byte
	var kind identity.Kind
	found, err := tx.sql.Scan([]any{&code, &kind}, `
		UPDATE tokens SET ended_at = COALESCE(ended_at, $1) WHERE hash = $2
		AND EXISTS (SELECT 1 FROM grants WHERE grants.code = tokens.code AND grants.issuer = $3 AND grants.client = $4)
		RETURNING code, kind`, rows.Micros(now), hash[:], issuer, client)
	if err != nil || !found || kind != identity.Refresh {
		return found, err
	}
	err = tx.sql.Run(`UPDATE grants SET revoked_at = $1 WHERE code = $2 AND revoked_at IS NULL`, rows.Micros(now), code)
	return true, err
}

// AccessToken reads the grant of a valid access token, with the token's own scope; ErrNotFound when it is unknown,
// expired or revoked, or its user or client disabled.
func (db *DB) AccessToken(ctx context.Context, issuer string, hash identity.Hash,
	now time.Time) (*identity.Grant, error) {
	return rows.QueryOne(ctx, db.reads, scanGrant, `
		SELECT grants.issuer, client, user_id, redirect_uri, t.scope, claims, nonce, challenge, signed_in_at,
		grants.issued_at, `+grantEnd+`, sid
		FROM tokens t JOIN grants ON grants.code = t.code JOIN users u ON u.id = user_id
		JOIN oauth_clients c ON c.id = client
		WHERE t.hash = $1 AND t.kind = 'access' AND t.till > $2 AND t.ended_at IS NULL AND grants.issuer = $3
		AND revoked_at IS NULL
		AND u.disabled_at IS NULL AND c.disabled_at IS NULL`, hash[:], rows.Micros(now), issuer)
}

func scanGrant(r row) (*identity.Grant, error) {
	g := new(identity.Grant)
	return g, r.Scan(grantFields(g)...)
}
