package access

import (
	"encoding/json"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// mostLogouts is how many ended sessions may wait to be told to an application. Of further ones it is not told.
const mostLogouts = 10_000

// tellApplications has the applications to which a condition's grants were given told that the session has ended. A grant
// tells once.
func (tx *Tx) tellApplications(where string, arg any, now time.Time) error {
	type told struct {
		issuer, client string
		session        identity.EndedSession
	}
	all, err := rows.QueryTx(tx.sql, func(r row) (t told, err error) {
		return t, r.Scan(&t.issuer, &t.client, &t.session.Subject, &t.session.SID)
	}, `SELECT DISTINCT g.issuer, g.client, g.user_id, g.sid FROM grants g JOIN oauth_clients c ON c.id = g.client
		WHERE `+where+` AND g.sid <> '' AND g.consumed_at IS NOT NULL AND c.backchannel_logout_uri <> ''
		AND c.disabled_at IS NULL`, arg)
	if err != nil {
		return err
	}
	for _, t := range all {
		body, err := json.Marshal(t.session)
		if err != nil {
			return err
		}
		if err := tx.sql.Run(`INSERT INTO notifications (message, subscriber, event, tenant, integration, client, body, attempts,
			created_at, next_at, till) SELECT '', $1, $2, '', '', $3, $4, 0, $5, $5, $6
			WHERE (SELECT COUNT(*) FROM notifications WHERE client = $3) < $7`, t.issuer, identity.SessionEnded, t.client,
			string(body), rows.Micros(now), rows.Micros(now.Add(identity.LogoutTriedFor)), mostLogouts); err != nil {
			return err
		}
	}
	return tx.sql.Run(`UPDATE grants AS g SET sid = '' WHERE `+where+` AND g.sid <> ''`, arg)
}
