package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertApplicationAnswers inserts what came with a job application.
func (tx *Tx) InsertApplicationAnswers(tenant, application string, s *model.ApplicationAnswers) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	kept, err := tx.db.dataKeys.wrapPerson(answersData, personRow(tenant, application), data)
	if err != nil {
		return err
	}
	c := tx.applicationChanged(tenant, application, time.Time{})
	if c.source, c.apiUser, err = tx.db.dataKeys.listedAnswers(tenant, s.Source, s.APIUser); err != nil {
		return err
	}
	return tx.sql.Run(`INSERT INTO application_answers (tenant, application, data) VALUES ($1, $2, $3)`,
		tenant, application, kept)
}

// InsertComplianceAnswer inserts an answer to a question of a compliance group.
func (tx *Tx) InsertComplianceAnswer(a *model.JobApplication, c model.ComplianceAnswer, now time.Time) error {
	kept, err := tx.db.dataKeys.wrapPerson(complianceAnswer, personRow(a.Tenant, a.ID, c.Question), []byte(c.Value))
	if err != nil {
		return err
	}
	return tx.sql.Run(`INSERT INTO compliance_answers (tenant, application, question, job, compliance, choice, value,
		answered_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		a.Tenant, a.ID, c.Question, a.Job, c.Group, c.Choice, kept, rows.Micros(now))
}

// UpdateComplianceJob counts an application's compliance answers with the job that it is for now.
func (tx *Tx) UpdateComplianceJob(a *model.JobApplication) error {
	return tx.sql.Run(`UPDATE compliance_answers SET job = $3 WHERE tenant = $1 AND application = $2`,
		a.Tenant, a.ID, a.Job)
}

// ApplicationAnswers reads what came with a job application; ErrNotFound when it came from elsewhere.
func (db *DB) ApplicationAnswers(ctx context.Context, tenant, application string) (*model.ApplicationAnswers, error) {
	kept, err := rows.QueryOne(ctx, db.reads, scanAnswers, selectAnswers+`= $2`, tenant, application)
	if err != nil {
		return nil, err
	}
	return kept.open(db.opening(ctx), tenant)
}

const selectAnswers = `SELECT application, data FROM application_answers WHERE tenant = $1 AND application `

// keptAnswers are the answers of a job application as they lie in their row.
type keptAnswers struct {
	application string
	data        []byte
}

func scanAnswers(r row) (k keptAnswers, err error) {
	err = r.Scan(&k.application, &k.data)
	return k, err
}

func (k keptAnswers) open(with opening, tenant string) (*model.ApplicationAnswers, error) {
	data, err := unwrapPerson(with, answersData, personRow(tenant, k.application), k.data)
	if err != nil {
		return nil, err
	}
	s := new(model.ApplicationAnswers)
	return s, json.Unmarshal(data, s)
}

// applicationAnswers is DB.ApplicationAnswers within a transaction; nil when there are none.
func (tx *Tx) applicationAnswers(tenant, application string) (*model.ApplicationAnswers, error) {
	kept, there, err := rows.First(rows.QueryTx(tx.sql, scanAnswers, selectAnswers+`= $2`, tenant, application))
	if err != nil || !there {
		return nil, err
	}
	return kept.open(tx.openPart, tenant)
}

// ListComplianceAnswers lists what was answered to the compliance groups' questions with a job application.
func (db *DB) ListComplianceAnswers(ctx context.Context, tenant, application string) ([]model.ComplianceAnswer, error) {
	var kept [][]byte
	all, err := rows.Query(ctx, db.reads, func(r row) (a model.ComplianceAnswer, err error) {
		var value []byte
		err = r.Scan(&a.Question, &a.Group, &a.Choice, &value, rows.Time(&a.AnsweredAt))
		kept = append(kept, value)
		return a, err
	}, `SELECT question, compliance, choice, value, answered_at FROM compliance_answers WHERE tenant = $1
		AND application = $2 ORDER BY compliance, question`, tenant, application)
	if err != nil {
		return nil, err
	}
	for n, a := range all {
		value, err := unwrapPerson(db.opening(ctx), complianceAnswer, personRow(tenant, application, a.Question), kept[n])
		if err != nil {
			return nil, err
		}
		all[n].Value = string(value)
	}
	return all, nil
}

// CountComplianceAnswers counts the choices of a tenant's applicants: for one job, or for each when it is empty. What
// is no choice, such as a signature, is not read. Each sealed answer is opened: by a hash of it, one could see in the
// database who answered the same.
func (db *DB) CountComplianceAnswers(ctx context.Context, tenant, job string) ([]model.ComplianceCount, error) {
	type answer struct {
		of          model.ComplianceCount
		application string
		kept        []byte
	}
	open, counts := db.opening(ctx), map[model.ComplianceCount]int{}
	err := rows.EachPage(ctx, db.reads, func(r row) (a answer, err error) {
		err = r.Scan(&a.of.Job, &a.of.Group, &a.of.Question, &a.application, &a.kept)
		return a, err
	}, func(last answer) []any { return []any{tenant, true, job, last.application, last.of.Question} }, MaxPage,
		`SELECT job, compliance, question, application, value FROM compliance_answers WHERE tenant = $1 AND choice = $2
			AND ($3 = '' OR job = $3) AND (application, question) > ($4, $5) ORDER BY application, question LIMIT $6`,
		func(page []answer) error {
			for _, a := range page {
				value, err := unwrapPerson(open, complianceAnswer, personRow(tenant, a.application, a.of.Question), a.kept)
				if err != nil {
					return err
				}
				a.of.Value = string(value)
				counts[a.of]++
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	all := make([]model.ComplianceCount, 0, len(counts))
	for answer, count := range counts {
		answer.Count = count
		all = append(all, answer)
	}
	slices.SortFunc(all, func(a, b model.ComplianceCount) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Question, b.Question),
			cmp.Compare(a.Value, b.Value))
	})
	return all, nil
}
