package manageapi_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// keeps has acme keep some of all that a takeout has, at different times.
func (b *fixture) keeps() {
	b.t.Helper()
	b.people()
	b.must(http.StatusOK, http.MethodPut, acme+"/steps", `{"items":[{"id":"applied","name":"Applied"},
		{"id":"hired","name":"Hired","category":"Done","helper":{"integrations":["hris"]}}]}`)
	b.Clock.Advance(time.Hour)
	b.must(http.StatusOK, http.MethodPut, acme+"/jobs/NURSE-1", `{"id":"job-1","title":"Nurse","questions":[{"id":"q",
		"format":"Text","label":"Why here?"}]}`)
	b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"applied"}`)
	b.Clock.Advance(time.Hour)
	b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"hired"}`)
	b.must(http.StatusCreated, http.MethodPost, application+"/documents?id=d-1&fileName=zoe.pdf&description=Resume",
		"%PDF-1.7 résumé of Zoë", "Content-Type", "application/pdf")
	b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-0", `{"name":{"given":"Ada"},"phone":["+49 30 1"]}`)
	b.must(http.StatusCreated, http.MethodPut, acme+"/job-applications/a-0", `{"candidate":"c-0"}`)
	b.must(http.StatusCreated, http.MethodPost, acme+"/job-applications/a-0/documents?id=d-1",
		"%PDF-1.7 résumé of Zoë", "Content-Type", "application/pdf")
	b.must(http.StatusOK, http.MethodPost, acme+"/job-applications/a-0/end", `{"as":"rejected","reason":"no licence yet"}`)
	b.Write(b.t, func(tx *store.Tx) error {
		a, _, err := tx.JobApplication("acme", "a-1")
		if err != nil {
			return err
		}
		if err := tx.InsertComplianceAnswer(a, model.ComplianceAnswer{Question: "veteran", Group: "us", Choice: true,
			Value: "secret-veteran"}, b.Clock.Now()); err != nil {
			return err
		}
		if err := tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: "a-1b", Candidate: "c-1",
			Job: "NURSE-1", LanguageCode: "de", VersionOf: "a-1"}, b.Clock.Now()); err != nil {
			return err
		}
		return tx.InsertApplicationAnswers("acme", "a-1", &model.ApplicationAnswers{Source: "career site",
			APIUser: "board@example.com", Answers: []model.Given{{Question: "q", Label: "Why?", Format: "Text",
				Values: []string{"Grace is kind."}}}})
	})
}

// takenOut returns what a takeout has, by the names of the entries, and the archive.
func (b *fixture) takenOut() (entries map[string]string, archive string) {
	b.t.Helper()
	archive = b.must(http.StatusOK, http.MethodGet, acme+"/takeout", "").body
	entries = map[string]string{}
	for files := tar.NewReader(strings.NewReader(archive)); ; {
		h, err := files.Next()
		if err == io.EOF {
			return entries, archive
		}
		require.NoError(b.t, err)
		raw, err := io.ReadAll(files)
		require.NoError(b.t, err)
		entries[h.Name] = string(raw)
	}
}

// imported brings an archive in, and returns how far that came.
func (b *fixture) imported(archive string) api.ImportProgress {
	b.t.Helper()
	lines := strings.Split(strings.TrimSpace(b.must(http.StatusOK, http.MethodPost, acme+"/import", archive,
		"Content-Type", api.TakeoutType).body), "\n")
	var last api.ImportProgress
	require.NoError(b.t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	return last
}

// What is taken out of one gateway and brought into another is the same there, with its versions and times, compliance
// answers aside. Nothing is exported by it, and a second time it changes nothing.
func TestTakeoutComesInAsItWas(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.keeps()
	entries, archive := a.takenOut()
	require.NotContains(t, archive, "secret-veteran")
	require.Contains(t, entries["takeout.json"], "compliance answers")
	onEach(t, func(t *testing.T, b *fixture) {
		b.Clock.Advance(5 * time.Hour)
		p := b.imported(archive)
		require.Equal(t, api.ImportProgress{Done: true, ImportCounts: api.ImportCounts{Steps: 2, Jobs: 1, Candidates: 2, Applications: 3,
			Documents: 2}}, p)
		again, _ := b.takenOut()
		delete(again, "takeout.json")
		for name, content := range entries {
			if name != "takeout.json" {
				require.Equal(t, content, again[name], name)
			}
		}
		require.Len(t, again, len(entries)-1)
		require.Empty(t, get[listed](b, "/v1/exports").Items, "no helper exports")
		require.Equal(t, []string{"c-1"}, ids(b, acme+"/candidates?email=zoe@example.org"))
		require.Equal(t, []string{"a-1"}, ids(b, acme+"/job-applications?source=career%20site&step=hired"))
		require.Equal(t, "%PDF-1.7 résumé of Zoë", b.must(http.StatusOK, http.MethodGet, application+"/documents/d-1/content", "",
			"Accept", "application/octet-stream").body)

		p = b.imported(archive)
		require.Equal(t, api.ImportProgress{Done: true, ImportCounts: api.ImportCounts{There: 8}}, p)
		then, _ := b.takenOut()
		delete(then, "takeout.json")
		require.Equal(t, again, then)
	})
}

// An import changes nothing of what is there, brings nobody back who was erased, and goes on where it broke off.
func TestImportLeavesOutWhatWasErased(t *testing.T) {
	t.Parallel()
	b := setup(t)
	list, err := erasure.Open(filepath.Join(b.Folder, "erasures"))
	require.NoError(t, err)
	b.Runtime.Retention.List = list
	b.keeps()
	_, archive := b.takenOut()
	b.Clock.Advance(time.Hour)
	b.erased(`{"candidate":"c-1"}`)
	b.must(http.StatusNoContent, http.MethodDelete, acme+"/job-applications/a-0", "")
	b.must(http.StatusOK, http.MethodPut, acme+"/candidates/c-0", `{"name":{"given":"Ada Augusta"}}`)
	p := b.imported(archive)
	require.Equal(t, api.ImportProgress{Done: true, ImportCounts: api.ImportCounts{There: 4, Erased: 4}}, p)
	b.must(http.StatusNotFound, http.MethodGet, acme+"/candidates/c-1", "")
	b.must(http.StatusNotFound, http.MethodGet, application, "")
	b.must(http.StatusNotFound, http.MethodGet, acme+"/job-applications/a-0", "")
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, acme+"/candidates/c-0", "").body, "Augusta")

	b.must(http.StatusNoContent, http.MethodDelete, acme+"/candidates/c-0", "")
	require.Equal(t, 5, b.imported(archive).Erased, "who was removed does not come back either")
}

// altered returns an archive with an entry that is another; an empty one is left out.
func altered(t *testing.T, archive, name string, change func(string) string) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for files := tar.NewReader(strings.NewReader(archive)); ; {
		h, err := files.Next()
		if err == io.EOF {
			require.NoError(t, w.Close())
			return out.String()
		}
		require.NoError(t, err)
		raw, err := io.ReadAll(files)
		require.NoError(t, err)
		if strings.HasPrefix(h.Name, name) {
			if raw = []byte(change(string(raw))); len(raw) == 0 {
				continue
			}
		}
		h.Size = int64(len(raw))
		require.NoError(t, w.WriteHeader(h))
		_, err = w.Write(raw)
		require.NoError(t, err)
	}
}

// Nothing is written of an archive with a fault, wherever that is.
func TestImportChecksAllOfIt(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.keeps()
	_, archive := a.takenOut()
	b := setup(t)
	b.Clock.Advance(5 * time.Hour)
	replaced := func(from, to string) func(string) string {
		return func(s string) string { return strings.ReplaceAll(s, from, to) }
	}
	gone := func(string) string { return "" }
	for want, broken := range map[string]string{
		"tenant":                    altered(t, archive, "takeout.json", replaced("acme", "globex")),
		"format":                    altered(t, archive, "takeout.json", replaced("takeout/1", "takeout/2")),
		"begin":                     altered(t, archive, "takeout.json", gone),
		"end.json":                  altered(t, archive, "end.json", gone),
		"broke off":                 archive[:len(archive)/2],
		"SHA-256":                   altered(t, archive, "files/", replaced("Zoë", "Zoé")),
		"not in the archive":        altered(t, archive, "files/", gone),
		"nickname":                  altered(t, archive, "records/", replaced(`"given"`, `"nickname"`)),
		"is of the tenant":          altered(t, archive, "records/", replaced(`"acme"`, `"globex"`)),
		"citizenShip":               altered(t, archive, "records/", replaced(`"citizenShip":[]`, `"citizenShip":["`+strings.Repeat("x", 1<<20)+`"]`)),
		"is neither in the archive": altered(t, archive, "records/", replaced(`"id":"c-0"`, `"id":"c-9"`)),
		"is no JSON":                altered(t, archive, "records/", replaced(`{"job":`, `{"job"`)),
	} {
		r := b.must(http.StatusUnprocessableEntity, http.MethodPost, acme+"/import", broken, "Content-Type", api.TakeoutType)
		require.Contains(t, r.body, want)
	}
	require.Empty(t, ids(b, acme+"/candidates"))
	require.Empty(t, b.files())
	b.must(http.StatusUnsupportedMediaType, http.MethodPost, acme+"/import", archive)
	require.Contains(t, b.must(http.StatusOK, http.MethodPost, acme+"/import", archive, "Content-Type", api.TakeoutType).body, `"done":true`)
}

// Only administrators take out and bring in, and the audit has it.
func TestTakeoutIsForAdministrators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keeps()
	_, archive := b.takenOut()
	keyed := b.keyed()
	operator := keyed.as(keyed.key("k-1", "acme", model.Operator))
	operator.refused(http.StatusForbidden, http.MethodGet, acme+"/takeout", "")
	operator.refused(http.StatusForbidden, http.MethodPost, acme+"/import", archive, "Content-Type", api.TakeoutType)
	keyed.as(keyed.key("k-2", "globex", model.Admin)).must(http.StatusNotFound, http.MethodGet, acme+"/takeout", "")
	own := keyed.as(keyed.key("k-3", "acme", model.Admin))
	own.takenOut()
	own.imported(archive)
	require.Len(t, own.entries("action=take-out"), 2)
	require.Equal(t, [][3]string{{"acme", "import", "tenants/acme"}}, own.entries("action=import"))
}

// A recruiting system that moves here brings its people with lines of JSON: steps and times stay as they were there.
func TestImportOfLines(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := filepath.Join(t.TempDir(), "people.ndjson")
	require.NoError(t, os.WriteFile(file, []byte(`{"jobApplication":{"id":"a-7","candidate":"c-7","jobBoardCode":"COOK",`+
		`"createdAt":"2025-03-01T09:00:00Z","status":{"step":"talk","enteredAt":"2025-03-02T09:00:00Z"}}}`+"\n\n"+
		`{"candidate":{"id":"c-7","name":{"given":"Ida"},"createdAt":"2025-03-01T08:00:00Z"}}`+"\n"+
		`{"job":{"jobBoardCode":"COOK","id":"j-7"}}`+"\n"+`{"step":{"id":"talk","name":"Talk"}}`), 0o600))
	address := strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate")
	out, _, err := run(t, admin.Import(), "--tenant", "acme", file, "--admin", address)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^candidates +1$`, out)
	require.Regexp(t, `(?m)^job applications +1$`, out)
	a := b.must(http.StatusOK, http.MethodGet, acme+"/job-applications/a-7", "").body
	require.Contains(t, a, `"createdAt":"2025-03-01T09:00:00Z"`)
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, acme+"/job-applications/a-7/transitions", "").body,
		`"step":"talk","name":"","enteredAt":"2025-03-02T09:00:00Z"`)

	name := filepath.Join(t.TempDir(), "acme.tar")
	_, hints, err := run(t, admin.Takeout(), "--tenant", "acme", "--output", name, "--admin", address)
	require.NoError(t, err)
	require.Contains(t, hints, "steps 1, jobs 1, candidates 1, job applications 1, files 0; answers to compliance groups are left out")
	_, _, err = run(t, admin.Takeout(), "--tenant", "acme", "--output", name, "--admin", address)
	require.Error(t, err, "a file that is there is not overwritten")
	out, _, err = run(t, admin.Import(), "--tenant", "acme", name, "--admin", address)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^there already +4$`, out)
	_, _, err = run(t, admin.Import(), "--tenant", "globex", name, "--admin", address)
	require.ErrorContains(t, err, fmt.Sprintf("the archive is of the tenant %q", "acme"))
}

// brokenTakeout is the address of a gateway whose takeout breaks off after some bytes.
func brokenTakeout(t *testing.T, archive string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", api.TakeoutType)
		_, _ = io.WriteString(w, archive)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// A takeout that broke off goes on after what was complete, wherever that is, and says what all of it has. What it brings
// in is the same as without a break.
func TestTakeoutGoesOn(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.keeps()
	a.Write(t, func(tx *store.Tx) error {
		for n := range 520 {
			id := fmt.Sprintf("c-%04d", n)
			if err := tx.UpsertCandidate(&model.Candidate{Row: model.Row{Tenant: "acme"}, ID: id}, a.Clock.Now()); err != nil {
				return err
			}
			if n%2 == 0 {
				if err := tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: "a-" + id, Candidate: id,
					LanguageCode: "de"}, a.Clock.Now()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	a.Clock.Advance(time.Hour)
	_, archive := a.takenOut()
	progress := regexp.MustCompile(`progress/\d+\.json`).FindAllStringIndex(archive, -1)
	require.Len(t, progress, 3, "after the first page of candidates, and two of job applications")
	address := strings.TrimSuffix(strings.TrimPrefix(a.url, "http://"), "/hiregate")
	imported := func(archive string) (string, api.ImportProgress) {
		b := setup(t)
		b.Clock.Advance(5 * time.Hour)
		p := b.imported(archive)
		_, again := b.takenOut()
		return again[strings.Index(again, "records/"):], p
	}
	want, counts := imported(archive)
	require.Equal(t, api.ImportCounts{Steps: 2, Jobs: 1, Candidates: 522, Applications: 263, Documents: 2}, counts.ImportCounts)
	for _, at := range []int{700, progress[0][0] + 300, progress[0][0] + 2000, progress[1][0] + 600, len(archive) - 1500} {
		name := filepath.Join(t.TempDir(), "acme.tar")
		_, _, err := run(t, admin.Takeout(), "--tenant", "acme", "--output", name, "--admin", brokenTakeout(t, archive[:at]))
		require.ErrorContains(t, err, "go on with --resume")
		require.NoFileExists(t, name)
		_, _, err = run(t, admin.Takeout(), "--tenant", "acme", "--output", name, "--admin", address)
		require.ErrorContains(t, err, "go on with --resume", "what is there is not overwritten")
		if at > 700 {
			_, _, err = run(t, admin.Takeout(), "--tenant", "globex", "--output", name, "--resume", "--admin", address)
			require.ErrorContains(t, err, "is of the tenant acme")
		}
		_, hints, err := run(t, admin.Takeout(), "--tenant", "acme", "--output", name, "--resume", "--admin", address)
		require.NoError(t, err)
		require.Contains(t, hints, "steps 2, jobs 1, candidates 522, job applications 263, files 1;")
		require.NoFileExists(t, name+".part")
		whole, err := os.ReadFile(name)
		require.NoError(t, err)
		got, p := imported(string(whole))
		require.Equal(t, counts, p, "broken off at %d", at)
		require.Equal(t, want, got, "broken off at %d", at)
	}
	a.problem(http.MethodGet, acme+"/takeout?from=there", "", http.StatusBadRequest)
	_, _, err := run(t, admin.Takeout(), "--tenant", "acme", "--output", filepath.Join(t.TempDir(), "acme.tar"), "--resume", "--admin", address)
	require.ErrorContains(t, err, "leave out --resume")
}
