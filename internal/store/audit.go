package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertAudit inserts an entry, in the transaction of what it is about. The database gives the entry its ID.
func (tx *Tx) InsertAudit(e model.AuditEntry) error {
	by := e.Author.Bounded()
	return tx.sql.Run(`INSERT INTO audit (at, actor, name, email, claimed, action, tenant, object, detail)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		rows.Micros(e.At), by.Actor, by.Name, by.Email, by.Claimed, e.Action, e.Tenant, e.Object, e.Detail)
}

// AuditFilter chooses entries of the audit; an empty field chooses all.
type AuditFilter struct {
	Tenant       string
	Object       string
	Below        string // objects that begin with this, which ends with a slash
	Action       string
	Since, Until time.Time // at or after, and before; zero: no bound
	Before       AuditCursor
	Limit        int // at most MaxPage; 0 means DefaultPage
}

// AuditCursor identifies the last entry of a page: time in microseconds, and ID. It is zero before the first page and
// after the last one.
type AuditCursor struct{ At, ID int64 }

// ListAudit lists entries, newest first. next is the cursor of the following page.
func (db *DB) ListAudit(ctx context.Context, f AuditFilter) (page []model.AuditEntry, next AuditCursor, err error) {
	var c conditions
	if f.Tenant != "" {
		c.is("tenant =", f.Tenant)
	}
	if f.Object != "" {
		c.is("object =", f.Object)
	}
	if f.Below != "" {
		first, end := below(strings.TrimSuffix(f.Below, "/"))
		c.is("object >=", first)
		c.is("object <", end)
	}
	if f.Action != "" {
		c.is("action =", f.Action)
	}
	if !f.Since.IsZero() {
		c.is("at >=", rows.Micros(f.Since))
	}
	if !f.Until.IsZero() {
		c.is("at <", rows.Micros(f.Until))
	}
	if f.Before != (AuditCursor{}) {
		c.args = append(c.args, f.Before.At, f.Before.ID)
		c.where = append(c.where, fmt.Sprintf("(at, id) < ($%d, $%d)", len(c.args)-1, len(c.args)))
	}
	return rows.QueryPage(ctx, db.reads, func(r row) (e model.AuditEntry, err error) {
		err = r.Scan(&e.ID, rows.Time(&e.At), &e.Actor, &e.Name, &e.Email, &e.Claimed, &e.Action, &e.Tenant, &e.Object,
			&e.Detail)
		return e, err
	}, func(e model.AuditEntry) AuditCursor { return AuditCursor{e.At.UnixMicro(), e.ID} }, Page{Limit: f.Limit}.Size(),
		`SELECT id, at, actor, name, email, claimed, action, tenant, object, detail FROM audit`+c.String()+
			` ORDER BY at DESC, id DESC`, c.args...)
}

// below returns the first path below another one, and the end of those that are: 0 follows the slash.
func below(path string) (first, end string) { return path + "/", path + "0" }

// forgotten stands in the audit for the id of what was erased.
const forgotten = "erased"

// ForgetInAudit replaces the ids of a candidate and of job applications in the audit, and returns in how many entries. Who
// did what, and when, stays.
func (tx *Tx) ForgetInAudit(tenant, candidate string, applications []string) (entries int64, err error) {
	objects := map[string]string{"candidates/" + candidate: "candidates/" + forgotten}
	for _, id := range applications {
		objects["job-applications/"+id] = "job-applications/" + forgotten
	}
	for _, object := range slices.Sorted(maps.Keys(objects)) {
		first, end := below(object)
		n, err := tx.sql.Exec(`UPDATE audit SET object = $1 WHERE tenant = $2
			AND (object = $3 OR object >= $4 AND object < $5)`, objects[object], tenant, object, first, end)
		if err != nil {
			return 0, err
		}
		entries += n
	}
	return entries, nil
}
