package access

import (
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// How many visits wait at a time. Each has an authorization request of up to 16 KiB, and anyone may begin one.
const (
	maxVisits        = 5000
	maxNetworkVisits = 500 // of one network, behind which a whole company may be
)

// Visit is a sign-in at another provider that has not come back yet.
type Visit struct {
	Hash     identity.Hash // of the state that they leave with
	Request  []byte        // the authorization request to go on with, sealed
	Network  string        // where they leave from
	At, Till time.Time
}

// InsertVisit inserts a visit. If too many of the same network are open, it inserts nothing, and full is when the first
// of them ends. If too many of all networks are open, it deletes the oldest.
func (tx *Tx) InsertVisit(v *Visit) (full time.Time, err error) {
	if err := rows.DeleteExpired(tx.sql, "upstream_visits", "hash", "till", rows.Sweep, v.At); err != nil {
		return time.Time{}, err
	}
	var begun int
	var ends int64
	if _, err := tx.sql.Scan([]any{&begun, &ends}, `SELECT count(*), coalesce(min(till), 0) FROM upstream_visits
		WHERE network = $1 AND till > $2`, v.Network, rows.Micros(v.At)); err != nil {
		return time.Time{}, err
	}
	if begun >= maxNetworkVisits {
		return rows.FromMicros(ends), nil
	}
	if err := tx.sql.Run(`DELETE FROM upstream_visits WHERE hash IN (SELECT hash FROM upstream_visits ORDER BY till DESC
		LIMIT $1 OFFSET $2)`, rows.Sweep, maxVisits-1); err != nil {
		return time.Time{}, err
	}
	err = tx.sql.Run(`INSERT INTO upstream_visits (hash, request, network, till) VALUES ($1, $2, $3, $4)`,
		v.Hash[:], v.Request, v.Network, rows.Micros(v.Till))
	return time.Time{}, err
}

// DeleteVisit deletes a visit and returns its sealed authorization request: it succeeds once, on whatever nodes it is
// tried. It returns nil when there is no such visit, or it has ended.
func (tx *Tx) DeleteVisit(hash identity.Hash, now time.Time) (request []byte, err error) {
	_, err = tx.sql.Scan([]any{&request}, `DELETE FROM upstream_visits WHERE hash = $1 AND till > $2 RETURNING request`,
		hash[:], rows.Micros(now))
	return request, err
}
