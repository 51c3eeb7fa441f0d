package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/text/cases"

	"github.com/hiregate/hiregate/internal/database"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// A list of job applications by time is followed with a cursor: a position. So no position may appear behind one that
// was read. Times and ids are no such positions: they are taken when a request begins, and whoever takes one first may
// commit last. A transaction takes its positions last, from a row of its tenant that it holds until it has ended: a
// tenant's transactions commit in the order of their positions, on whatever node.

// applicationChange says what of a job application goes into the list.
type applicationChange struct {
	at              time.Time
	erased          bool
	imported        bool // nobody is told
	source, apiUser any  // as they are stored; empty: unchanged, nil: they are read later
}

// applicationChanges collects what the closures of a transaction change: by the tenant, in the order of the changes.
type applicationChanges struct {
	ofTenant map[string]*tenantChanges
}

type tenantChanges struct {
	ids       []string
	changes   map[string]*applicationChange
	events    []*model.ChangeEvent
	forgotten int64 // the position of the last erased id that is not listed any more; 0: none
}

func (tx *Tx) tenantChanges(tenant string) *tenantChanges {
	all := tx.sql.Collect("application list", func() database.Collection {
		return &applicationChanges{map[string]*tenantChanges{}}
	}).(*applicationChanges)
	if all.ofTenant[tenant] == nil {
		all.ofTenant[tenant] = &tenantChanges{changes: map[string]*applicationChange{}}
	}
	return all.ofTenant[tenant]
}

// applicationChanged has the list show that a job application, or what belongs to it, changed at a time.
func (tx *Tx) applicationChanged(tenant, id string, at time.Time) *applicationChange {
	pending := tx.tenantChanges(tenant)
	c := pending.changes[id]
	if c == nil {
		c = &applicationChange{source: "", apiUser: ""}
		pending.changes[id] = c
		pending.ids = append(pending.ids, id)
	}
	if at.After(c.at) {
		c.at = at
	}
	return c
}

// Writes implements database.Collection. Nodes take the positions of the same tenants: they do so last in their
// transactions, and in the same order, so that they don't deadlock.
func (b *applicationChanges) Writes() (all []func(*database.Tx) error) {
	for _, tenant := range slices.Sorted(maps.Keys(b.ofTenant)) {
		pending := b.ofTenant[tenant]
		all = append(all, func(tx *database.Tx) error { return pending.write(tx, tenant) })
	}
	return all
}

const (
	takePositions = `INSERT INTO application_positions (tenant, last, forgotten) VALUES ($1, $2, $4)
		ON CONFLICT (tenant) DO UPDATE SET
		last = CASE WHEN application_positions.last + $3 > excluded.last THEN application_positions.last + $3
			ELSE excluded.last END,
		forgotten = CASE WHEN application_positions.forgotten > excluded.forgotten THEN application_positions.forgotten
			ELSE excluded.forgotten END
		RETURNING last`
	listApplication = `INSERT INTO application_list (tenant, id, stored, changed, candidate, job, step, ended, unentered, kept_from,
		keep_until, source, api_user)
		SELECT tenant, id, CAST($3 AS BIGINT), CAST($3 AS BIGINT), candidate, job, step, ended, unentered, kept_from, keep_until,
		CAST($4 AS TEXT), CAST($5 AS TEXT)
		FROM job_applications WHERE tenant = $1 AND id = $2 AND version_of = ''
		ON CONFLICT (tenant, id) DO UPDATE SET stored = COALESCE(application_list.stored, excluded.stored),
		changed = excluded.changed, candidate = excluded.candidate, job = excluded.job, step = excluded.step,
		ended = excluded.ended, unentered = excluded.unentered, kept_from = excluded.kept_from, keep_until = excluded.keep_until,
		source = COALESCE(NULLIF(excluded.source, ''), application_list.source),
		api_user = COALESCE(NULLIF(excluded.api_user, ''), application_list.api_user)`
	listErased = `INSERT INTO application_list (tenant, id, stored, changed, candidate, job, step, source, api_user)
		VALUES ($1, $2, NULL, $3, '', '', '', '', '')
		ON CONFLICT (tenant, id) DO UPDATE SET stored = NULL, changed = excluded.changed, candidate = '', job = '',
		step = '', ended = '', unentered = FALSE, kept_from = NULL, keep_until = 0, source = '', api_user = ''`
)

func (pending *tenantChanges) write(tx *database.Tx, tenant string) error {
	var at time.Time
	for _, c := range pending.changes {
		if c.at.After(at) {
			at = c.at
		}
	}
	for _, e := range pending.events {
		if e.At.After(at) {
			at = e.At
		}
	}
	first, count := int64(1), int64(len(pending.ids)+len(pending.events))
	if !at.IsZero() {
		first = model.FirstID(at)
	}
	var last int64
	if _, err := tx.Scan([]any{&last}, takePositions, tenant, first+count-1, count, pending.forgotten); err != nil {
		return err
	}
	for n, id := range pending.ids {
		position, c := last-count+1+int64(n), pending.changes[id]
		var err error
		if c.erased {
			err = tx.Run(listErased, tenant, id, position)
		} else {
			err = tx.Run(listApplication, tenant, id, position, c.source, c.apiUser)
		}
		if err != nil {
			return err
		}
	}
	return pending.writeEvents(tx, tenant, last-int64(len(pending.events))+1)
}

// Words by which job applications are found, beside plain ids.
const (
	sourceWord  = "source"
	apiUserWord = "API user"
)

// listedAnswers returns the source and the API user of a job application as the list has them.
func (k *dataKeys) listedAnswers(tenant, source, apiUser string) (_, _ string, err error) {
	source, err = k.hashed(tenant, searchWord{sourceWord, model.CandidateKey(source)})
	if err != nil {
		return "", "", err
	}
	apiUser, err = k.hashed(tenant, searchWord{apiUserWord, model.CandidateKey(cases.Fold().String(apiUser))})
	return source, apiUser, err
}

// resourceRef names a resource.
type resourceRef struct{ tenant, id string }

func scanResourceRef(r row) (a resourceRef, err error) {
	err = r.Scan(&a.tenant, &a.id)
	return a, err
}

// CompleteLists completes the lists of job applications, with those that a release from before the lists wrote and with
// the source and the API user of those whose answers were not read yet, from when their retention counts, and the words of
// candidates and jobs. It returns
// how many it completed, and writes a page at a time.
func (db *DB) CompleteLists(ctx context.Context, now time.Time) (completed int, err error) {
	for _, one := range []struct {
		q  string
		do func(*Tx, resourceRef) error
	}{
		{`SELECT tenant, id FROM job_applications WHERE NOT listed ORDER BY tenant, id LIMIT $1`,
			func(tx *Tx, a resourceRef) error {
				c := tx.applicationChanged(a.tenant, a.id, now)
				c.source, c.apiUser = nil, nil
				return tx.sql.Run(`UPDATE job_applications SET listed = TRUE WHERE tenant = $1 AND id = $2`, a.tenant, a.id)
			}},
		{`SELECT tenant, id FROM application_list WHERE source IS NULL ORDER BY tenant, id LIMIT $1`,
			(*Tx).listAnswers},
		{`SELECT tenant, id FROM application_list WHERE kept_from IS NULL AND stored IS NOT NULL ORDER BY tenant, id LIMIT $1`,
			(*Tx).listKeptFrom},
		{candidates.unworded(), candidates.complete},
		{jobs.unworded(), jobs.complete},
	} {
		for n := secretsAtOnce; n == secretsAtOnce; completed += n {
			page, err := rows.Query(ctx, db.reads, scanResourceRef, one.q, secretsAtOnce)
			if n = len(page); err != nil || n == 0 {
				if err != nil {
					return completed, err
				}
				break
			}
			err = db.Write(ctx, func(tx *Tx) error {
				for _, a := range page {
					if err := one.do(tx, a); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return completed, err
			}
		}
	}
	return completed, nil
}

// listAnswers reads the answers of a job application for the list. Those that can't be read are found by nothing.
func (tx *Tx) listAnswers(a resourceRef) error {
	sent, err := tx.applicationAnswers(a.tenant, a.id)
	if err := ignoreUnreadable(err); err != nil {
		return err
	}
	if sent == nil {
		sent = new(model.ApplicationAnswers)
	}
	source, apiUser, err := tx.db.dataKeys.listedAnswers(a.tenant, sent.Source, sent.APIUser)
	if err != nil {
		return err
	}
	return tx.sql.Run(`UPDATE application_list SET source = $3, api_user = $4 WHERE tenant = $1 AND id = $2
		AND source IS NULL`, a.tenant, a.id, source, apiUser)
}

// ignoreUnreadable returns an error unless it says that a row can't be read, which another try changes nothing about.
func ignoreUnreadable(err error) error {
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrSealed) {
		return err
	}
	return nil
}

// forgetErased is how many erased ids ForgetErased removes at once.
const forgetErased = 500

// ForgetErased removes the ids of up to 500 job applications that were erased before a time from the lists, and returns
// how many.
func (tx *Tx) ForgetErased(before time.Time) (int64, error) {
	type erased struct {
		resourceRef
		changed int64
	}
	all, err := rows.QueryTx(tx.sql, func(r row) (e erased, err error) {
		err = r.Scan(&e.tenant, &e.id, &e.changed)
		return e, err
	}, `SELECT tenant, id, changed FROM application_list WHERE stored IS NULL AND changed < $1 ORDER BY changed LIMIT $2`,
		model.FirstID(before), forgetErased)
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		pending := tx.tenantChanges(e.tenant)
		pending.forgotten = max(pending.forgotten, e.changed)
		if err := tx.sql.Run(`DELETE FROM application_list WHERE tenant = $1 AND id = $2 AND stored IS NULL
			AND changed = $3`, e.tenant, e.id, e.changed); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), nil
}
