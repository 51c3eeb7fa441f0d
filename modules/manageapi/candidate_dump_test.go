package manageapi_test

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// ofPerson are the tables that hold data of candidates, with the columns that a dump leaves out.
var ofPerson = map[string][]string{
	"candidates":            {"email"}, // folded, to be found by
	"job_applications":      nil,
	"application_documents": {"blob"}, // the name of the file, whose content the dump has
	"application_answers":   nil,
	"search_words":          {"word", "kind"},                  // folded, to be found by
	"application_list":      {"api_user", "stored", "changed"}, // folded, to be found by; places in lists
	"compliance_answers":    {"job"},                           // the application has it
	"transitions":           nil,
	"exports":               {"receipt", "origin", "integrations", "deliver_till"}, // a credential; words and a plan of ours
	"export_bodies":         {"checksum"},
	"outgoing_bodies":       {"checksum", "documents"}, // a word of ours, which is in the file's name
	"documents":             {"blob", "checksum"},
	"deliveries":            {"documents", "fault", "next_at"}, // words and a plan of ours
	"attempts":              nil,
	"submissions":           {"email", "lease", "content", "last_attempts"}, // folded, to be found by; whose attempt it is; see below; of ours
	"submission_files":      {"blob"},                                       // as of documents
	"audit":                 nil,
}

// ofNobody are the other tables: what they hold is of tenants, staff and partners, or leads nowhere without the tables
// above.
var ofNobody = strings.Fields(`acknowledgements answer_refusals application_positions application_retention api_keys api_tokens api_users catch_ups console_sessions consents data_keys erasure_lists
	directory document_links event_subscriptions events export_triggers goose_db_version grants heartbeat idempotency identity integration_health integration_hours
	integration_states integrations jobs leases logout_tokens notification_conditions notification_counts notifications
	oauth_clients oauth_secrets portal_links quarters redeliveries refused_signatures remarks schema_steps secret_uses sessions
	signin_log signin_refusals signing_keys steps tenants tokens unkeyed_bodies uploads upstream_accounts upstream_notices upstream_questions upstream_sessions upstream_titles upstream_visits upstreams
	users waiting sqlite_sequence sqlite_stat1 sqlite_stat4`)

// fill stores something of a person in each table that holds data of candidates. Each value has the word in it.
func (b *fixture) fill(id, word string) {
	b.t.Helper()
	at := acme + "/job-applications/a-" + id
	b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/"+id, fmt.Sprintf(`{"name":{"given":"given-%[1]s",
		"family":"family-%[1]s"},"email":["mail-%[1]s@example.org","second-%[1]s@example.org"],"phone":["phone-%[1]s"],
		"alternateIds":["legacy-%[1]s"],"gender":"gender-%[1]s","address":[{"city":"city-%[1]s"}],
		"customFields":[{"id":"f","name":"field","type":"text","value":"custom-%[1]s"}]}`, word))
	b.must(http.StatusCreated, http.MethodPut, at, fmt.Sprintf(`{"candidate":%q,"jobBoardCode":"NURSE-1",
		"education":[{"educationLevelCodes":["level-%s"]}]}`, id, word))
	b.must(http.StatusCreated, http.MethodPost, at+"/transitions", `{"step":"hired"}`)
	b.must(http.StatusCreated, http.MethodPost, at+"/documents?id=d-"+word+"&fileName="+word+".pdf&description=about-"+word,
		"%PDF-1.7 resume-"+word, "Content-Type", "application/pdf")

	e := b.export("acme", "u-"+word, func(e *model.Export) {
		e.CandidateID, e.Body = id, []byte(`{"candidate":{"name":"received-`+word+`"}}`)
		e.Link, e.ExportContext = []byte("<https://"+word+".example/>"), []byte("context-"+word)
		e.Findings = []byte(`[{"pointer":"/at-` + word + `","rule":"r","found":"finding-` + word + `"}]`)
	})
	b.delivery(e, "hris", model.Delivered, 500, 200)
	many := b.delivery(e, "crm", model.Retrying)
	file, sent := b.file("fetched-"+word), b.file("sent-"+word)
	b.Write(b.t, func(tx *store.Tx) error {
		application := &model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: "a-" + id, Job: "NURSE-1"}
		if err := tx.InsertApplicationAnswers("acme", application.ID, &model.ApplicationAnswers{Source: "source-" + word,
			Answers: []model.Given{{Question: "q", Label: "Why here?", Format: "Text", Values: []string{"answer-" + word}}},
		}); err != nil {
			return err
		}
		if err := tx.InsertComplianceAnswer(application, model.ComplianceAnswer{Question: "eeocVeteran",
			Group: "complianceVevraa", Choice: true, Value: "veteran-" + word}, gatewaytest.Noon); err != nil {
			return err
		}
		for n := range 250 {
			if err := tx.InsertAttempt(&model.Attempt{DeliveryID: many.ID, StartedAt: gatewaytest.Noon, Status: 503,
				Answer: fmt.Appendf(nil, "answer %d to %s", n, word), Address: "192.0.2.1:443"}); err != nil {
				return err
			}
		}
		for _, mode := range []model.DocumentMode{model.Rehost, model.Inline, model.Passthrough} {
			body := store.NewKeptBody(0)
			fmt.Fprintf(body, `{"candidate":"%s-%s"}`, mode, word)
			if _, err := tx.InsertOutgoing(e.ID, mode, body); err != nil {
				return err
			}
		}
		submission := &model.Submission{Key: model.NewID(gatewaytest.Noon), Tenant: "acme", ID: "s-" + word, Job: "NURSE-1",
			State: model.SubmissionWaiting, ReceivedAt: gatewaytest.Noon, TryUntil: gatewaytest.Noon}
		if err := tx.InsertSubmission(submission, &model.SubmissionContent{Answers: []model.SubmissionAnswer{
			{Question: "q", Value: "submitted-" + word},
			{Question: "resume", Blob: sent.Name, Size: sent.Size, SHA256: sent.SHA256[:]}},
		}, "mail-"+word+"@example.org", store.SubmissionLease{}); err != nil {
			return err
		}
		return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", CreatedAt: gatewaytest.Noon})
	})
	stored, err := b.Runtime.Store().ListDocuments(b.t.Context(), e.ID)
	require.NoError(b.t, err)
	d := stored[0]
	d.State, d.Blob, d.SHA256, d.Size, d.Declared, d.FileName, d.FetchedAt = model.Fetched, file.Name, file.SHA256[:],
		file.Size, "text/plain", "name-"+word+".txt", gatewaytest.Noon
	b.Write(b.t, func(tx *store.Tx) error {
		_, err := tx.UpdateDocument(d)
		return err
	})
	b.must(http.StatusOK, http.MethodPost, acme+"/exports/u-"+word+"/body", "")
}

// file stores a file.
func (b *fixture) file(content string) documents.Blob {
	b.t.Helper()
	archive := b.Runtime.Archive
	name, err := archive.BeginUpload(b.t.Context())
	require.NoError(b.t, err)
	blob, err := archive.Files.Put(b.t.Context(), name, strings.NewReader(content), documents.MaxSize)
	require.NoError(b.t, err)
	return blob
}

// dumped runs the command, and returns what the files have, by their names.
func (b *fixture) dumped(id string) map[string]string {
	b.t.Helper()
	folder := filepath.Join(b.t.TempDir(), "dump")
	out, _, err := b.cli("candidate", "dump", "acme/"+id, "-o", folder)
	require.NoError(b.t, err)
	files := map[string]string{}
	require.NoError(b.t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(b.t, err)
		info, err := entry.Info()
		require.NoError(b.t, err)
		require.Zero(b.t, info.Mode().Perm()&0o077, path)
		if entry.IsDir() {
			return nil
		}
		raw, err := os.ReadFile(path)
		require.NoError(b.t, err)
		name, err := filepath.Rel(folder, path)
		files[filepath.ToSlash(name)] = string(raw)
		return err
	}))
	var index api.DumpIndex
	require.NoError(b.t, json.Unmarshal([]byte(files[api.DumpIndexName]), &index))
	require.Len(b.t, index.Files, len(files)-1)
	require.Contains(b.t, out, fmt.Sprintf("has %d files", len(index.Files)))
	for _, f := range index.Files {
		require.Contains(b.t, files, f.Name)
	}
	return files
}

// Each text and each time in each table that holds data of candidates is in the dump of the one whose it is, and nothing
// of anybody else.
func TestDumpHasAllThatIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.must(http.StatusNoContent, http.MethodDelete, application, "")
	b.must(http.StatusNoContent, http.MethodDelete, acme+"/candidates/c-1", "")
	b.fill("c-zoe", "zoepark")
	files := b.dumped("c-zoe")
	has := newHaystack(files)

	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.Folder, "hiregate.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer db.Close()
	for _, table := range textsIn(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table'`) {
		left, ours := ofPerson[table]
		if !ours {
			require.Contains(t, ofNobody, table, "does it hold data of candidates? Then the dump has to have it")
			continue
		}
		rows := rowsOf(t, db, table)
		require.NotEmpty(t, rows, table)
		for _, row := range rows {
			if object, _ := row["object"].(string); table == "audit" && !strings.Contains(object, "zoe") {
				continue // of the tenant's steps and jobs
			}
			if stored, listed := row["stored"]; table == "application_list" && listed && stored == nil {
				continue // the id of one that was erased
			}
			for _, column := range left {
				delete(row, column)
			}
			for column, value := range row {
				for _, text := range textsOf(t, value) {
					assert.True(t, has(text), "%s.%s: %q is not in the dump", table, column, text)
				}
			}
		}
	}

	b.fill("c-other", "otherperson")
	for name, content := range b.dumped("c-zoe") {
		require.NotContains(t, content, "otherperson", name)
	}
	require.Equal(t, "%PDF-1.7 resume-zoepark", files["applications/0001/documents/0001.pdf"])
	require.Equal(t, `{"candidate":{"name":"received-zoepark"}}`, files["exports/0001/received.json"])
	require.Contains(t, files["submissions/0001/content.json"], "submitted-zoepark")
	require.Equal(t, "sent-zoepark", files["submissions/0001/files/0002.txt"])
	require.Contains(t, files["applications/0001/compliance-answers.json"], `"label"`)
}

// newHaystack returns whether a text is in any of the files, as such or within a JSON string.
func newHaystack(files map[string]string) func(text string) bool {
	var all strings.Builder
	for _, content := range files {
		all.WriteString(content + "\n")
		var v any
		if json.Unmarshal([]byte(content), &v) == nil {
			for _, leaf := range leaves(v) {
				all.WriteString(leaf + "\n")
			}
		}
	}
	whole := all.String()
	return func(text string) bool { return strings.Contains(whole, text) }
}

func leaves(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			all = append(all, leaves(one)...)
		}
	case map[string]any:
		for _, one := range v {
			all = append(all, leaves(one)...)
		}
	}
	return all
}

// textsOf returns the texts of a stored value: those in its JSON, if it is that, and times as JSON has them.
func textsOf(t *testing.T, value any) []string {
	t.Helper()
	switch v := value.(type) {
	case int64:
		if time.UnixMicro(v).Year() == gatewaytest.Noon.Year() {
			return []string{time.UnixMicro(v).UTC().Format(time.RFC3339Nano)}
		}
	case string:
		return jsonTexts([]byte(v))
	case []byte:
		switch {
		case len(v) == 32: // a hash
			return []string{hex.EncodeToString(v)}
		case len(v) > 0 && v[0] == 1:
			return jsonTexts(v[1:])
		case len(v) > 0 && v[0] == 2:
			raw, err := s2.Decode(nil, v[1:])
			require.NoError(t, err)
			return jsonTexts(raw)
		}
		return jsonTexts(v)
	}
	return nil
}

func jsonTexts(raw []byte) []string {
	var v any
	if json.Unmarshal(raw, &v) == nil {
		return leaves(v)
	}
	return strings.Split(string(raw), "\n")
}

func textsIn(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		all = append(all, text)
	}
	require.NoError(t, rows.Err())
	return all
}

func rowsOf(t *testing.T, db *sql.DB, table string) (all []map[string]any) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT * FROM `+table)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for n := range values {
			into[n] = &values[n]
		}
		require.NoError(t, rows.Scan(into...))
		row := map[string]any{}
		for n, column := range columns {
			row[column] = values[n]
		}
		all = append(all, row)
	}
	require.NoError(t, rows.Err())
	return all
}

// What is sealed is opened for a dump, and is nowhere in the file of the database.
func TestDumpOfWhatIsSealed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sealer, err := vault.New("a text of more than thirty-two characters")
	require.NoError(t, err)
	address := storetest.SQLite(t)
	database := &gateway.Database{Address: address}
	database.AddVault(sealer)
	b.Gateway = onDatabase(t, b, database)
	b.Gateway.Vault = sealer
	b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
	require.NoError(t, b.Gateway.Start(t.Context())) // makes the data key
	b.people()
	b.fill("c-zoe", "zoepark")
	has := newHaystack(b.dumped("c-zoe"))
	for _, text := range []string{"received-zoepark", "context-zoepark", "name-zoepark.txt", "fetched-zoepark",
		"answer 0 to zoepark", "answer 249 to zoepark", gatewaytest.Answered, "veteran-zoepark", "rehost-zoepark",
		"submitted-zoepark", "sent-zoepark"} {
		require.True(t, has(text), text)
	}

	var raw []byte
	for _, suffix := range []string{"", "-wal"} {
		part, err := os.ReadFile(strings.TrimPrefix(address, "sqlite://") + suffix)
		require.NoError(t, err)
		raw = append(raw, part...)
	}
	require.Contains(t, string(raw), "u-zoepark", "ids are plain")
	for _, text := range strings.Fields(`given-zoepark family-zoepark mail-zoepark second-zoepark phone-zoepark legacy-zoepark
		gender-zoepark city-zoepark custom-zoepark level-zoepark source-zoepark answer-zoepark veteran-zoepark
		about-zoepark zoepark.pdf name-zoepark resume-zoepark received-zoepark submitted-zoepark`) {
		require.True(t, has(text) || text == "zoepark.pdf", text)
		require.NotContains(t, string(raw), text)
	}
}

// A dump is for whoever may do everything on the gateway's machine: no key and no person gets one. The audit and the log
// say whose was made.
func TestDumpIsForTheCommandLineAlone(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.people()
		keyed := b.keyed()
		admin := keyed.as(keyed.key("k-1", "", model.Admin))
		people := b.mount("/people", manageapi.NewForPeople(func() *gateway.Gateway { return b.Gateway }, b.Log))
		for _, at := range []string{keyed.url, people} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+acme+"/candidates/c-1/dump", nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", admin.auth)
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusNotFound, answer.StatusCode, at)
		}

		files := b.dumped("zoe@example.org")
		require.Contains(t, files["candidate.json"], "Zoë")
		require.Contains(t, files["audit.json"], `"dump"`)
		require.Equal(t, [][3]string{{"acme", "dump", "candidates/c-1"}}, admin.entries("action=dump"))
		require.Len(t, b.Logged.FilterMessage("candidate dumped").All(), 1)

		folder := t.TempDir()
		_, _, err := b.cli("candidate", "dump", "acme/c-1", "-o", folder)
		require.ErrorContains(t, err, "exists")
		_, _, err = b.cli("candidate", "dump", "acme/c-1")
		require.ErrorContains(t, err, "--output")
		_, _, err = b.cli("candidate", "dump", "acme/nobody", "-o", folder+"/new")
		require.ErrorContains(t, err, "nothing is held")
		_, err = os.Stat(folder + "/new")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.Len(t, admin.entries("action=dump"), 1, "nothing was shown, and nothing is noted")
	})
}

// What is stored and damaged is named, and the rest is there.
func TestDumpNamesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.must(http.StatusCreated, http.MethodPost, application+"/documents?id=d", "%PDF-1.7 file", "Content-Type", "application/pdf")
	for _, file := range b.files() {
		require.NoError(t, os.WriteFile(file, []byte("%PDF-1.7 fill"), 0o600))
	}
	folder := filepath.Join(t.TempDir(), "dump")
	_, hints, err := b.cli("candidate", "dump", "acme/c-1", "-o", folder)
	require.ErrorContains(t, err, "1 of what is stored can't be read")
	require.Contains(t, hints, "applications/0001/documents/0001")
	raw, err := os.ReadFile(filepath.Join(folder, "candidate.json"))
	require.NoError(t, err)
	require.Contains(t, string(raw), "Zoë")
}
