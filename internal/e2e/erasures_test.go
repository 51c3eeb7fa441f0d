package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to look at what no command shows
)

const documentOfZoe = "the résumé of Zoë Lovelace"

// TestWhatWasErasedDoesNotComeBackWithABackup erases a person, and puts back database and documents of before, under the
// seal_key of before: the gateway erases the person again before it serves. Who applies again stays.
func TestWhatWasErasedDoesNotComeBackWithABackup(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "erasures")
	s := newSystemWith(t, setup{options: "seal_key " + sealText(0) + "\nerasures " + list,
		tenant: "integration hris {\nurl http://PARTNER/hris\nsecret " + outboundSecret + "\n}"})
	s.startRecorder(ok)
	s.gateway.line("integration configured")
	zoe := s.acceptedWithDocument("c-zoe")
	jo := s.acceptedWithDocument("c-jo")
	s.hasCandidate("c-zoe", "Zoë")
	s.hasCandidate("c-jo", "Jo")
	require.NotEmpty(t, s.rowsWith("c-zoe"), "this finds nothing at all")
	before := len(s.documentFiles())
	backup := s.backUp()
	s.startGateway()

	receipt := filepath.Join(t.TempDir(), "receipt.json")
	out := s.command("erase", "--tenant", "acme", "--email", "C-Zoe@example.com", "--yes")
	require.NoError(t, os.WriteFile(receipt, []byte(out), 0o600))
	require.Len(t, s.documentFiles(), before-2, "the files go at once")
	require.Contains(t, s.command("erase", "verify", receipt), "valid")
	key := strings.TrimSpace(s.command("erase", "key"))
	s.nothingIsHeldOf("c-zoe", zoe)
	s.endGateway()

	verified := func(text string) (said string, code int) {
		require.NoError(t, os.WriteFile(receipt, []byte(text), 0o600))
		return run(t, nil, hiregate(t), "erase", "verify", receipt, "--key", key)
	}
	said, code := verified(out)
	require.Zero(t, code, said)
	said, code = verified(strings.Replace(out, "c-zoe", "c-bob", 1))
	require.NotZero(t, code)
	require.Contains(t, said, "was changed")

	s.putBack(backup)
	require.NotEmpty(t, s.rowsWith("c-zoe"))
	s.startGateway()
	require.Contains(t, s.command("status"), "erased again what a backup had brought back: exports 1, candidates 1")
	s.nothingIsHeldOf("c-zoe", zoe)
	require.Len(t, s.documentFiles(), before-2)
	require.Contains(t, s.command("candidate", "show", "acme/c-jo"), "Jo")
	require.NotContains(t, s.command("export", "show", "acme/"+jo), "erased")

	s.hasCandidate("c-zoe", "Zoë")
	s.endGateway()
	s.startGateway()
	require.Contains(t, s.command("candidate", "show", "acme/c-zoe"), "Zoë", "who applies again stays")
	require.NotContains(t, s.command("status"), "erased again")
	s.endGateway()

	raw, err := os.ReadFile(list)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(list, nil, 0o600))
	out, code = run(t, nil, hiregate(t), "run", "--config", s.caddyfile())
	require.NotZero(t, code)
	require.Contains(t, out, "line 1 of "+list+" is missing")
	require.NoError(t, os.WriteFile(list, raw, 0o600))
	s.startGateway()
}

// acceptedWithDocument sends an export about a candidate, with a document, and waits until it is delivered.
func (s *system) acceptedWithDocument(candidate string) (id string) {
	s.t.Helper()
	service := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, documentOfZoe, candidate) }))
	s.t.Cleanup(service.Close)
	id = s.accepted([]byte(strings.Replace(string(minimal(candidate)), `"profiles":[]`, `"profiles":[{"attachments":[`+
		`{"id":{"value":"d","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},"url":"`+service.URL+
		`"}]}]`, 1)))
	s.awaitOutcome(id, "delivered")
	return id
}

// hasCandidate makes a candidate with a job application that has a document.
func (s *system) hasCandidate(id, name string) {
	s.t.Helper()
	put := func(kind, id string, v any) {
		raw, err := json.Marshal(v)
		require.NoError(s.t, err)
		file := filepath.Join(s.t.TempDir(), "put.json")
		require.NoError(s.t, os.WriteFile(file, raw, 0o600))
		s.command(kind, "set", "acme/"+id, file)
	}
	put("candidate", id, map[string]any{"name": map[string]string{"given": name}, "email": []string{id + "@example.com"}})
	put("application", "a-"+id, map[string]any{"candidate": id})
	file := filepath.Join(s.t.TempDir(), "resume-of-"+name+".txt")
	require.NoError(s.t, os.WriteFile(file, []byte(documentOfZoe), 0o600))
	s.command("document", "set", "acme/a-"+id+"/resume", file)
}

// command runs a command against the gateway, which has to succeed.
func (s *system) command(args ...string) string {
	s.t.Helper()
	out, code := run(s.t, nil, hiregate(s.t), append(args, "--admin", loopback(s.admin))...)
	require.Zero(s.t, code, out)
	return out
}

func (s *system) endGateway() {
	s.t.Helper()
	s.gateway.signal(syscall.SIGTERM)
	require.Zero(s.t, s.gateway.exitCode())
}

// backUp ends the gateway and copies its database and documents.
func (s *system) backUp() (folder string) {
	s.t.Helper()
	s.endGateway()
	folder = s.t.TempDir()
	require.NoError(s.t, os.CopyFS(filepath.Join(folder, "documents"), os.DirFS(filepath.Join(s.dir, "documents"))))
	raw, err := os.ReadFile(filepath.Join(s.dir, "hiregate.db"))
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(filepath.Join(folder, "hiregate.db"), raw, 0o600))
	return folder
}

// putBack puts a copy in the place of the database and the documents.
func (s *system) putBack(folder string) {
	s.t.Helper()
	s.remove("hiregate.db*")
	require.NoError(s.t, os.RemoveAll(filepath.Join(s.dir, "documents")))
	require.NoError(s.t, os.CopyFS(s.dir, os.DirFS(folder)))
}

// documentFiles are the files of documents.
func (s *system) documentFiles() (files []string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "documents", "*", "*"))
	require.NoError(s.t, err)
	return files
}

// nothingIsHeldOf asks for a candidate and an export everywhere.
func (s *system) nothingIsHeldOf(candidate, export string) {
	s.t.Helper()
	for _, args := range [][]string{{"candidate", "show", "acme/" + candidate}, {"candidate", "show", "acme/" + candidate + "@example.com"},
		{"application", "show", "acme/a-" + candidate}, {"document", "list", "acme/a-" + candidate}} {
		out, code := run(s.t, nil, hiregate(s.t), append(args, "--admin", loopback(s.admin))...)
		require.NotZero(s.t, code, out)
	}
	require.NotContains(s.t, s.command("export", "list", "--tenant", "acme", "--candidate", candidate), export)
	require.Contains(s.t, s.command("export", "show", "acme/"+export), "erased")
	for _, found := range s.rowsWith(candidate) {
		require.True(s.t, strings.HasPrefix(found, "audit") || strings.HasPrefix(found, "idempotency") ||
			found == "application_list.id", found)
	}
}

// rowsWith looks for a text in every row of the database, and returns the tables and columns that have it.
func (s *system) rowsWith(text string) (found []string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "hiregate.db")+"?mode=ro")
	require.NoError(s.t, err)
	defer db.Close()
	columns, err := db.Query(`SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`)
	require.NoError(s.t, err)
	defer columns.Close()
	for columns.Next() {
		var table, column string
		require.NoError(s.t, columns.Scan(&table, &column))
		var n int
		require.NoError(s.t, db.QueryRow(fmt.Sprintf(`SELECT count(*) FROM %s WHERE instr(CAST(%q AS BLOB), CAST($1 AS BLOB)) > 0`,
			table, column), text).Scan(&n))
		if n > 0 {
			found = append(found, table+"."+column)
		}
	}
	require.NoError(s.t, columns.Err())
	return found
}
