package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// ErasurePositions returns how many entries of each list of erasures were carried out in this database.
func (db *DB) ErasurePositions(ctx context.Context) (map[string]int64, error) {
	return rows.QueryMap(ctx, db.reads, func(r row) (list string, n int64, err error) {
		return list, n, r.Scan(&list, &n)
	}, `SELECT list, position FROM erasure_lists`)
}

// SetErasurePosition stores that all entries of a list of erasures up to a number were carried out.
func (tx *Tx) SetErasurePosition(list string, number int64) error {
	return tx.sql.Run(`INSERT INTO erasure_lists (list, position) VALUES ($1, $2)
		ON CONFLICT (list) DO UPDATE SET position = excluded.position WHERE erasure_lists.position < excluded.position`,
		list, number)
}

// AdvanceErasures stores that an entry of a list of erasures is carried out, unless one before it is not. The next start
// carries those out again.
func (tx *Tx) AdvanceErasures(list string, number int64) error {
	return tx.sql.Run(`UPDATE erasure_lists SET position = $1 WHERE list = $2 AND position = $1 - 1`, number, list)
}

// Held is something that is held of a candidate.
type Held struct {
	ID        int64 // of an export
	Tenant    string
	Key       string // of an export
	Candidate string
	At        time.Time // when it was stored
}

// EachUnerased calls do with the exports that have content, a page at a time.
func (db *DB) EachUnerased(ctx context.Context, do func([]Held) error) error {
	return rows.EachPage(ctx, db.reads, func(r row) (h Held, err error) {
		return h, r.Scan(&h.ID, &h.Tenant, &h.Key, &h.Candidate, rows.Time(&h.At))
	}, func(h Held) []any { return []any{h.ID} }, MaxPage, `SELECT id, tenant, key, candidate_id, received_at
		FROM exports WHERE erased_at IS NULL AND id > $1 ORDER BY id LIMIT $2`, do)
}

// EachCandidate calls do with the candidates of all tenants, a page at a time.
func (db *DB) EachCandidate(ctx context.Context, do func([]Held) error) error {
	return rows.EachPage(ctx, db.reads, func(r row) (h Held, err error) {
		return h, r.Scan(&h.Tenant, &h.Candidate, rows.Time(&h.At))
	}, func(h Held) []any { return []any{h.Tenant, h.Candidate} }, MaxPage, `SELECT tenant, id, created_at
		FROM candidates WHERE (tenant, id) > ($1, $2) ORDER BY tenant, id LIMIT $3`, do)
}

// ListFiles lists the names of the files of an export's documents.
func (tx *Tx) ListFiles(export int64) ([]string, error) {
	return rows.QueryTx(tx.sql, rows.Value[string], `SELECT DISTINCT blob FROM documents WHERE export_id = $1
		AND blob <> '' ORDER BY blob`, export)
}

// ErasedCandidate counts the rows that EraseCandidate erased.
type ErasedCandidate struct {
	Candidate    bool
	Applications []*model.JobApplication
	Documents    []*model.ApplicationDocument
	Answered     int64 // job applications with answers
	Compliance   int64 // answers to questions of compliance groups
	Transitions  int64
}

// Files returns the names of the documents' files.
func (e *ErasedCandidate) Files() (names []string) {
	for _, d := range e.Documents {
		names = append(names, d.Blob)
	}
	return names
}

// EraseCandidate deletes what was stored of a candidate up to a time: the job applications with all that belongs to them,
// and the candidate, unless a later job application is there. Errors: ErrStale when another request changed one of them.
func (tx *Tx) EraseCandidate(tenant, id string, stored, now time.Time) (erased ErasedCandidate, err error) {
	all, err := applications.rows(tx, ` AND candidate = $2 ORDER BY id`, tenant, id)
	if err != nil {
		return erased, err
	}
	for _, a := range all {
		if a.CreatedAt.After(stored) {
			continue
		}
		if err := tx.DeleteJobApplication(a); err != nil {
			return erased, err
		}
		if err := tx.clearJobApplication(a, now, &erased); err != nil {
			return erased, err
		}
		erased.Applications = append(erased.Applications, a)
	}
	c, ok, err := tx.Candidate(tenant, id)
	if err != nil || !ok || c.CreatedAt.After(stored) || len(erased.Applications) < len(all) {
		return erased, err
	}
	erased.Candidate = true
	return erased, tx.eraseAlone(c, now)
}

// eraseAlone deletes a candidate who has no job application. ErrStale when one was being added.
func (tx *Tx) eraseAlone(c *model.Candidate, now time.Time) error {
	if err := tx.DeleteCandidate(c); err != nil {
		return err
	}
	tx.TellCandidateErased(c, now)
	// Only now: the deletion waited for those on other nodes who were adding a job application.
	left, err := tx.ListJobApplicationsOf(c.Tenant, c.ID, 1)
	if err == nil && len(left) > 0 {
		err = ErrStale
	}
	return err
}

// ClearJobApplication removes what belongs to a job application that has just been deleted: documents, answers, history
// and further versions.
func (tx *Tx) ClearJobApplication(a *model.JobApplication, now time.Time) error {
	if a.VersionOf == "" {
		versions, err := applications.rows(tx, ` AND version_of = $2 ORDER BY id`, a.Tenant, a.ID)
		if err != nil {
			return err
		}
		for _, v := range versions {
			if err := tx.DeleteJobApplication(v); err != nil {
				return err
			}
			if err := tx.clearJobApplication(v, now, new(ErasedCandidate)); err != nil {
				return err
			}
		}
	} else {
		first, ok, err := tx.JobApplication(a.Tenant, a.VersionOf)
		if err == nil && ok && first.Chosen == a.ID {
			first.Chosen = ""
			err = tx.UpsertJobApplication(first, now)
		}
		if err != nil {
			return err
		}
	}
	return tx.clearJobApplication(a, now, new(ErasedCandidate))
}

func (tx *Tx) clearJobApplication(a *model.JobApplication, now time.Time, erased *ErasedCandidate) error {
	tx.applicationChanged(a.Tenant, a.ID, now)
	if a.VersionOf == "" {
		tx.change(a.Tenant, model.ApplicationErased, a.ID, now)
	} else {
		tx.change(a.Tenant, model.ApplicationChanged, a.VersionOf, now)
	}
	for _, one := range []struct {
		table string
		n     *int64
	}{{"application_answers", &erased.Answered}, {"compliance_answers", &erased.Compliance},
		{"transitions", &erased.Transitions}} {
		n, err := tx.sql.Exec(`DELETE FROM `+one.table+` WHERE tenant = $1 AND application = $2`, a.Tenant, a.ID)
		if err != nil {
			return err
		}
		*one.n += n
	}
	if err := tx.sql.Run(`DELETE FROM export_triggers WHERE tenant = $1 AND application = $2`, a.Tenant, a.ID); err != nil {
		return err
	}
	for {
		all, err := tx.ListApplicationDocuments(a.Tenant, a.ID, MaxPage)
		if err != nil || len(all) == 0 {
			return err
		}
		for _, d := range all {
			if _, err := tx.DeleteApplicationDocument(a.Tenant, a.ID, d.ID, now); err != nil {
				return err
			}
		}
		erased.Documents = append(erased.Documents, all...)
	}
}
