package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// plainRow is a row of what is held of a person.
type plainRow struct {
	tenant, id, question   string
	kept                   []byte // nil: it is sealed. Of a document, its hash
	fileName, descriptions string // of a document, whose id is in question; the key of a submission's e-mail address
}

// peopleTable is a table of what is held of people.
type peopleTable struct {
	page   string // rows after a cursor, in order
	cursor func(plainRow) []any
	seal   func(*dataKeys, plainRow) (update, error)
}

var peopleTables = []peopleTable{
	{candidates.plain(), afterID, candidates.sealPlain},
	{applications.plain(), afterID, applications.sealPlain},
	{subscriptions.plain(), afterID, subscriptions.sealPlain},
	{`SELECT tenant, application, '', CASE WHEN substr(data, 1, 1) <> $3 THEN data END, '', '' FROM application_answers
		WHERE (tenant, application) > ($1, $2) ORDER BY tenant, application LIMIT $4`, afterID, sealAnswers},
	{`SELECT tenant, application, question, CASE WHEN substr(value, 1, 1) <> $4 THEN value END, '', ''
		FROM compliance_answers WHERE (tenant, application, question) > ($1, $2, $3)
		ORDER BY tenant, application, question LIMIT $5`,
		func(last plainRow) []any { return []any{last.tenant, last.id, last.question, []byte{keyedBody}} },
		sealComplianceAnswer},
	{`SELECT tenant, application, id, CASE WHEN sealed IS NULL THEN sha256 END, file_name, descriptions
		FROM application_documents WHERE (tenant, application, id) > ($1, $2, $3)
		ORDER BY tenant, application, id LIMIT $4`,
		func(last plainRow) []any { return []any{last.tenant, last.id, last.question} }, sealNames},
	{`SELECT tenant, id, '', CASE WHEN substr(content, 1, 1) <> $3 THEN content END, email, '' FROM submissions
		WHERE (tenant, id) > ($1, $2) AND content IS NOT NULL ORDER BY tenant, id LIMIT $4`, afterID, sealSubmission},
	{`SELECT tenant, '', '', CASE WHEN substr(token, 1, 1) <> $2 THEN token END, '', '' FROM upstreams
		WHERE tenant > $1 AND token IS NOT NULL ORDER BY tenant LIMIT $3`,
		func(last plainRow) []any { return []any{last.tenant, []byte{keyedBody}} }, sealUpstreamToken},
}

func afterID(last plainRow) []any { return []any{last.tenant, last.id, []byte{keyedBody}} }

// update is a statement, which changes a row that was not changed since it was read.
type update struct {
	statement string
	args      []any
	then      string // a statement on what is derived from the row, with its tenant and id; empty: nothing is
}

// SealPeople seals what is stored plainly of people, from before there was a seal_key, and returns how many rows. It
// writes a page at a time and may be interrupted and run again. A row that changes meanwhile is not changed. One that
// can't be read stays as it is; the error is that of the first. Without a search key nothing changes.
func (db *DB) SealPeople(ctx context.Context) (sealed int, err error) {
	if !db.SealsPeople() {
		return 0, nil
	}
	// Writes that began earlier, and seal nothing, end before this one, so that they are read below.
	if err := db.Write(ctx, func(*Tx) error { return nil }); err != nil {
		return 0, err
	}
	var unread error
	for _, t := range peopleTables {
		err := rows.EachPage(ctx, db.reads, func(r row) (p plainRow, err error) {
			err = r.Scan(&p.tenant, &p.id, &p.question, &p.kept, &p.fileName, &p.descriptions)
			return p, err
		}, t.cursor, secretsAtOnce, t.page, func(page []plainRow) error {
			n, skipped, err := db.sealPage(ctx, t, page)
			sealed += n
			if unread == nil {
				unread = skipped
			}
			return err
		})
		if err != nil {
			return sealed, err
		}
	}
	return sealed, unread
}

// sealPage seals the plain rows of a page in one transaction. skipped is the error of the first row that can't be read.
func (db *DB) sealPage(ctx context.Context, t peopleTable, page []plainRow) (sealed int, skipped, err error) {
	var all []update
	for _, p := range page {
		if p.kept == nil {
			continue
		}
		one, err := t.seal(&db.dataKeys, p)
		switch {
		case err == nil:
			all = append(all, one)
		case skipped == nil:
			skipped = err
		}
	}
	if len(all) == 0 {
		return 0, skipped, nil
	}
	err = db.Write(ctx, func(tx *Tx) error {
		sealed = 0
		for _, one := range all {
			changed, err := tx.sql.Changed(one.statement, one.args...)
			if err != nil {
				return err
			}
			if !changed {
				continue
			}
			sealed++
			if one.then == "" {
				continue
			}
			if err := tx.sql.Run(one.then, one.args[0], one.args[1]); err != nil {
				return err
			}
		}
		return nil
	})
	return sealed, skipped, err
}

func (c collection[T]) plain() string {
	return `SELECT tenant, id, '', CASE WHEN substr(data, 1, 1) <> $3 THEN data END, '', '' FROM ` + c.table + `
		WHERE (tenant, id) > ($1, $2) ORDER BY tenant, id LIMIT $4`
}

func (c collection[T]) sealPlain(k *dataKeys, p plainRow) (u update, err error) {
	data, err := unwrapBody(p.kept)
	if err != nil {
		return u, fmt.Errorf("reading a row of %s: %w", c.table, err)
	}
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return u, fmt.Errorf("reading a row of %s: %w", c.table, err)
	}
	_, _, values := c.of(v)
	kept, values, err := c.stored(k, p.tenant, p.id, data, values)
	if err != nil {
		return u, err
	}
	set := []string{"data = $4"}
	for n, column := range c.columns {
		set = append(set, fmt.Sprintf("%s = $%d", column, n+5))
	}
	return update{`UPDATE ` + c.table + ` SET ` + strings.Join(set, ", ") + ` WHERE tenant = $1 AND id = $2 AND data = $3`,
		append([]any{p.tenant, p.id, p.kept, kept}, values...), c.reword()}, nil
}

// reword is the statement that has CompleteLists write the words of a resource again; empty where it has none.
func (c collection[T]) reword() string {
	if c.words == nil {
		return ""
	}
	return `UPDATE ` + c.table + ` SET worded = FALSE WHERE tenant = $1 AND id = $2`
}

func sealAnswers(k *dataKeys, p plainRow) (u update, err error) {
	kept, err := k.sealPerson(answersData, personRow(p.tenant, p.id), p.kept)
	return update{`UPDATE application_answers SET data = $3 WHERE tenant = $1 AND application = $2 AND data = $4`,
		[]any{p.tenant, p.id, kept, p.kept}, `UPDATE application_list SET source = NULL, api_user = NULL WHERE tenant = $1
		AND id = $2`}, err
}

func sealComplianceAnswer(k *dataKeys, p plainRow) (u update, err error) {
	kept, err := k.sealPerson(complianceAnswer, personRow(p.tenant, p.id, p.question), p.kept)
	return update{`UPDATE compliance_answers SET value = $1 WHERE tenant = $2 AND application = $3 AND question = $4
		AND value = $5`, []any{kept, p.tenant, p.id, p.question, p.kept}, ""}, err
}

func sealSubmission(k *dataKeys, p plainRow) (u update, err error) {
	kept, err := k.sealPerson(submissionData, personRow(p.tenant, p.id), p.kept)
	if err != nil {
		return u, err
	}
	found, err := k.hashed(p.tenant, searchWord{emailWord, p.fileName})
	return update{`UPDATE submissions SET content = $3, email = $4 WHERE tenant = $1 AND id = $2 AND content = $5`,
		[]any{p.tenant, p.id, kept, found, p.kept}, ""}, err
}

func sealUpstreamToken(k *dataKeys, p plainRow) (u update, err error) {
	kept, err := k.sealPerson(upstreamToken, personRow(p.tenant), p.kept)
	return update{`UPDATE upstreams SET token = $2 WHERE tenant = $1 AND token = $3`, []any{p.tenant, kept, p.kept}, ""}, err
}

func sealNames(k *dataKeys, p plainRow) (u update, err error) {
	d := &model.ApplicationDocument{Tenant: p.tenant, Application: p.id, ID: p.question, FileName: p.fileName}
	if err := json.Unmarshal([]byte(p.descriptions), &d.Descriptions); err != nil {
		return u, fmt.Errorf("reading a row of application_documents: %w", err)
	}
	n, err := k.names(d)
	return update{`UPDATE application_documents SET sealed = $1, file_name = $2, descriptions = $3 WHERE tenant = $4
		AND application = $5 AND id = $6 AND sealed IS NULL`,
		[]any{n.sealed, n.FileName, rows.JSON(n.Descriptions), p.tenant, p.id, p.question}, ""}, err
}
