package access

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// SessionsOf chooses sessions at consoles and gates. What is empty chooses all.
type SessionsOf struct {
	Site    string // see identity.ConsoleSession
	Issuer  string
	Subject string
}

// chosen is the condition of SessionsOf, with the arguments of args.
const chosen = `($1 = '' OR c.console = $1 OR substr(c.console, 1, $2) = $3) AND ($4 = '' OR c.issuer = $4)
	AND ($5 = '' OR c.subject = $5)`

func (o SessionsOf) args(more ...any) []any {
	gates := identity.GatesOf(o.Site)
	return append([]any{o.Site, utf8.RuneCountInString(gates), gates, o.Issuer, o.Subject}, more...)
}

// ListConsoleSessions lists sessions at consoles and gates that have not ended, by hash, without what is sealed in them.
// Email is the address of our own user, verified or not.
func (db *DB) ListConsoleSessions(ctx context.Context, of SessionsOf, after identity.Hash, limit int,
	now time.Time) (page []*identity.ConsoleSession, next identity.Hash, err error) {
	return rows.QueryPage(ctx, db.reads, func(r row) (*identity.ConsoleSession, error) {
		s := new(identity.ConsoleSession)
		return s, r.Scan(hashed{&s.Hash}, &s.Console, &s.Issuer, &s.Subject, &s.Email, rows.Time(&s.CreatedAt),
			rows.Time(&s.UsedAt), rows.Time(&s.Till))
	}, func(s *identity.ConsoleSession) identity.Hash { return s.Hash }, limit, `SELECT c.hash, c.console, c.issuer, c.subject,
		COALESCE(u.email, ''), c.created_at, c.used_at, c.till
		FROM console_sessions c LEFT JOIN sessions s ON s.hash = c.signin LEFT JOIN users u ON u.id = s.user_id
		WHERE `+chosen+` AND c.hash > $6 AND c.till > $7 AND (c.signin IS NULL OR s.till > $7 AND u.disabled_at IS NULL)
		ORDER BY c.hash`, of.args(after[:], rows.Micros(now))...)
}

// EndSiteSession ends a session at a console or a gate, and what our own sign-in granted to the gate for it. It returns how
// many sessions that were: none or one.
func (tx *Tx) EndSiteSession(hash identity.Hash, now time.Time) (ended int64, err error) {
	return tx.endSiteSessions(now, `c.hash = $1`, hash[:])
}

// EndSiteSessions ends sessions at consoles and gates, as EndSiteSession does.
func (tx *Tx) EndSiteSessions(of SessionsOf, now time.Time) (ended int64, err error) {
	return tx.endSiteSessions(now, chosen, of.args()...)
}

func (tx *Tx) endSiteSessions(now time.Time, where string, args ...any) (ended int64, err error) {
	// The address of a gate ends with its client.
	if err := tx.sql.Run(fmt.Sprintf(`UPDATE grants SET revoked_at = $%d WHERE code IN (SELECT g.code FROM console_sessions c
		JOIN grants g ON g.session = c.signin AND g.revoked_at IS NULL
		AND substr(c.console, length(c.console) - length(g.client)) = ' ' || g.client WHERE `, len(args)+1)+where+`)`,
		append(slices.Clone(args), rows.Micros(now))...); err != nil {
		return 0, err
	}
	return tx.sql.Exec(`DELETE FROM console_sessions AS c WHERE `+where, args...)
}

// UseConsoleSession notes that a session was used, unless somebody noted it after a time.
func (tx *Tx) UseConsoleSession(hash identity.Hash, now, after time.Time) error {
	return tx.sql.Run(`UPDATE console_sessions SET used_at = $1 WHERE hash = $2 AND (used_at IS NULL OR used_at <= $3)`,
		rows.Micros(now), hash[:], rows.Micros(after))
}
