package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// ExportFilter chooses exports; an empty field chooses all. Integration and Candidate are names within a tenant:
// without one, nothing is quick to find by them.
type ExportFilter struct {
	Tenant        string
	Tenants       []string // of any of these, if it is not nil; without Tenant and Prefix
	Integration   string
	Outcome       model.Outcome
	Class         model.Class        // with such a fault of the last attempt; Outcome must be named as well
	Status        model.StatusChoice // of the last attempt, which had a fault; as the two that follow
	Attempts      int                // of a delivery, at least
	Candidate     string
	Prefix        string    // whose key begins so; with Tenant and Limit alone, and in no order
	Quarantined   bool      // those in quarantine only
	Undelivered   bool      // those not delivered yet only, to Integration if that is named
	LostDocuments bool      // those of which a document was given up only; those that were erased are not among them
	LateDocuments bool      // those of which a document was tried in vain, and is tried again
	Redelivery    string    // those that this redelivery of a range delivered again, by its id
	Since, Until  time.Time // received at or after, and before; zero: no bound
	Oldest        bool      // the oldest first, not the newest
	Cursor        int64     // the ID that the page before ended at
	Limit         int       // at most MaxPage; 0 means DefaultPage
	each          bool      // of the tenant each.value
	last          int64     // the ID that the list ends with at the latest; 0: any
}

// ListExports lists exports, the newest first unless the filter says otherwise. next is the cursor of the following page, 0 on the last one.
func (db *DB) ListExports(ctx context.Context, f ExportFilter) (page []*model.Export, next int64, err error) {
	f.Limit = Page{Limit: f.Limit}.Size()
	if f.Tenants != nil {
		page, err = db.listOfTenants(ctx, f)
	} else {
		q, args := f.query(exportColumns)
		page, err = rows.Query(ctx, db.reads, scanExport, q, args...)
	}
	if err == nil && len(page) > f.Limit {
		page = page[:f.Limit]
		next = page[f.Limit-1].ID
	}
	return page, next, err
}

// MaxCounted is how many exports CountExports counts, and how many deliveries CountWaiting.
const MaxCounted = 1000

// CountExports counts the exports that a filter chooses, whatever its page. more reports that there are more than
// MaxCounted, which it returns then.
func (db *DB) CountExports(ctx context.Context, f ExportFilter) (n int64, more bool, err error) {
	f.Limit, f.Cursor = MaxCounted, 0
	if f.Tenants != nil {
		n, err = db.countOfTenants(ctx, f)
	} else {
		q, args := f.query("e.id")
		n, err = rows.QueryOne(ctx, db.reads, rows.Value[int64], `SELECT count(*) FROM (`+q+`) counted`, args...)
	}
	return min(n, MaxCounted), n > MaxCounted, err
}

// conditions collects the conditions of a WHERE, joined by AND, with their arguments.
type conditions struct {
	where []string
	args  []any
}

// is adds a condition that ends where its argument goes.
func (c *conditions) is(condition string, arg any) {
	c.args = append(c.args, arg)
	c.where = append(c.where, fmt.Sprintf("%s $%d", condition, len(c.args)))
}

func (c *conditions) String() string {
	if len(c.where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.where, " AND ")
}

// latest: what was redelivered is told by its last round.
const latest = `NOT EXISTS (SELECT 1 FROM deliveries l WHERE l.export_id = d.export_id AND l.integration = d.integration
	AND l.round > d.round)`

// query reads columns of exports, of one more than a page holds.
func (f ExportFilter) query(columns string) (string, []any) {
	if f.Prefix != "" {
		return f.search()
	}
	var c conditions
	ofDelivery := f.Integration != "" && !f.Undelivered || f.Outcome != ""
	if f.LostDocuments || f.LateDocuments { // few are, and they have an index
		return f.missing(columns, ofDelivery || f.answered())
	}
	if f.Redelivery != "" {
		return f.redelivered(columns, ofDelivery || f.answered())
	}
	if f.answered() {
		return f.byAnswer(columns)
	}
	// Exports with a rare outcome are found from the deliveries' side, by its index; those of one candidate, or in
	// quarantine, are few anyway, and so are those that wait beside those delivered.
	if !ofDelivery || f.Candidate != "" || f.Quarantined || f.Undelivered && (f.Outcome == "" || f.Outcome == model.Delivered) {
		f.ofExports(&c, ofDelivery)
		f.bounds(&c, "e.id")
		c.args = append(c.args, f.Limit+1)
		return fmt.Sprintf(`SELECT %s FROM exports e%s ORDER BY e.id %s LIMIT $%d`,
			columns, &c, f.direction(), len(c.args)), c.args
	}
	f.ofDeliveries(&c, "", "")
	f.bounds(&c, "d.export_id")
	if f.Undelivered && f.Outcome.Final() { // else its exports are undelivered anyway
		f.ofItsExport(&c)
	}
	c.where = append(c.where, latest)
	return f.found(&c, columns, "d.export_id", "deliveries d")
}

// direction returns the SQL word of the order of the list.
func (f ExportFilter) direction() string {
	if f.Oldest {
		return "ASC"
	}
	return "DESC"
}

// missing is query for exports with documents that are lost, or late.
func (f ExportFilter) missing(columns string, ofDelivery bool) (string, []any) {
	c := conditions{where: []string{"o.state = 'given_up'", "e.erased_at IS NULL"}}
	if f.LateDocuments {
		c.where = []string{"o.state = 'fetching'", "o.tries > 0"}
		if f.LostDocuments {
			c.where = append(c.where, `EXISTS (SELECT 1 FROM documents l WHERE l.export_id = o.export_id AND l.state = 'given_up')`)
		}
	}
	if f.Redelivery != "" {
		c.is("EXISTS (SELECT 1 FROM deliveries r WHERE r.export_id = o.export_id AND r.redelivery =", f.Redelivery)
		c.where[len(c.where)-1] += ")"
	}
	f.ofTenant(&c, "o.tenant")
	f.ofExports(&c, ofDelivery)
	f.bounds(&c, "o.export_id")
	return f.found(&c, columns, "o.export_id", "documents o JOIN exports e ON e.id = o.export_id")
}

// redelivered is query for exports of a redelivery.
func (f ExportFilter) redelivered(columns string, ofDelivery bool) (string, []any) {
	var c conditions
	c.is("r.redelivery =", f.Redelivery)
	f.ofTenant(&c, "r.tenant")
	f.ofExports(&c, ofDelivery)
	f.bounds(&c, "r.export_id")
	return f.found(&c, columns, "r.export_id", "deliveries r JOIN exports e ON e.id = r.export_id")
}

// found reads the exports whose ids another table has.
func (f ExportFilter) found(c *conditions, columns, id, from string) (string, []any) {
	c.args = append(c.args, f.Limit+1)
	return fmt.Sprintf(`SELECT %s FROM exports e WHERE e.id IN (SELECT DISTINCT %s FROM %s%s ORDER BY %s %s LIMIT $%d)
		ORDER BY e.id %[6]s`, columns, id, from, c, id, f.direction(), len(c.args)), c.args
}

// ofExports adds what is asked of an export e; ofDelivery: and of its deliveries.
func (f ExportFilter) ofExports(c *conditions, ofDelivery bool) {
	f.ofTenant(c, "e.tenant")
	if f.Candidate != "" {
		c.is("e.candidate_id =", model.CandidateKey(f.Candidate))
	}
	if f.Quarantined {
		c.where = append(c.where, "e.quarantined")
	}
	if f.Undelivered {
		unsettled := "e.unsettled"
		if f.LostDocuments || f.LateDocuments || f.Redelivery != "" { // those are found by these, and not compared with all that are unsettled
			unsettled = "coalesce(e.unsettled, FALSE)"
		}
		c.where = append(c.where, unsettled)
		c.undelivered(f.Integration)
	}
	if ofDelivery {
		f.ofDeliveries(c, "EXISTS (SELECT 1 FROM deliveries d WHERE d.export_id = e.id AND "+latest, ")")
	}
}

// ofItsExport adds what is asked of the export of a delivery d.
func (f ExportFilter) ofItsExport(c *conditions) {
	ofExport := conditions{where: []string{"e.id = d.export_id"}, args: c.args}
	f.ofExports(&ofExport, false)
	c.args = ofExport.args
	// Counted, because PostgreSQL would read the deliveries once more for each export that it takes for one of few.
	c.where = append(c.where, "(SELECT count(*) FROM exports e"+ofExport.String()+") > 0")
}

// ofTenant adds whose exports are asked for.
func (f ExportFilter) ofTenant(c *conditions, column string) {
	switch {
	case f.each:
		c.where = append(c.where, column+" = each.value")
	case f.Tenant != "":
		c.is(column+" =", f.Tenant)
	}
}

// ofDeliveries adds what is asked of a delivery, as one condition between open and end.
func (f ExportFilter) ofDeliveries(c *conditions, open, end string) {
	inner := conditions{args: c.args}
	f.ofTenant(&inner, "d.tenant")
	index := ""
	if f.answered() {
		index = " || ''" // keeps from the indexes of these: that of the status reads less
	}
	if f.Integration != "" {
		inner.is("d.integration"+index+" =", f.Integration)
	}
	if f.Outcome != "" {
		inner.is("d.outcome"+index+" =", string(f.Outcome))
	}
	if f.Class != "" {
		inner.is("d.fault <> '' AND d.fault =", string(f.Class)) // the former names the index
	}
	f.ofAnswers(&inner)
	c.args = inner.args
	condition := strings.Join(inner.where, " AND ")
	if open != "" {
		condition = open + " AND " + condition + end
	}
	c.where = append(c.where, condition)
}

// bounds are the times and the cursor: an export's id begins with the time.
func (f ExportFilter) bounds(c *conditions, id string) {
	if !f.Since.IsZero() {
		c.is(id+" >=", model.FirstID(f.Since))
	}
	if !f.Until.IsZero() {
		c.is(id+" <", model.FirstID(f.Until))
	}
	switch {
	case f.Cursor == 0:
	case f.Oldest:
		c.is(id+" >", f.Cursor)
	default:
		c.is(id+" <", f.Cursor)
	}
	switch {
	case f.last == 0:
	case f.Oldest:
		c.is(id+" <=", f.last)
	default:
		c.is(id+" >=", f.last)
	}
}
