package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// Upstream is the state of the service that a tenant's applications are relayed to.
type Upstream struct {
	Token      string    // empty: there is none
	SignedInAt time.Time // when a token was asked for last
	SlowUntil  time.Time // the service asked for that
	Fault      string    // a sentence for people; empty: it accepts
	FaultSince time.Time
}

// Upstream reads what is known of a tenant's service. setting is of its address and user: the token of another one does
// not count.
func (db *DB) Upstream(ctx context.Context, tenant string, setting []byte) (u Upstream, err error) {
	var kept, madeWith []byte
	u, err = rows.QueryOne(ctx, db.reads, func(r row) (u Upstream, err error) {
		return u, r.Scan(&kept, &madeWith, rows.Time(&u.SignedInAt), rows.Time(&u.SlowUntil), &u.Fault, rows.Time(&u.FaultSince))
	}, `SELECT token, setting, signed_in_at, slow_until, fault, fault_since FROM upstreams WHERE tenant = $1`, tenant)
	if errors.Is(err, ErrNotFound) {
		return Upstream{}, nil
	}
	if err != nil || len(kept) == 0 || !bytes.Equal(madeWith, setting) {
		return u, err
	}
	token, err := unwrapPerson(db.opening(ctx), upstreamToken, personRow(tenant), kept)
	u.Token = string(token)
	return u, err
}

// BeginSignIn reserves asking a tenant's service for a token: one node at a time does. It reports false where that was
// done since a time.
func (tx *Tx) BeginSignIn(tenant string, since, now time.Time) (bool, error) {
	return tx.sql.Changed(`INSERT INTO upstreams (tenant, signed_in_at, fault) VALUES ($1, $2, '')
		ON CONFLICT (tenant) DO UPDATE SET signed_in_at = excluded.signed_in_at
		WHERE upstreams.signed_in_at IS NULL OR upstreams.signed_in_at <= $3`,
		tenant, rows.Micros(now), rows.Micros(since))
}

// UpdateUpstreamToken writes the token that a tenant's service gave.
func (tx *Tx) UpdateUpstreamToken(tenant, token string, setting []byte) error {
	kept, err := tx.db.dataKeys.wrapPerson(upstreamToken, personRow(tenant), []byte(token))
	if err != nil {
		return err
	}
	return tx.sql.Run(`UPDATE upstreams SET token = $1, setting = $2 WHERE tenant = $3`, kept, setting, tenant)
}

// UpstreamAgain means that a service still accepts nothing, for the reason that is known.
const UpstreamAgain = "again"

// UpdateUpstreamFault writes why a tenant's service accepts nothing; empty: it does, and what waited is due. slow is until
// when the service asked to be left alone; zero: it did not.
func (tx *Tx) UpdateUpstreamFault(tenant, fault string, slow, now time.Time) error {
	if fault == "" {
		back, err := tx.sql.Changed(`UPDATE upstreams SET fault = '', fault_since = NULL, slow_until = NULL
			WHERE tenant = $1 AND (fault <> '' OR slow_until IS NOT NULL)`, tenant)
		if err != nil || !back {
			return err
		}
		return tx.sql.Run(`UPDATE submissions SET next_at = $1 WHERE tenant = $2 AND state = 'waiting' AND next_at > $1`,
			rows.Micros(now), tenant)
	}
	if fault == UpstreamAgain {
		return nil
	}
	return tx.sql.Run(`INSERT INTO upstreams (tenant, fault, fault_since, slow_until) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant) DO UPDATE SET fault = excluded.fault,
		fault_since = COALESCE(upstreams.fault_since, excluded.fault_since),
		slow_until = COALESCE(excluded.slow_until, upstreams.slow_until)`,
		tenant, fault, rows.Micros(now), rows.Micros(slow))
}

// UpstreamQuestions reads what a job of a tenant's service asks, and when the service said so; ErrNotFound when it never
// did. No questions: the service said that there is no such job.
func (db *DB) UpstreamQuestions(ctx context.Context, tenant, job string) (all []model.Question, at time.Time, err error) {
	at, err = db.readUpstream(ctx, &all, `SELECT questions, read_at FROM upstream_questions WHERE tenant = $1 AND job = $2`, tenant, job)
	return all, at, err
}

// readUpstream reads what a tenant's service said, and when it did. into stays as it is where it said that there is none.
func (db *DB) readUpstream(ctx context.Context, into any, query string, args ...any) (at time.Time, err error) {
	raw, err := rows.QueryOne(ctx, db.reads, func(r row) (raw []byte, err error) {
		return raw, r.Scan(&raw, rows.Time(&at))
	}, query, args...)
	if err != nil || raw == nil {
		return at, err
	}
	if raw, err = unwrapBody(raw); err == nil {
		err = json.Unmarshal(raw, into)
	}
	return at, err
}

// UpsertUpstreamQuestions writes what a job of a tenant's service asks; nil: there is no such job.
func (tx *Tx) UpsertUpstreamQuestions(tenant, job string, all []model.Question, now time.Time) error {
	var kept []byte
	if all != nil {
		raw, err := json.Marshal(all)
		if err != nil {
			return err
		}
		kept = wrapBody(raw)
	}
	return tx.sql.Run(`INSERT INTO upstream_questions (tenant, job, questions, read_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant, job) DO UPDATE SET questions = excluded.questions, read_at = excluded.read_at`,
		tenant, job, kept, rows.Micros(now))
}

// UpstreamNotice reads what a tenant's service says before the questions of a compliance group, and when it said so; the zero
// time: it was never asked. Nil: it has no such text.
func (db *DB) UpstreamNotice(ctx context.Context, tenant, group string) (n *model.ComplianceNotice, at time.Time, err error) {
	at, err = db.readUpstream(ctx, &n, `SELECT notice, read_at FROM upstream_notices WHERE tenant = $1 AND about = $2`, tenant, group)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return n, at, err
}

// UpsertUpstreamNotice writes what a tenant's service says before the questions of a compliance group; nil: nothing.
func (tx *Tx) UpsertUpstreamNotice(tenant, group string, n *model.ComplianceNotice, now time.Time) error {
	var kept []byte
	if n != nil {
		raw, err := json.Marshal(n)
		if err != nil {
			return err
		}
		kept = wrapBody(raw)
	}
	return tx.sql.Run(`INSERT INTO upstream_notices (tenant, about, notice, read_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant, about) DO UPDATE SET notice = excluded.notice, read_at = excluded.read_at`,
		tenant, group, kept, rows.Micros(now))
}

// deleteUpstream deletes what is known of a tenant's service.
func (tx *Tx) deleteUpstream(tenant string) error {
	return tx.sql.RunAll([]string{`DELETE FROM upstreams WHERE tenant = $1`, `DELETE FROM upstream_questions WHERE tenant = $1`,
		`DELETE FROM upstream_titles WHERE tenant = $1`, `DELETE FROM upstream_notices WHERE tenant = $1`}, tenant)
}

// DeleteUpstreamQuestions deletes, some at a time, what services said before a time.
func (tx *Tx) DeleteUpstreamQuestions(before time.Time) (int64, error) {
	return tx.sql.Exec(`DELETE FROM upstream_questions WHERE (tenant, job) IN (SELECT tenant, job FROM upstream_questions
		WHERE read_at < $1 ORDER BY read_at LIMIT 500)`, rows.Micros(before))
}
