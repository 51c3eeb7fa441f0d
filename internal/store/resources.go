package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/cases"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

var candidates = collection[model.Candidate]{"candidates", candidateData, []string{"email", "worded"},
	func(c *model.Candidate) (string, *model.Row, []any) {
		email := ""
		if len(c.Email) > 0 {
			email = emailKey(c.Email[0])
		}
		return c.ID, &c.Row, []any{searchWord{emailWord, email}, true}
	}, wordsOfCandidate, candidateKinds}

var jobs = collection[model.Job]{"jobs", "", []string{"job", "feed", "files", "position", "worded", "closes_at", "kept"},
	func(j *model.Job) (string, *model.Row, []any) {
		feed, files, closesAt := "", 0, any(int64(0))
		if !j.Closed {
			if !j.ClosesAt.IsZero() {
				closesAt = rows.Micros(j.ClosesAt)
			}
			files = j.Files()
			if j.Syndicate {
				feed = inFeed
			}
		}
		return j.BoardCode, &j.Row, []any{j.ID, feed, files, position{j}, true, closesAt, j.KeepApplications}
	}, wordsOfJob, jobKinds}

var steps = collection[model.Step]{"steps", "", nil, func(s *model.Step) (string, *model.Row, []any) {
	return s.ID, &s.Row, nil
}, nil, ""}

var applications = collection[model.JobApplication]{"job_applications", applicationData,
	[]string{"candidate", "job", "step", "ended", "unentered", "version_of", "listed",
		"kept_from", "keep_until"},
	func(a *model.JobApplication) (string, *model.Row, []any) {
		keepUntil := any(int64(0))
		if !a.KeepUntil.IsZero() {
			keepUntil = rows.Micros(a.KeepUntil)
		}
		return a.ID, &a.Row, []any{a.Candidate, a.Job, a.Status.Step, string(a.State()), a.Unentered(), a.VersionOf, true,
			keptFrom{a}, keepUntil}
	}, nil, ""}

// emailKey returns the key of an e-mail address in the index: its case is folded, and it is not too long for an index.
// A few different addresses share a key: it folds ß to ss, and ends after 1 KiB.
func emailKey(address string) string {
	return model.CandidateKey(cases.Fold().String(model.ComparedEmail(address)))
}

// emailKeys returns the forms of the keys under which a candidate with an e-mail address is found. The second key is that
// of a candidate who was written while keys had what [model.ComparedEmail] leaves out; it may be the first one.
func (k *dataKeys) emailKeys(tenant, address string) ([]string, error) {
	former := model.CandidateKey(cases.Fold().String(strings.TrimSpace(address)))
	return k.forms(tenant, searchWord{emailWord, emailKey(address)}, searchWord{emailWord, former})
}

// hasEmail reports whether one of these e-mail addresses is this one, case aside (simple case folding, which keeps
// ß apart from ss).
func hasEmail(all []string, email string) bool {
	return slices.ContainsFunc(all, func(one string) bool {
		return strings.EqualFold(model.ComparedEmail(one), model.ComparedEmail(email))
	})
}

// UpsertCandidate writes a candidate if its version is still the one it was read with; version 0: if there is none.
// ErrStale otherwise. The other methods that write resources are alike.
func (tx *Tx) UpsertCandidate(c *model.Candidate, now time.Time) error {
	err := candidates.upsert(tx, c, now)
	if err == nil {
		tx.change(c.Tenant, model.CandidateChanged, c.ID, now)
	}
	return err
}

// Candidate finds a candidate within a transaction.
func (tx *Tx) Candidate(tenant, id string) (*model.Candidate, bool, error) {
	return candidates.find(tx, tenant, id)
}

// DeleteCandidate deletes a candidate if its version is still the one it was read with; ErrStale otherwise. The other
// methods that delete resources are alike.
func (tx *Tx) DeleteCandidate(c *model.Candidate) error { return candidates.delete(tx, c) }

// Candidate reads a candidate; ErrNotFound when there is none.
func (db *DB) Candidate(ctx context.Context, tenant, id string) (*model.Candidate, error) {
	return candidates.get(ctx, db, tenant, id)
}

// CandidateFilter chooses candidates; an empty field chooses all.
type CandidateFilter struct {
	Name  string // words that each begin one of the name
	Email string // any of their e-mail addresses
	Phone string // with the code of the country or without
}

// ListCandidates lists candidates by id, or those that a filter chooses. A page of those may be shorter than was asked
// for before the last one. Errors: ErrOtherSearch when the cursor is of another filter.
func (db *DB) ListCandidates(ctx context.Context, tenant string, f CandidateFilter,
	p Page) (page []*model.Candidate, next string, err error) {
	if f == (CandidateFilter{}) {
		return candidates.list(ctx, db, tenant, "", nil, p)
	}
	var terms []term
	for _, w := range []searchWord{{emailWord, emailKey(f.Email)}, {phoneWord, phoneKey(f.Phone)}} {
		if w.word == "" {
			continue
		}
		t, err := candidates.whole(&db.dataKeys, tenant, w)
		if err != nil {
			return nil, "", err
		}
		terms = append(terms, t)
	}
	names, err := candidates.terms(&db.dataKeys, tenant, nameWord, f.Name)
	if terms = append(terms, names...); err != nil || len(terms) == 0 {
		return nil, "", err
	}
	page, next, err = candidates.search(ctx, db, tenant, terms, p)
	return slices.DeleteFunc(page, func(c *model.Candidate) bool {
		return f.Email != "" && !hasEmail(c.Email, f.Email) ||
			f.Phone != "" && !slices.ContainsFunc(c.Phone, func(one string) bool { return samePhone(one, f.Phone) })
	}), next, err
}

// UpsertJob writes a job. ErrTaken when another job of the tenant has its id.
func (tx *Tx) UpsertJob(j *model.Job, now time.Time) error {
	others, err := jobs.rows(tx, ` AND job = $2 AND id <> $3`, j.Tenant, j.ID, j.BoardCode)
	if err == nil && len(others) > 0 {
		err = ErrTaken
	}
	if err != nil {
		return err
	}
	if err = jobs.upsert(tx, j, now); err == nil {
		tx.change(j.Tenant, model.JobChanged, j.BoardCode, now)
	}
	return err
}

// Job finds a job by its job board code within a transaction.
func (tx *Tx) Job(tenant, boardCode string) (*model.Job, bool, error) {
	return jobs.find(tx, tenant, boardCode)
}

// DeleteJob removes a job, and what was counted of the answers for it.
func (tx *Tx) DeleteJob(j *model.Job) error {
	if err := jobs.delete(tx, j); err != nil {
		return err
	}
	return tx.sql.Run(`DELETE FROM answer_refusals WHERE tenant = $1 AND job = $2`, j.Tenant, j.BoardCode)
}

// Job reads a job by its job board code; ErrNotFound when there is none.
func (db *DB) Job(ctx context.Context, tenant, boardCode string) (*model.Job, error) {
	return jobs.get(ctx, db, tenant, boardCode)
}

// JobFilter chooses jobs; an empty field chooses all.
type JobFilter struct {
	State string // open or closed
	Text  string // words that each begin one of the title, the job board code or the id
}

// ListJobs lists jobs by job board code, or as ListCandidates does those that a filter chooses.
func (db *DB) ListJobs(ctx context.Context, tenant string, f JobFilter, p Page) ([]*model.Job, string, error) {
	if f == (JobFilter{}) {
		return jobs.list(ctx, db, tenant, "", nil, p)
	}
	terms, err := jobs.terms(&db.dataKeys, tenant, textWord, f.Text)
	if err != nil || f.Text != "" && len(terms) == 0 {
		return nil, "", err
	}
	if f.State != "" {
		terms = append(terms, term{stateWord, []interval{{f.State, f.State}}})
	}
	return jobs.search(ctx, db, tenant, terms, p)
}

// UpsertStep writes a step with its helper.
func (tx *Tx) UpsertStep(s *model.Step, now time.Time) error { return steps.upsert(tx, s, now) }

// Step finds a step within a transaction.
func (tx *Tx) Step(tenant, id string) (*model.Step, bool, error) { return steps.find(tx, tenant, id) }

// ListSteps reads all steps of a tenant within a transaction, by id.
func (tx *Tx) ListSteps(tenant string) ([]*model.Step, error) {
	return steps.rows(tx, ` ORDER BY id`, tenant)
}

// DeleteStep removes a step.
func (tx *Tx) DeleteStep(s *model.Step) error { return steps.delete(tx, s) }

// Step reads a step; ErrNotFound when there is none.
func (db *DB) Step(ctx context.Context, tenant, id string) (*model.Step, error) {
	return steps.get(ctx, db, tenant, id)
}

// ListSteps lists a tenant's steps by id. Their order in the workflow is their position.
func (db *DB) ListSteps(ctx context.Context, tenant string, p Page) ([]*model.Step, string, error) {
	return steps.list(ctx, db, tenant, "", nil, p)
}

// ListHelpers lists the steps of all tenants whose helper names integrations, by tenant.
func (db *DB) ListHelpers(ctx context.Context) ([]*model.Step, error) {
	return listHelpers(ctx, db.reads)
}

// PeekHelpers is ListHelpers of the database at an address, which it neither claims nor changes: there are none where
// there is no such database.
func PeekHelpers(ctx context.Context, address string) ([]*model.Step, error) {
	return listHelpers(ctx, peeked(address))
}

func listHelpers(ctx context.Context, db rows.Reader) ([]*model.Step, error) {
	kept, err := rows.Query(ctx, db, scanResource, `SELECT `+resourceColumns+` FROM steps ORDER BY tenant, id`)
	all, err := steps.open(nil, kept, err)
	return slices.DeleteFunc(all, func(s *model.Step) bool { return s.Helper == nil || len(s.Helper.Integrations) == 0 }), err
}

// UpsertJobApplication writes a job application. Its status is changed with InsertTransition as well.
func (tx *Tx) UpsertJobApplication(a *model.JobApplication, now time.Time) error {
	a.ErasesAt = time.Time{} // it is computed
	if err := tx.moved(a, now); err != nil {
		return err
	}
	if err := applications.upsert(tx, a, now); err != nil {
		return err
	}
	if a.VersionOf != "" { // the list has the first one alone
		tx.applicationChanged(a.Tenant, a.VersionOf, now)
		return nil
	}
	tx.applicationChanged(a.Tenant, a.ID, now).erased = false
	return nil
}

// JobApplication finds a job application within a transaction.
func (tx *Tx) JobApplication(tenant, id string) (*model.JobApplication, bool, error) {
	return applications.find(tx, tenant, id)
}

// ListJobApplicationsOf reads the job applications of a candidate within a transaction, by id, at most limit.
func (tx *Tx) ListJobApplicationsOf(tenant, candidate string, limit int) ([]*model.JobApplication, error) {
	return applications.rows(tx, ` AND candidate = $2 ORDER BY id LIMIT $3`, tenant, candidate, limit)
}

// ListNewestApplicationsOf reads the job applications of a candidate within a transaction, without further versions, the
// newest first, at most limit.
func (tx *Tx) ListNewestApplicationsOf(tenant, candidate string, limit int) ([]*model.JobApplication, error) {
	return applications.rows(tx, ` AND candidate = $2 AND version_of = '' ORDER BY created_at DESC, id LIMIT $3`, tenant, candidate, limit)
}

// CountApplicationsOf counts the job applications of a candidate, without further versions.
func (tx *Tx) CountApplicationsOf(tenant, candidate string) (n int, err error) {
	_, err = tx.sql.Scan([]any{&n}, `SELECT count(*) FROM job_applications WHERE tenant = $1 AND candidate = $2
		AND version_of = ''`, tenant, candidate)
	return n, err
}

// CountOpenApplicationsOf counts the job applications of a candidate that have not ended, up to a number.
func (tx *Tx) CountOpenApplicationsOf(tenant, candidate string, most int) (n int, err error) {
	_, err = tx.sql.Scan([]any{&n}, `SELECT count(*) FROM (SELECT 1 FROM job_applications WHERE tenant = $1
		AND candidate = $2 AND ended = '' AND version_of = '' LIMIT $3) counted`, tenant, candidate, most)
	return n, err
}

// CountOpenApplicationsIn counts the open job applications that are in a step.
func (tx *Tx) CountOpenApplicationsIn(tenant, step string) (n int64, err error) {
	_, err = tx.sql.Scan([]any{&n}, `SELECT count(*) FROM application_list WHERE tenant = $1 AND step = $2 AND ended = ''`,
		tenant, step)
	return n, err
}

// FirstApplicationSince finds the first open job application of a candidate for a job that was stored after a time, and
// is no further version of another; nil: there is none.
func (tx *Tx) FirstApplicationSince(tenant, candidate, job string, since time.Time) (*model.JobApplication, error) {
	a, _, err := rows.First(applications.rows(tx, ` AND candidate = $2 AND job = $3 AND created_at > $4 AND ended = ''
		AND version_of = '' ORDER BY created_at, id LIMIT 1`, tenant, candidate, job, rows.Micros(since)))
	return a, err
}

// ListApplicationVersions lists the further versions of a job application by id.
func (db *DB) ListApplicationVersions(ctx context.Context, tenant, id string, p Page) ([]*model.JobApplication, string, error) {
	return applications.list(ctx, db, tenant, "version_of", []string{id}, p)
}

// CountUnentered counts the open job applications of each tenant that could not enter their first step.
func (db *DB) CountUnentered(ctx context.Context) (map[string]Counted, error) {
	return rows.QueryMap(ctx, db.reads, scanCounted, `SELECT tenant, count(*), min(created_at) FROM job_applications
		WHERE unentered GROUP BY tenant`)
}

// IsJobUsed reports whether a job application is for a job.
func (tx *Tx) IsJobUsed(tenant, boardCode string) (bool, error) {
	all, err := applications.rows(tx, ` AND job = $2 ORDER BY id LIMIT 1`, tenant, boardCode)
	return len(all) > 0, err
}

// DeleteJobApplication removes a job application. Lists by change have its id from now on.
func (tx *Tx) DeleteJobApplication(a *model.JobApplication) error {
	if err := applications.delete(tx, a); err != nil {
		return err
	}
	if a.VersionOf != "" {
		tx.applicationChanged(a.Tenant, a.VersionOf, time.Time{})
		return nil
	}
	tx.applicationChanged(a.Tenant, a.ID, time.Time{}).erased = true
	return nil
}

// JobApplication reads a job application; ErrNotFound when there is none.
func (db *DB) JobApplication(ctx context.Context, tenant, id string) (*model.JobApplication, error) {
	return applications.get(ctx, db, tenant, id)
}
