package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// ApplicationOrder is the order of a list of job applications.
type ApplicationOrder string

// The orders of job applications. By time means in the order in which they were committed.
const (
	NewestFirst ApplicationOrder = ""
	OldestFirst ApplicationOrder = "oldest"
	// ByChange lists by their last changes, the oldest first, and with them the ids of those that were erased.
	ByChange ApplicationOrder = "changed"
)

// The states of a filter of job applications, beside the endings.
const (
	OpenApplications      = "open"
	EndedApplications     = "ended"
	UnenteredApplications = "unentered" // open, and they could not enter their first step
)

// ApplicationFilter chooses job applications; an empty field chooses all.
type ApplicationFilter struct {
	Candidate, Job, Step string
	Source               string
	APIUser              string    // its name
	State                string    // one of those below, or an ending; empty: any
	Since, Until         time.Time // stored, or by change: changed, at or after, and before
	ErasedBefore         time.Time // those that retention erases before; zero: whenever it does
	Order                ApplicationOrder
	After                int64 // cursor: the position that the page before ended at; 0: the first page
	Limit                int   // at most MaxPage; 0 means DefaultPage
	Answers              bool  // with their answers
}

// ListedApplication is a job application in a list.
type ListedApplication struct {
	*model.JobApplication
	Answers *model.ApplicationAnswers // if they are asked for; nil: there are none
}

// ApplicationPage is a page of a list of job applications. It may be shorter than was asked for before the last one.
type ApplicationPage struct {
	Items  []ListedApplication
	Erased []string // ids, whatever else the filter says
	End    int64    // the position that the page ends at
	More   bool     // there are further ones now
	size   int      // bytes of answers
}

// maxExamined is how many job applications are looked at for a page: those of one filter, of which another is true of few.
const maxExamined = 10_000

// applicationQuery is a query of a list of job applications.
type applicationQuery struct {
	position string     // the column of the order
	indexed  conditions // what is found by an index, in order
	others   conditions // what is asked of each of those
	begin    int64      // no position up to it is among them; 0 where the newest come first
}

func (f ApplicationFilter) query(db *DB, tenant string) (q applicationQuery, err error) {
	source, apiUser, err := db.dataKeys.listedAnswers(tenant, f.Source, f.APIUser)
	if err != nil {
		return q, err
	}
	q.position = "stored"
	if f.Order == ByChange {
		q.position = "changed"
	}
	q.indexed.is("tenant =", tenant)
	into := &q.indexed // an index has one of the columns, and the position
	if f.Order == ByChange {
		into = &q.others
	}
	for _, one := range []struct{ column, value string }{
		{"candidate", f.Candidate}, {"job", f.Job}, {"step", f.Step}, {"source", source}, {"api_user", apiUser},
	} {
		if one.value != "" {
			into.is(one.column+" =", one.value)
			into = &q.others
		}
	}
	switch f.State {
	case "":
	case UnenteredApplications:
		into.is("unentered =", true)
	case EndedApplications:
		q.others.is("ended <>", "")
	case OpenApplications:
		into.is("ended =", "")
	default:
		into.is("ended =", f.State)
	}
	if !f.ErasedBefore.IsZero() {
		q.others.is("keep_until <", rows.Micros(f.ErasedBefore))
		q.others.is(erasesAt+" <", rows.Micros(f.ErasedBefore))
	}
	begin, end := int64(0), int64(0)
	if !f.Since.IsZero() {
		begin = model.FirstID(f.Since) - 1
	}
	if !f.Until.IsZero() {
		end = model.FirstID(f.Until)
	}
	if f.Order != NewestFirst {
		begin = max(begin, f.After)
		q.begin = begin
	} else if f.After > 0 && (end == 0 || f.After < end) {
		end = f.After
	}
	q.indexed.is(q.position+" >", begin)
	if end > 0 {
		q.indexed.is(q.position+" <", end)
	}
	return q, nil
}

// direction returns the SQL word of the order.
func (f ApplicationFilter) direction() string {
	if f.Order == NewestFirst {
		return "DESC"
	}
	return "ASC"
}

// until leaves out what comes after a position.
func (q *applicationQuery) until(f ApplicationFilter, position int64) {
	if f.Order == NewestFirst {
		q.indexed.is(q.position+" >=", position)
	} else {
		q.indexed.is(q.position+" <=", position)
	}
}

// chosen returns a query that begins with what is selected, for those that the filter chooses; erased ids are.
func (q applicationQuery) chosen(selected string) (string, []any) {
	text, args := selected+` FROM application_list`+q.indexed.String(), slices.Clip(q.indexed.args)
	where := make([]string, len(q.others.where))
	for n, condition := range q.others.where {
		column, _, _ := strings.Cut(condition, "$")
		args = append(args, q.others.args[n])
		where[n] = fmt.Sprintf("%s$%d", column, len(args))
	}
	if len(where) > 0 {
		text += ` AND (stored IS NULL OR ` + strings.Join(where, " AND ") + `)`
	}
	return text, args
}

// ListJobApplications lists job applications.
func (db *DB) ListJobApplications(ctx context.Context, tenant string, f ApplicationFilter) (page ApplicationPage, err error) {
	q, err := f.query(db, tenant)
	if err != nil {
		return page, err
	}
	var bound int64 // the last position that is looked at; 0: all are
	if len(q.others.where) > 0 {
		if bound, err = db.positionOf(ctx, f, q, maxExamined); err != nil {
			return page, err
		}
	}
	if bound > 0 {
		q.until(f, bound)
	}
	size := Page{Limit: f.Limit}.Size()
	found, cut, err := db.applicationsOf(ctx, tenant, f, q, size+1)
	if err != nil {
		return page, err
	}
	if len(found) > size {
		found, cut = found[:size], true
	}
	page.End, page.More = q.begin, cut || bound > 0
	for len(found) > 0 && err == nil {
		n := min(len(found), answersAtOnce)
		if page.size > pageData {
			page.More, cut = true, true
			break
		}
		err = db.addTo(ctx, tenant, f, found[:n], &page)
		found = found[n:]
	}
	if bound > 0 && !cut {
		page.End = bound
	}
	return page, err
}

// answersAtOnce is how many job applications' answers are read at once: they may have 2 MiB each.
const answersAtOnce = 20

// foundApplication is a row of a list of job applications.
type foundApplication struct {
	keptResource
	position int64
	there    bool // else it was erased
}

// applicationsOf reads the rows of a page. cut reports that it ended early, as it has much data.
func (db *DB) applicationsOf(ctx context.Context, tenant string, f ApplicationFilter, q applicationQuery,
	size int) (found []foundApplication, cut bool, err error) {
	chosen, args := q.chosen(`SELECT id, ` + q.position + ` AS position`)
	args = append(args, size, tenant)
	left := pageData
	found, err = rows.Query(ctx, db.reads, func(r row) (one foundApplication, err error) {
		if cut = left <= 0; cut {
			return one, rows.ErrStop
		}
		var version *int64
		err = r.Scan(&one.id, &one.position, &version, rows.Time(&one.CreatedAt), rows.Time(&one.UpdatedAt), &one.data)
		if one.there = version != nil; one.there {
			one.Tenant, one.Version = tenant, *version
		}
		left -= len(one.data)
		return one, err
	}, fmt.Sprintf(`SELECT page.id, page.position, a.version, a.created_at, a.updated_at, a.data
		FROM (%s ORDER BY %s %s LIMIT $%d) page LEFT JOIN job_applications a ON a.tenant = $%d AND a.id = page.id
		ORDER BY page.position %[3]s`, chosen, q.position, f.direction(), len(args)-1, len(args)), args...)
	return found, cut, err
}

// positionOf returns the position of the nth that an index finds; 0 when there are fewer.
func (db *DB) positionOf(ctx context.Context, f ApplicationFilter, q applicationQuery, n int) (int64, error) {
	args := append(slices.Clip(q.indexed.args), n-1)
	last, _, err := rows.First(rows.Query(ctx, db.reads, rows.Value[int64], fmt.Sprintf(
		`SELECT %s FROM application_list%s ORDER BY %[1]s %[3]s LIMIT 1 OFFSET $%d`, q.position, &q.indexed, f.direction(),
		len(args)), args...))
	return last, err
}

// addTo adds to a page what was found, with answers if they are asked for.
func (db *DB) addTo(ctx context.Context, tenant string, f ApplicationFilter, found []foundApplication,
	page *ApplicationPage) error {
	answers := map[string]keptAnswers{}
	if f.Answers {
		ids := make([]string, len(found))
		for n, one := range found {
			ids[n] = one.id
		}
		in, args := oneOf(ids, tenant)
		all, err := rows.Query(ctx, db.reads, scanAnswers, selectAnswers+`IN (`+in+`)`, args...)
		if err != nil {
			return err
		}
		for _, one := range all {
			answers[one.application] = one
		}
	}
	for _, one := range found {
		page.End = one.position
		if !one.there {
			if f.Order == ByChange {
				page.Erased = append(page.Erased, one.id)
			}
			continue
		}
		opened, err := applications.open(db.opening(ctx), []keptResource{one.keptResource}, nil)
		if err != nil {
			return err
		}
		item := ListedApplication{JobApplication: opened[0]}
		if kept, ok := answers[one.id]; ok {
			page.size += len(kept.data)
			if item.Answers, err = kept.open(db.opening(ctx), tenant); err != nil {
				return err
			}
		}
		page.Items = append(page.Items, item)
	}
	return nil
}

// MaxCountedApplications is how many job applications CountListed looks at.
const MaxCountedApplications = 100_000

// CountListed counts the job applications that a filter chooses, whatever its page. more reports that it did not
// look at all of them. Erased ids are not counted.
func (db *DB) CountListed(ctx context.Context, tenant string, f ApplicationFilter) (n int64, more bool, err error) {
	f.After = 0
	q, err := f.query(db, tenant)
	if err != nil {
		return 0, false, err
	}
	bound, err := db.positionOf(ctx, f, q, MaxCountedApplications)
	if err != nil {
		return 0, false, err
	}
	if bound > 0 {
		q.until(f, bound)
	}
	counted, args := q.chosen(`SELECT count(stored)`)
	n, err = rows.QueryOne(ctx, db.reads, rows.Value[int64], counted, args...)
	return n, bound > 0, err
}

// ApplicationPositions are the bounds of the lists of a tenant's job applications.
type ApplicationPositions struct {
	Last      int64 // no cursor is beyond it
	Forgotten int64 // erased ids up to it may not be listed any more
}

// ApplicationPositions reads the bounds of the lists of a tenant's job applications.
func (db *DB) ApplicationPositions(ctx context.Context, tenant string) (ApplicationPositions, error) {
	p, _, err := rows.First(rows.Query(ctx, db.reads, func(r row) (p ApplicationPositions, err error) {
		err = r.Scan(&p.Last, &p.Forgotten)
		return p, err
	}, `SELECT last, forgotten FROM application_positions WHERE tenant = $1`, tenant))
	return p, err
}
