package store

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// person is all that is held of a person, in each table.
type person struct {
	candidate   *model.Candidate
	application *model.JobApplication
	given       *model.ApplicationAnswers
	compliance  model.ComplianceAnswer
	document    *model.ApplicationDocument
	submission  *model.Submission
	content     *model.SubmissionContent
}

func personOf(id string, n int) person {
	of := model.Row{Tenant: "acme"}
	candidate, application := model.Candidate{Row: of, ID: id}, model.JobApplication{Row: of, ID: "a/" + id, Candidate: id,
		Job: "NURSE-1"}
	candidate.Email = []string{"Lovelace." + id + "@Example.org"}
	candidate.Name.Family = "Lovelace"
	return person{&candidate, &application, &model.ApplicationAnswers{Source: "Lovelace"},
		model.ComplianceAnswer{Question: "eeocVeteran", Group: "complianceVevraa", Choice: true, Value: "Lovelace"},
		&model.ApplicationDocument{Key: int64(n) + 1, Tenant: "acme", Application: "a/" + id, ID: "d-1", FileName: "Lovelace.pdf",
			Descriptions: []string{"CV of Lovelace"}, MediaType: "application/pdf", Blob: "b-" + id, SHA256: make([]byte, 32),
			CreatedAt: secretsNoon},
		&model.Submission{Key: int64(n) + 1, Tenant: "acme", ID: "s-" + id, Job: "NURSE-1", State: model.SubmissionWaiting,
			ReceivedAt: secretsNoon, NextAt: secretsNoon, TryUntil: secretsNoon},
		&model.SubmissionContent{Key: "k", Answers: []model.SubmissionAnswer{{Question: "lastName", Value: "Lovelace"},
			{Question: "resume", Blob: "sb-" + id, SHA256: make([]byte, 32)}}}}
}

func putPerson(t *testing.T, db *DB, p person) person {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		p.candidate.Row, p.application.Row = model.Row{Tenant: "acme"}, model.Row{Tenant: "acme"}
		if err := tx.UpsertCandidate(p.candidate, secretsNoon); err != nil {
			return err
		}
		if err := tx.UpsertJobApplication(p.application, secretsNoon); err != nil {
			return err
		}
		if err := tx.InsertApplicationAnswers("acme", p.application.ID, p.given); err != nil {
			return err
		}
		if err := tx.InsertComplianceAnswer(p.application, p.compliance, secretsNoon); err != nil {
			return err
		}
		if _, err := tx.InsertApplicationDocument(p.document); err != nil {
			return err
		}
		if err := tx.InsertSubmission(p.submission, p.content, p.candidate.Email[0], SubmissionLease{}); err != nil {
			return err
		}
		if _, err := tx.BeginSignIn("acme", secretsNoon, secretsNoon); err != nil {
			return err
		}
		return tx.UpdateUpstreamToken("acme", "token of Lovelace", []byte("setting"))
	}))
	p.compliance.AnsweredAt = secretsNoon
	return p
}

// requirePerson has each way to what is held of a person find it as it was.
func requirePerson(t *testing.T, db *DB, p person) {
	t.Helper()
	ctx, at := t.Context(), p.application.ID
	candidate, err := db.Candidate(ctx, "acme", p.candidate.ID)
	require.NoError(t, err)
	require.Equal(t, p.candidate, candidate)
	for _, email := range []string{p.candidate.Email[0], " lovelace." + p.candidate.ID + "@EXAMPLE.org"} {
		found, _, err := db.ListCandidates(ctx, "acme", CandidateFilter{Email: email}, Page{})
		require.NoError(t, err)
		require.Equal(t, []*model.Candidate{p.candidate}, found, email)
	}
	application, err := db.JobApplication(ctx, "acme", at)
	require.NoError(t, err)
	require.Equal(t, p.application, application)
	listed, err := db.ListJobApplications(ctx, "acme", ApplicationFilter{Candidate: p.candidate.ID, Answers: true})
	require.NoError(t, err)
	require.Equal(t, []ListedApplication{{p.application, p.given}}, listed.Items)
	given, err := db.ApplicationAnswers(ctx, "acme", at)
	require.NoError(t, err)
	require.Equal(t, p.given, given)
	answers, err := db.ListComplianceAnswers(ctx, "acme", at)
	require.NoError(t, err)
	require.Equal(t, []model.ComplianceAnswer{p.compliance}, answers)
	document, err := db.ApplicationDocument(ctx, "acme", at, "d-1")
	require.NoError(t, err)
	require.Equal(t, p.document, document)
	documents, _, err := db.ListApplicationDocuments(ctx, "acme", at, 0, 0)
	require.NoError(t, err)
	require.Equal(t, []*model.ApplicationDocument{p.document}, documents)
	submitted, err := db.ListSubmissions(ctx, "acme", SubmissionFilter{Email: " lovelace." + p.candidate.ID + "@EXAMPLE.org"})
	require.NoError(t, err)
	require.Equal(t, []*model.Submission{p.submission}, submitted)
	content, err := db.SubmissionContent(ctx, p.submission)
	require.NoError(t, err)
	require.Equal(t, p.content, content)
	u, err := db.Upstream(ctx, "acme", []byte("setting"))
	require.NoError(t, err)
	require.Equal(t, "token of Lovelace", u.Token)
	require.NoError(t, db.Write(ctx, func(tx *Tx) error {
		found, ok, err := tx.LockCandidateByEmail("acme", p.candidate.Email[0])
		require.True(t, ok)
		require.Equal(t, p.candidate, found)
		if err != nil {
			return err
		}
		documents, err := tx.LockApplicationDocuments("acme", at, 1)
		require.Equal(t, []*model.ApplicationDocument{p.document}, documents)
		return err
	}))
}

func requireCount(t *testing.T, db *DB, want int) {
	t.Helper()
	for _, job := range []string{"", "NURSE-1"} {
		counts, err := db.CountComplianceAnswers(t.Context(), "acme", job)
		require.NoError(t, err)
		require.Equal(t, []model.ComplianceCount{{Job: "NURSE-1", Group: "complianceVevraa", Question: "eeocVeteran",
			Value: "Lovelace", Count: want}}, counts)
	}
	none, err := db.CountComplianceAnswers(t.Context(), "acme", "NURSE-2")
	require.NoError(t, err)
	require.Empty(t, none)
}

// seen returns what the tables have of people, that is neither an id nor a time.
func seen(t *testing.T, db *DB) (all string) {
	t.Helper()
	for _, q := range []string{`SELECT data, email FROM candidates`, `SELECT data, '' FROM job_applications`,
		`SELECT data, '' FROM application_answers`, `SELECT data, source || api_user FROM application_list l JOIN job_applications a ON a.tenant = l.tenant AND a.id = l.id`,
		`SELECT data, word FROM search_words w JOIN candidates c ON c.id = w.id`, `SELECT value, '' FROM compliance_answers`,
		`SELECT sealed, file_name || descriptions FROM application_documents`, `SELECT content, email FROM submissions`,
		`SELECT token, '' FROM upstreams`} {
		texts, err := rows.Query(t.Context(), db.reads, func(r row) (text string, err error) {
			var kept []byte
			err = r.Scan(&kept, &text)
			return text + string(kept), err
		}, q)
		require.NoError(t, err)
		require.NotEmpty(t, texts)
		all += fmt.Sprint(texts)
	}
	return all
}

// What is held of people is sealed, and found, through changes of the key and of data keys.
func TestPeopleAreSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address, formerKey)
		require.True(t, renew(t, db, secretsNoon))
		ada := putPerson(t, db, personOf("ada", 0))
		require.True(t, renew(t, db, secretsNoon.Add(dataKeyTime)))
		bob := putPerson(t, db, personOf("bob", 1))
		changed := func() {
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
				c := *ada.candidate
				c.Name.Given = "Ada Lovelace"
				ada.candidate = &c
				return tx.UpsertCandidate(&c, secretsNoon)
			}))
		}
		changed()
		require.NotContains(t, seen(t, db), "ovelace")
		for _, p := range []person{ada, bob} {
			requirePerson(t, db, p)
		}
		requireCount(t, db, 2)
		n, err := db.SealPeople(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)

		_, err = db.Reencrypt(t.Context(), swap(t, db, newestKey, formerKey))
		require.NoError(t, err)
		require.NoError(t, db.Close())
		db, v := openSealing(t, address, newestKey)
		require.NoError(t, db.CheckSecrets(t.Context(), v))
		changed() // before the first renewal
		require.NotContains(t, seen(t, db), "ovelace")
		for _, p := range []person{ada, bob} {
			requirePerson(t, db, p)
		}
		requireCount(t, db, 2)
	})
}

// What is sealed of a person opens in its own row, and nowhere else.
func TestPeopleAreBoundToTheirRows(t *testing.T) {
	t.Parallel()
	db, _ := openSealing(t, storetest.SQLite(t), formerKey)
	require.True(t, renew(t, db, secretsNoon))
	putPerson(t, db, personOf("ada", 0))
	putPerson(t, db, personOf("bob", 1))
	for table, column := range map[string]string{"candidates": "data", "job_applications": "data", "application_answers": "data",
		"compliance_answers": "value", "application_documents": "sealed", "submissions": "content"} {
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			return tx.sql.Run(`UPDATE ` + table + ` SET ` + column + ` = (SELECT max(` + column + `) FROM ` + table + `)`)
		}))
	}
	failed := 0
	for _, id := range []string{"ada", "bob"} {
		reads := []func() error{
			func() error { _, err := db.Candidate(t.Context(), "acme", id); return err },
			func() error { _, err := db.JobApplication(t.Context(), "acme", "a/"+id); return err },
			func() error { _, err := db.ApplicationAnswers(t.Context(), "acme", "a/"+id); return err },
			func() error { _, err := db.ListComplianceAnswers(t.Context(), "acme", "a/"+id); return err },
			func() error { _, err := db.ApplicationDocument(t.Context(), "acme", "a/"+id, "d-1"); return err },
			func() error {
				_, err := db.SubmissionContent(t.Context(), personOf(id, map[string]int{"bob": 1}[id]).submission)
				return err
			},
		}
		for _, read := range reads {
			if err := read(); err != nil {
				require.ErrorIs(t, err, ErrUnreadable)
				failed++
			}
		}
	}
	require.Equal(t, 6, failed, "of each pair, one has what is the other's")
}

// What is stored plainly of people is found from the first moment on as it is, and sealed.
func TestPlainPeopleAreSealedLater(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address)
		var all []person
		for n := range secretsAtOnce + 5 {
			all = append(all, putPerson(t, db, personOf(fmt.Sprintf("p-%03d", n), n)))
		}
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { // one that can't be read
			return tx.sql.Run(`INSERT INTO candidates (tenant, id, email, data, version, created_at, updated_at)
				VALUES ('acme', 'damaged', '', $1, 1, 0, 0)`, []byte{plainBody, '{'})
		}))
		n, err := db.SealPeople(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "there is no key")
		swap(t, db, formerKey)
		require.True(t, renew(t, db, secretsNoon))
		last := len(all) - 1
		requirePerson(t, db, all[0])
		requirePerson(t, db, all[last])

		n, err = db.SealPeople(t.Context())
		require.ErrorContains(t, err, "reading a row of candidates")
		require.Equal(t, 6*len(all)+1, n, "and the token")
		n, err = db.CompleteLists(t.Context(), secretsNoon)
		require.NoError(t, err)
		require.Equal(t, 2*len(all)+1, n, "the words and the sources, and one that can't be read")
		byName, _, err := db.ListCandidates(t.Context(), "acme", CandidateFilter{Name: "lovelace"}, Page{Limit: MaxPage})
		require.NoError(t, err)
		require.Len(t, byName, len(all))
		byName, _, err = db.ListCandidates(t.Context(), "acme", CandidateFilter{Name: "lovel"}, Page{})
		require.NoError(t, err)
		require.Empty(t, byName, "of a sealed name, whole words are found")
		found, err := db.ListJobApplications(t.Context(), "acme", ApplicationFilter{Source: "Lovelace", Limit: MaxPage})
		require.NoError(t, err)
		require.Len(t, found.Items, len(all))
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			return tx.sql.Run(`DELETE FROM candidates WHERE id = 'damaged'`)
		}))
		n, err = db.SealPeople(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		require.NotContains(t, seen(t, db), "ovelace")
		for _, p := range all {
			requirePerson(t, db, p)
		}
		requireCount(t, db, len(all))
	})
}

// Nodes find what either has hashed, also when both make the search key at once.
func TestNodesShareTheSearchKey(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	one, _ := openSealing(t, address, formerKey)
	other, _ := openSealing(t, address, newestKey, formerKey)
	swap(t, one, formerKey, newestKey)
	require.True(t, renew(t, one, secretsNoon))
	require.False(t, renew(t, other, secretsNoon))
	require.True(t, other.SealsPeople())
	ada, bob := putPerson(t, one, personOf("ada", 0)), putPerson(t, other, personOf("bob", 1))
	for _, db := range []*DB{one, other} {
		requirePerson(t, db, ada)
		requirePerson(t, db, bob)
	}
	require.NoError(t, one.makeSearchKey(t.Context())) // as if it had not found the other one's
	requirePerson(t, one, bob)
	require.Equal(t, keyedHash(t, one), keyedHash(t, other))
}

// keyedHash returns the keyed hash of a word.
func keyedHash(t *testing.T, db *DB) [sha256.Size]byte {
	t.Helper()
	hash, err := db.KeyedHash(t.Context(), "cause")
	require.NoError(t, err)
	sum, err := hash("Ada Lovelace is known already")
	require.NoError(t, err)
	return sum
}

// Without a search key a hash has the id of its database as its key.
func TestKeyedHashesAreOfADatabase(t *testing.T) {
	t.Parallel()
	address := storetest.SQLite(t)
	open := func(address string) *DB {
		db, err := Open(t.Context(), address, Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	one := open(address)
	sum := keyedHash(t, one)
	require.Equal(t, sum, keyedHash(t, one))
	require.NotEqual(t, sum, keyedHash(t, open(storetest.SQLite(t))))
}
