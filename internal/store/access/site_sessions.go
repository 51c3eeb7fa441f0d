package access

import (
	"context"
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

// EndConsoleSession ends a session at a console or a gate, and returns how many that were: none or one.
func (tx *Tx) EndConsoleSession(hash identity.Hash) (ended int64, err error) {
	return tx.sql.Exec(`DELETE FROM console_sessions WHERE hash = $1`, hash[:])
}

// DeleteConsoleSessions ends sessions at consoles and gates, and returns how many.
func (tx *Tx) DeleteConsoleSessions(of SessionsOf) (ended int64, err error) {
	return tx.sql.Exec(`DELETE FROM console_sessions AS c WHERE `+chosen, of.args()...)
}

// UseConsoleSession notes that a session was used, unless somebody noted it after a time.
func (tx *Tx) UseConsoleSession(hash identity.Hash, now, after time.Time) error {
	return tx.sql.Run(`UPDATE console_sessions SET used_at = $1 WHERE hash = $2 AND (used_at IS NULL OR used_at <= $3)`,
		rows.Micros(now), hash[:], rows.Micros(after))
}
