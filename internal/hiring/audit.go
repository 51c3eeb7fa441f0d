package hiring

import "time"

// AuditEntry says who did what through the management API, by ids alone.
type AuditEntry struct {
	ID     int64     `json:"id,string"`
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`  // the id of an API key, or "admin endpoint"
	Action string    `json:"action"` // such as set, remove, redeliver, release, erase
	Tenant string    `json:"tenant"` // empty: what was changed belongs to none
	Object string    `json:"object"` // kind and id, such as exports/u-1
}
