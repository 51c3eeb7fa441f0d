package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

var submissions = rows.Table[model.Submission]{
	Name: "submissions",
	Columns: `key, tenant, id, job, title, state, attempts, reason, noted, uncertain, received_at, next_at, try_until, ended_at,
		erased_at`,
	Fields: func(s *model.Submission) []any {
		return []any{&s.Key, &s.Tenant, &s.ID, &s.Job, &s.Title, &s.State, &s.Attempts, &s.Reason, &s.Noted, &s.Uncertain,
			rows.Time(&s.ReceivedAt), rows.Time(&s.NextAt), rows.Time(&s.TryUntil), rows.Time(&s.EndedAt),
			rows.Time(&s.ErasedAt)}
	},
}

// SubmissionLease keeps others from the attempt of a submission until a time.
type SubmissionLease struct {
	Owner string // of one attempt
	Till  time.Time
}

// InsertSubmission inserts a submission, whose first attempt is leased; the zero lease: nobody makes it yet. email is what it is found by; empty: it has no
// such answer.
func (tx *Tx) InsertSubmission(s *model.Submission, c *model.SubmissionContent, email string, l SubmissionLease) error {
	kept, err := tx.wrapSubmission(s, c)
	if err != nil {
		return err
	}
	found := ""
	if email != "" {
		if found, err = tx.db.dataKeys.hashed(s.Tenant, searchWord{emailWord, emailKey(email)}); err != nil {
			return err
		}
	}
	if err := tx.sql.Run(`INSERT INTO submissions (key, tenant, id, job, state, attempts, reason, noted, uncertain,
		acknowledged, content, email, received_at, next_at, leased_till, lease, try_until, ended_at, title)
		VALUES ($1, $2, $3, $4, $5, 0, $6, '', FALSE, FALSE, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		s.Key, s.Tenant, s.ID, s.Job, string(s.State), s.Reason, kept, found, rows.Micros(s.ReceivedAt), rows.Micros(s.NextAt),
		rows.Micros(l.Till), l.Owner, rows.Micros(s.TryUntil), rows.Micros(s.EndedAt), s.Title); err != nil {
		return err
	}
	for _, a := range c.Answers {
		if a.Blob == "" {
			continue
		}
		if err := tx.sql.Run(`INSERT INTO submission_files (submission, blob) VALUES ($1, $2)`, s.Key, a.Blob); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) wrapSubmission(s *model.Submission, c *model.SubmissionContent) ([]byte, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	raw = slices.Concat([]byte{summed}, checksum(submissionParts(s, raw)), raw)
	return tx.db.dataKeys.wrapPerson(submissionData, personRow(s.Tenant, s.ID), raw)
}

// summed is the first byte of a content with its checksum. A content that was stored before there were checksums is a
// JSON object, which no flipped bit makes of this.
const summed = 1

// submissionParts are which submission a content is of, the job that it is sent for, and the content.
func submissionParts(s *model.Submission, content []byte) []string {
	return []string{s.Tenant, s.ID, s.Job, string(content)}
}

// Submission reads a submission; ErrNotFound when there is none.
func (db *DB) Submission(ctx context.Context, tenant, id string) (*model.Submission, error) {
	return submissions.Get(ctx, db.reads, `tenant = $1 AND id = $2`, tenant, id)
}

// SubmissionAttempts reads the last attempts of a submission, the first of them at the beginning.
func (db *DB) SubmissionAttempts(ctx context.Context, s *model.Submission) ([]model.SubmissionAttempt, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (made []model.SubmissionAttempt, err error) {
		return made, r.Scan(rows.JSON(&made))
	}, `SELECT last_attempts FROM submissions WHERE key = $1`, s.Key)
}

// SubmissionContent reads what an applicant sent; ErrNotFound when it was erased, ErrUnreadable when it was damaged.
func (db *DB) SubmissionContent(ctx context.Context, s *model.Submission) (*model.SubmissionContent, error) {
	kept, err := rows.QueryOne(ctx, db.reads, rows.Value[[]byte],
		`SELECT content FROM submissions WHERE key = $1 AND content IS NOT NULL`, s.Key)
	if err != nil {
		return nil, err
	}
	raw, err := unwrapPerson(db.opening(ctx), submissionData, personRow(s.Tenant, s.ID), kept)
	if err != nil {
		return nil, err
	}
	if len(raw) > sha256.Size && raw[0] == summed {
		sum := raw[1 : 1+sha256.Size]
		raw = raw[1+sha256.Size:]
		if err := compare(sum, submissionParts(s, raw)); err != nil {
			return nil, err
		}
	}
	c := new(model.SubmissionContent)
	if json.Unmarshal(raw, c) != nil {
		return nil, errChanged
	}
	return c, nil
}

// LeaseSubmission leases the next attempt of a submission. It reports false while another one is under way, or when none
// is to be made any more. After an attempt whose end nobody noted, the submission may have arrived.
func (tx *Tx) LeaseSubmission(s *model.Submission, l SubmissionLease, now time.Time) (bool, error) {
	return tx.sql.Scan([]any{&s.Uncertain, &s.Attempts}, `UPDATE submissions SET leased_till = $1,
		uncertain = uncertain OR lease <> '', lease = $2 WHERE key = $3 AND state = 'waiting' AND content IS NOT NULL
		AND (leased_till IS NULL OR leased_till < $4) RETURNING uncertain, attempts`,
		rows.Micros(l.Till), l.Owner, s.Key, rows.Micros(now))
}

// RenewLease lengthens the lease of an attempt that is still under way. It reports false when another one has followed it.
func (tx *Tx) RenewLease(s *model.Submission, l SubmissionLease) (bool, error) {
	return tx.sql.Changed(`UPDATE submissions SET leased_till = $1 WHERE key = $2 AND lease = $3 AND state = 'waiting'`,
		rows.Micros(l.Till), s.Key, l.Owner)
}

// PostponeSubmission sets when an attempt of a submission is started again if it has not ended by then.
func (tx *Tx) PostponeSubmission(s *model.Submission, again time.Time) error {
	return tx.sql.Run(`UPDATE submissions SET next_at = $1 WHERE key = $2 AND state = 'waiting' AND next_at = $3`,
		rows.Micros(again), s.Key, rows.Micros(s.NextAt))
}

// CountLeasedSubmissions counts a tenant's submissions whose attempt is under way.
func (db *DB) CountLeasedSubmissions(ctx context.Context, tenant string, now time.Time) (int64, error) {
	return rows.QueryOne(ctx, db.reads, rows.Value[int64], `SELECT count(*) FROM submissions WHERE tenant = $1
		AND state = 'waiting' AND leased_till > $2`, tenant, rows.Micros(now))
}

// errLeaseOver means that an attempt took longer than its lease: another one has followed it.
var errLeaseOver = errors.New("the attempt took longer than its lease")

// EndAttempt writes what an attempt of a submission came to. The content, which has what the service said about the answers,
// stays as it is where it is nil. last is the attempt, to be kept; nil: nothing was sent.
func (tx *Tx) EndAttempt(s *model.Submission, l SubmissionLease, c *model.SubmissionContent,
	last *model.SubmissionAttempt) error {
	var kept []byte
	if c != nil {
		var err error
		if kept, err = tx.wrapSubmission(s, c); err != nil {
			return err
		}
	}
	var made []model.SubmissionAttempt
	if _, err := tx.sql.Scan([]any{rows.JSON(&made)}, `SELECT last_attempts FROM submissions WHERE key = $1`, s.Key); err != nil {
		return err
	}
	if last != nil {
		made = append(made, *last)
		made = made[max(0, len(made)-model.KeptAttempts):]
	}
	return tx.sql.RunOr(errLeaseOver, `UPDATE submissions SET state = $1, attempts = $2, reason = $3, noted = $4,
		uncertain = $5, next_at = $6, ended_at = $7, content = COALESCE($8, content), leased_till = NULL, lease = '',
		last_attempts = $11 WHERE key = $9 AND lease = $10 AND state = 'waiting' AND content IS NOT NULL`,
		string(s.State), s.Attempts, s.Reason, s.Noted, s.Uncertain, rows.Micros(s.NextAt), rows.Micros(s.EndedAt), kept,
		s.Key, l.Owner, rows.JSON(made))
}

// AcknowledgeSubmission notes that somebody was told that a submission is stored: DiscardSubmission keeps it. It reports
// false when there is no such submission any more.
func (tx *Tx) AcknowledgeSubmission(tenant, id string) (bool, error) {
	return tx.sql.Changed(`UPDATE submissions SET acknowledged = TRUE WHERE tenant = $1 AND id = $2`, tenant, id)
}

// DiscardSubmission deletes a submission that the service refused in its first attempt, with the Idempotency-Key that it
// came with, and leaves its files to the sweep. It reports false when somebody was told that it is stored.
func (tx *Tx) DiscardSubmission(s *model.Submission, l SubmissionLease, o *Once, now time.Time) (bool, error) {
	gone, err := tx.sql.Changed(`DELETE FROM submissions WHERE key = $1 AND lease = $2 AND NOT acknowledged`,
		s.Key, l.Owner)
	if err != nil || !gone {
		return false, err
	}
	if o != nil {
		if err := tx.sql.Run(`DELETE FROM idempotency WHERE id = $1 AND location = $2`, o.ID[:], s.ID); err != nil {
			return false, err
		}
	}
	_, err = tx.releaseSubmissionFiles(s.Key, now)
	return true, err
}

func (tx *Tx) releaseSubmissionFiles(key int64, now time.Time) (files []string, err error) {
	files, err = rows.QueryTx(tx.sql, rows.Value[string], `SELECT blob FROM submission_files WHERE submission = $1
		ORDER BY blob`, key)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if err := tx.InsertUpload(name, now); err != nil {
			return nil, err
		}
	}
	return files, tx.sql.Run(`DELETE FROM submission_files WHERE submission = $1`, key)
}

// EraseSubmission erases the content of a submission, and returns the names of its files, which are left to the sweep. The
// submission then has the state in which it ended. If an attempt was under way, it may have arrived.
func (tx *Tx) EraseSubmission(s *model.Submission, now time.Time) (files []string, err error) {
	if _, err := tx.sql.Scan([]any{&s.State, &s.Uncertain}, `UPDATE submissions SET content = NULL, email = '', erased_at = $1,
		state = CASE state WHEN 'waiting' THEN 'failed' ELSE state END, ended_at = COALESCE(ended_at, $1), next_at = NULL,
		uncertain = uncertain OR state = 'waiting' AND lease <> ''
		WHERE key = $2 AND content IS NOT NULL RETURNING state, uncertain`, rows.Micros(now), s.Key); err != nil {
		return nil, err
	}
	return tx.releaseSubmissionFiles(s.Key, now)
}

// RedeliverSubmission has a submission sent again. It reports false unless it was refused, has failed or is suspected, and
// its content is there.
func (tx *Tx) RedeliverSubmission(s *model.Submission, now, tryUntil time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE submissions SET state = 'waiting', next_at = $1, try_until = $2, ended_at = NULL,
		noted = '' WHERE key = $3 AND state IN ('refused', 'failed', 'suspected') AND content IS NOT NULL`,
		rows.Micros(now), rows.Micros(tryUntil), s.Key)
}

// ResolveSubmission notes that somebody entered a submission at the service by hand. It reports false unless
// it was refused, has failed or is suspected.
func (tx *Tx) ResolveSubmission(s *model.Submission, note string, now time.Time) (bool, error) {
	return tx.sql.Changed(`UPDATE submissions SET state = 'resolved', noted = $1, ended_at = $2
		WHERE key = $3 AND state IN ('refused', 'failed', 'suspected')`, note, rows.Micros(now), s.Key)
}

// ListDueSubmissions lists the submissions of a tenant whose next attempt is due, those that have been due for longest at the
// beginning: in the order in which they came, what the service never takes would be tried before all others each time.
func (db *DB) ListDueSubmissions(ctx context.Context, tenant string, now time.Time, limit int) ([]*model.Submission, error) {
	return rows.Query(ctx, db.reads, submissions.Scan, submissions.Select(`tenant = $1 AND state = 'waiting'
		AND next_at <= $2 AND (leased_till IS NULL OR leased_till < $2) ORDER BY next_at, key LIMIT $3`),
		tenant, rows.Micros(now), limit)
}

// SubmissionFilter selects submissions. Empty fields select all.
type SubmissionFilter struct {
	State  model.SubmissionState
	ID     string
	Email  string
	Before int64 // the key of the last one of the page before
	Limit  int
}

// ListSubmissions lists a tenant's submissions, the newest first.
func (db *DB) ListSubmissions(ctx context.Context, tenant string, f SubmissionFilter) ([]*model.Submission, error) {
	var c conditions
	c.is(`tenant =`, tenant)
	if f.State != "" {
		c.is(`state =`, string(f.State))
	}
	if f.ID != "" {
		c.is(`id =`, f.ID)
	}
	if f.Before != 0 {
		c.is(`key <`, f.Before)
	}
	if f.Email != "" {
		forms, err := db.dataKeys.emailKeys(tenant, f.Email)
		if err != nil {
			return nil, err
		}
		var in string
		in, c.args = oneOf(forms, c.args...)
		c.where = append(c.where, `email IN (`+in+`)`)
	}
	return rows.Query(ctx, db.reads, submissions.Scan, fmt.Sprintf(`SELECT %s FROM %s%s ORDER BY key DESC LIMIT $%d`,
		submissions.Columns, submissions.Name, c.String(), len(c.args)+1), append(c.args, rows.Page{Limit: f.Limit}.Size())...)
}

// EachUnerasedSubmission calls do with the submissions that have content, a page at a time.
func (db *DB) EachUnerasedSubmission(ctx context.Context, do func([]*model.Submission) error) error {
	return rows.EachPage(ctx, db.reads, submissions.Scan, func(last *model.Submission) []any {
		if last == nil { // at the beginning
			return []any{int64(0)}
		}
		return []any{last.Key}
	}, MaxPage, submissions.Select(`erased_at IS NULL AND key > $1 ORDER BY key LIMIT $2`), do)
}

// ListKeptSubmissions lists a tenant's submissions of a state that ended before a time and whose content is there.
func (db *DB) ListKeptSubmissions(ctx context.Context, tenant string, state model.SubmissionState, before time.Time,
	limit int) ([]*model.Submission, error) {
	return rows.Query(ctx, db.reads, submissions.Scan, submissions.Select(`tenant = $1 AND state = $2 AND ended_at < $3
		AND erased_at IS NULL ORDER BY ended_at, key LIMIT $4`), tenant, string(state), rows.Micros(before), limit)
}

// DeleteSubmissions deletes, some at a time, the rows of submissions that were erased before a time.
func (tx *Tx) DeleteSubmissions(before time.Time) (int64, error) {
	return tx.sql.Exec(`DELETE FROM submissions WHERE key IN (SELECT key FROM submissions WHERE erased_at < $1
		ORDER BY key LIMIT 500)`, rows.Micros(before))
}

// SubmissionCount counts submissions.
type SubmissionCount struct {
	N      int64
	Oldest time.Time // when the first of them came
}

// CountSubmissions counts, by tenant and state, the submissions whose content is there.
func (db *DB) CountSubmissions(ctx context.Context) (map[string]map[model.SubmissionState]SubmissionCount, error) {
	return db.countSubmissions(ctx, ``)
}

// CountUnsettledSubmissions is CountSubmissions without the delivered ones, which are the many.
func (db *DB) CountUnsettledSubmissions(ctx context.Context) (map[string]map[model.SubmissionState]SubmissionCount, error) {
	return db.countSubmissions(ctx, ` AND state <> 'delivered'`)
}

func (db *DB) countSubmissions(ctx context.Context,
	where string) (map[string]map[model.SubmissionState]SubmissionCount, error) {
	counts := map[string]map[model.SubmissionState]SubmissionCount{}
	_, err := rows.Query(ctx, db.reads, func(r row) (struct{}, error) {
		var tenant string
		var state model.SubmissionState
		var c SubmissionCount
		err := r.Scan(&tenant, &state, &c.N, rows.Time(&c.Oldest))
		if counts[tenant] == nil {
			counts[tenant] = map[model.SubmissionState]SubmissionCount{}
		}
		counts[tenant][state] = c
		return struct{}{}, err
	}, `SELECT tenant, state, count(*), min(received_at) FROM submissions WHERE erased_at IS NULL`+where+` GROUP BY tenant, state`)
	return counts, err
}

// CountUndelivered counts the submissions of a tenant that its service does not have and whose content is there.
func (tx *Tx) CountUndelivered(tenant string) (n int64, err error) {
	_, err = tx.sql.Scan([]any{&n}, `SELECT count(*) FROM submissions WHERE tenant = $1 AND erased_at IS NULL
		AND state IN ('waiting', 'refused', 'failed', 'suspected')`, tenant)
	return n, err
}

// CountEnding counts, by tenant, the submissions that nobody has settled, that ended before a time and whose content is
// there. Oldest is when the first of them ended.
func (db *DB) CountEnding(ctx context.Context, before time.Time) (map[string]SubmissionCount, error) {
	counts := map[string]SubmissionCount{}
	_, err := rows.Query(ctx, db.reads, func(r row) (struct{}, error) {
		var tenant string
		var c SubmissionCount
		err := r.Scan(&tenant, &c.N, rows.Time(&c.Oldest))
		counts[tenant] = c
		return struct{}{}, err
	}, `SELECT tenant, count(*), min(ended_at) FROM submissions WHERE erased_at IS NULL AND ended_at < $1
		AND state IN ('refused', 'failed', 'suspected') GROUP BY tenant`, rows.Micros(before))
	return counts, err
}

// OldestSubmission reads the first of a tenant's waiting submissions; ErrNotFound when none waits.
func (db *DB) OldestSubmission(ctx context.Context, tenant string) (*model.Submission, error) {
	return submissions.Get(ctx, db.reads, `tenant = $1 AND state = 'waiting' ORDER BY key LIMIT 1`, tenant)
}

// FailSubmissions has those fail that still wait after a time, although no attempt is under way, and returns how many.
// Their tenant has no service any more, or it had no time for them.
func (tx *Tx) FailSubmissions(tried, now time.Time) (int64, error) {
	return tx.sql.Exec(`UPDATE submissions SET state = 'failed', ended_at = $1, next_at = NULL WHERE state = 'waiting'
		AND try_until < $2 AND (leased_till IS NULL OR leased_till < $1)`, rows.Micros(now), rows.Micros(tried))
}
