package apply_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/apply"
	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// line is the API at an address, for the command `hiregate apply`.
type line struct {
	*fixture
	url            string
	authentication atomic.Int64 // requests
	applied        atomic.Int64
	lose           atomic.Int64 // answers to applications that don't arrive
	before         func()       // an application, if it is set
}

// newLine sets the environment: tests that use it run one after the other.
func newLine(t *testing.T) *line {
	t.Helper()
	l := &line{fixture: setup(t)}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HIREGATE_PASSWORD", right)
	api := http.StripPrefix("/apply", l.API)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apply/v2/authentication":
			l.authentication.Add(1)
		case "/apply/v2/application":
			l.applied.Add(1)
			if l.before != nil {
				l.before()
			}
			if l.lose.Add(-1) >= 0 {
				api.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	l.url = server.URL + "/apply"
	return l
}

// run runs `hiregate apply` to its end.
func (l *line) run(in string, args ...string) (out, form string, err error) {
	l.t.Helper()
	cmd := apply.Command()
	cmd.SetIn(strings.NewReader(in))
	return clitest.Run(l.t.Context(), cmd, append([]string{"--url", l.url + "/", "--user", partner}, args...)...)
}

// answersFile writes a file of answers, and the resume beside it.
func (l *line) answersFile(content string) string {
	l.t.Helper()
	folder := l.t.TempDir()
	require.NoError(l.t, os.WriteFile(filepath.Join(folder, "ada.pdf"), sample(l.t, "resume.pdf"), 0o600))
	name := filepath.Join(folder, "answers.json")
	require.NoError(l.t, os.WriteFile(name, []byte(content), 0o600))
	return name
}

const ada = `{"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com", "phone": null, "resume": "ada.pdf", "citizenWorkStatus": "Authorized",
	"1000123": ["Day", "Weekend | Holiday"], "1000124": 7, "eeocDisability": "I do not want to answer", "eeocDisabilitySignature": "Ada", "eeocDisabilitySignatureDate": "2026-11-20"}`

func (l *line) requireApplied(id string) {
	l.t.Helper()
	db := l.Runtime.Store()
	docs, _, err := db.ListApplicationDocuments(l.t.Context(), "acme", strings.TrimSpace(id), 0, 10)
	require.NoError(l.t, err)
	require.Len(l.t, docs, 1)
	require.EqualValues(l.t, len(sample(l.t, "resume.pdf")), docs[0].Size)
	s, err := db.ApplicationAnswers(l.t.Context(), "acme", strings.TrimSpace(id))
	require.NoError(l.t, err)
	values := map[string][]string{}
	for _, g := range s.Answers {
		values[g.Question] = g.Values
	}
	require.Equal(l.t, []string{"Day", "Weekend | Holiday"}, values["1000123"])
	require.Equal(l.t, []string{"7"}, values["1000124"])
}

func TestApplyCommandSubmitsAFile(t *testing.T) {
	l := newLine(t)
	id, hints, err := l.run("", "--job", code, "--answers", l.answersFile(ada))
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f-]{36}\n$`, id)
	require.Contains(t, hints, "is taken")
	l.requireApplied(id)

	raw, err := json.Marshal(map[string]any{"source": "Campus", "answers": append(with(fine(t), "resume", without),
		answered{QuestionID: "resume", Value: base64.StdEncoding.EncodeToString(sample(t, "resume.pdf"))})})
	require.NoError(t, err)
	out, _, err := l.run(string(raw), "--job", code, "--answers", "-", "--json")
	require.NoError(t, err)
	var said struct{ ApplicationID, IdempotencyKey string }
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	s, err := l.Runtime.Store().ApplicationAnswers(t.Context(), "acme", said.ApplicationID)
	require.NoError(t, err)
	require.Equal(t, "Campus", s.Source)
	require.NotEmpty(t, said.IdempotencyKey)
	_, _, err = l.run("", "--job", code, "--answers", l.answersFile(ada), "--idempotency-key", "k-1")
	require.NoError(t, err)
	_, _, err = l.run("", "--job", code, "--answers", l.answersFile(ada), "--idempotency-key", "k-1")
	require.NoError(t, err)
	all := l.applications("acme")
	require.Len(t, all, 1, "the others stand beside the first")
	versions, _, err := l.Runtime.Store().ListApplicationVersions(t.Context(), "acme", all[0].ID, store.Page{})
	require.NoError(t, err)
	require.Len(t, versions, 2)
	require.EqualValues(t, 1, l.authentication.Load(), "the token was not kept")
}

// The questions of a job that was closed can't be asked any more, and an application needs none.
func TestApplyCommandSendsAnApplicationOfAClosedJobAgain(t *testing.T) {
	l := newLine(t)
	raw, err := json.Marshal(map[string]any{"answers": fine(t)})
	require.NoError(t, err)
	apply := func() (string, error) {
		id, _, err := l.run(string(raw), "--job", code, "--answers", "-", "--idempotency-key", "k-1")
		return id, err
	}
	first, err := apply()
	require.NoError(t, err)
	l.job("acme", &model.Job{BoardCode: code, ID: "job-1", Closed: true})
	again, err := apply()
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Len(t, l.applications("acme"), 1)
}

func TestApplyCommandKeepsAndRenewsItsToken(t *testing.T) {
	l := newLine(t)
	ask := func() error {
		_, _, err := l.run("", "--job", code, "--questions")
		return err
	}
	require.NoError(t, ask())
	t.Setenv("HIREGATE_PASSWORD", "")
	require.NoError(t, ask())
	require.EqualValues(t, 1, l.authentication.Load())
	var kept []string
	require.NoError(t, filepath.WalkDir(os.Getenv("XDG_CACHE_HOME"), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			about, _ := d.Info()
			require.Equal(t, os.FileMode(0o600), about.Mode().Perm())
			kept = append(kept, name)
		}
		return err
	}))
	require.Len(t, kept, 1)
	l.Clock.Advance(48 * time.Hour)
	require.ErrorContains(t, ask(), "--password-file")
	t.Setenv("HIREGATE_PASSWORD", "not this one")
	require.ErrorContains(t, ask(), "user name or password is wrong")
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(right+"\n"), 0o600))
	_, _, err := l.run("", "--job", code, "--questions", "--password-file", file)
	require.NoError(t, err)
	require.EqualValues(t, 3, l.authentication.Load())
	require.NoError(t, ask())
	require.EqualValues(t, 3, l.authentication.Load())
	_, _, err = l.run("", "--job", code, "--questions", "--user", "globex@example.com")
	require.Error(t, err, "another user has another token")
}

func TestApplyCommandSendsAgain(t *testing.T) {
	l := newLine(t)
	l.lose.Store(1)
	id, hints, err := l.run("", "--job", code, "--answers", l.answersFile(ada))
	require.NoError(t, err)
	require.Contains(t, hints, "sent again in 1s")
	require.EqualValues(t, 2, l.applied.Load())
	require.Len(t, l.applications("acme"), 1, "an application was taken twice")
	require.Equal(t, l.applications("acme")[0].ID, strings.TrimSpace(id))
}

// A token that ends between the questions and the answers: the files are sent once the API wants them.
func TestApplyCommandRenewsItsTokenForALargeFile(t *testing.T) {
	l := newLine(t)
	l.job("acme", &model.Job{BoardCode: "CV", ID: "job-9",
		Questions: []model.Question{{ID: "work", Label: "Your work", Format: model.File, IsRequired: true}}})
	var once sync.Once
	l.before = func() { once.Do(func() { l.Clock.Advance(49 * time.Hour) }) }
	name := l.answersFile(`{"work":{"file":"work.txt"}}`)
	work := strings.Repeat("All work and no play.\n", 200_000) // 4.2 MiB
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(name), "work.txt"), []byte(work), 0o600))
	id, _, err := l.run("", "--job", "CV", "--answers", name)
	require.NoError(t, err)
	require.EqualValues(t, 2, l.authentication.Load())
	require.EqualValues(t, 2, l.applied.Load())
	docs, _, err := l.Runtime.Store().ListApplicationDocuments(t.Context(), "acme", strings.TrimSpace(id), 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, len(work), docs[0].Size)
	sum := sha256.Sum256([]byte(work))
	require.Equal(t, sum[:], docs[0].SHA256)
}

func TestApplyCommandShowsQuestions(t *testing.T) {
	l := newLine(t)
	out, _, err := l.run("", "--job", code, "--questions")
	require.NoError(t, err)
	require.Regexp(t,
		`(?m)^1000123 +Checkbox +yes +Shifts you can work +Day\|Night\|Weekend \\\| Holiday\|On\\call +- +-$`, out)
	out, _, err = l.run("", "--job", code, "--questions", "--json")
	require.NoError(t, err)
	var got []any
	for one := range strings.Lines(out) {
		var q any
		require.NoError(t, json.Unmarshal([]byte(one), &q))
		got = append(got, q)
	}
	var want []any
	require.NoError(t, json.Unmarshal(sample(t, "questions.json"), &want))
	require.Equal(t, want, got)
	_, _, err = l.run("", "--job", "a/b c", "--questions")
	require.NoError(t, err)
	_, _, err = l.run("", "--job", "CLOSED", "--questions")
	require.ErrorContains(t, err, "there is no open job with this job board code")
}

func TestApplyCommandTellsWhatIsNotValid(t *testing.T) {
	l := newLine(t)
	out, _, err := l.run("", "--job", code, "--answers",
		l.answersFile(`{"email":"Bob <bob@x>","resume":"ada.pdf","colour":"red"}`))
	require.ErrorContains(t, err, "answers are not valid, and nothing was kept")
	require.Regexp(t, `(?m)^firstName +First name: `, out)
	require.Regexp(t, `(?m)^email +E-mail: `, out)
	require.Regexp(t, `(?m)^colour +`, out)
	require.Empty(t, l.applications("acme"))
	for content, want := range map[string]string{
		`[]`: "is not a JSON object", `{"resume":"none.pdf"}`: "none.pdf, which can't be sent: no such file",
		`{"resume":"."}`:                 "it is not a file",
		`{"firstName":{"a":1}}`:          "neither a text, an array of options nor",
		`{"answers":[{"questionId":1}]}`: "write each value as a string",
	} {
		_, _, err := l.run("", "--job", code, "--answers", l.answersFile(content))
		require.ErrorContains(t, err, want, content)
	}
	for _, args := range [][]string{{}, {"--job", code, "--password-file", "-"},
		{"--job", code, "--idempotency-key", "a b"}, {"--job", code, "--url", "localhost"}} {
		_, _, err := l.run("", args...)
		require.Error(t, err, args)
	}
	require.Zero(t, len(l.applications("acme")))
}

func TestApplyCommandAsksAsAForm(t *testing.T) {
	l := newLine(t)
	resume := filepath.Join(filepath.Dir(l.answersFile("{}")), "ada.pdf")
	in := []string{
		"", "Ada", "Lovelace", "ada at example", "", "", "none.pdf", resume, "9", "1", "1, 3", "7", "Because", "it is mine",
		"",
		"3", "Ada", "2026-11-20",
		"ada@example.com", // once more
	}
	id, form, err := l.run(strings.Join(in, "\n")+"\n", "--job", code)
	require.NoError(t, err, form)
	l.requireApplied(id)
	for what, times := range map[string]int{
		"\nFirst name * (at most 64 characters)\n> ":       1,
		"  ! an answer is required\n":                      1,
		"  3  Weekend | Holiday\n":                         1,
		"  ! there is no such file\n":                      1,
		"  ! choose from 1 to 2\n":                         1,
		"CC-305, OMB":                                      1, // before the group's first question alone
		"\nE-mail *":                                       2,
		"  ! E-mail: ":                                     1,
		"\nYour name *":                                    1,
		"(the number of an option, an empty line ends it)": 0,
		"\nWhy this job? (an empty line ends it, at most 2000 characters)\n": 1,
	} {
		require.Equal(t, times, strings.Count(form, what), "%q in %s", what, form)
	}
	require.Less(t, strings.Index(form, "CC-305, OMB"), strings.Index(form, "Please check one of the boxes"))
	s, err := l.Runtime.Store().ApplicationAnswers(t.Context(), "acme", strings.TrimSpace(id))
	require.NoError(t, err)
	require.Contains(t, s.Answers[len(s.Answers)-1].Values, "Because\nit is mine")

	_, _, err = l.run("Ada\n", "--job", code)
	require.EqualError(t, err, "the form ended before all questions were answered: nothing was sent")
	require.Len(t, l.applications("acme"), 1)
}

// An option is chosen by its number, as the form says, also where another option is written like that number.
func TestApplyCommandChoosesByNumber(t *testing.T) {
	l := newLine(t)
	l.job("acme", &model.Job{BoardCode: "YEARS", ID: "job-9", Questions: []model.Question{
		{ID: "years", Format: model.Select, Label: "Years", Options: []string{"3", "1", "20"}},
		{ID: "wards", Format: model.Checkbox, Label: "Wards", Options: []string{"2", "1", "30"}},
	}})
	for in, want := range map[string][2]string{"1\n1\n": {"3", "2"}, "2\n2\n": {"1", "1"}, "20\n30\n": {"20", "30"}} {
		id, _, err := l.run(in, "--job", "YEARS")
		require.NoError(t, err)
		s, err := l.Runtime.Store().ApplicationAnswers(t.Context(), "acme", strings.TrimSpace(id))
		require.NoError(t, err)
		require.Equal(t, want, [2]string{s.Answers[0].Values[0], s.Answers[1].Values[0]}, in)
	}
}

// Where an answer leaves open whether the application was taken, the command tells the key under which it can be sent
// again.
func TestApplyCommandTellsItsKeyWhereNobodyKnows(t *testing.T) {
	l := newLine(t)
	var statuses []int // of the answers, in turn; 0: none
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/authentication" {
			fmt.Fprint(w, `{"token":"t"}`)
			return
		}
		status := statuses[0]
		statuses = statuses[1:]
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Retry-After", "31") // longer than the command waits
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	const open = "with --idempotency-key k-1 and the same answers it can be sent again, and is taken once"
	for n, c := range []struct {
		statuses []int
		open     bool
	}{
		{[]int{http.StatusInternalServerError}, true}, {[]int{http.StatusServiceUnavailable}, true},
		{[]int{http.StatusConflict}, true},
		{[]int{http.StatusTooManyRequests}, false}, {[]int{http.StatusRequestEntityTooLarge}, false},
		{[]int{http.StatusBadRequest}, false},
		{[]int{0, http.StatusTooManyRequests}, true}, {[]int{0, http.StatusBadRequest}, false},
	} {
		statuses = c.statuses
		_, _, err := l.run(`{"answers":[]}`, "--url", server.URL, "--job", code, "--answers", "-", "--idempotency-key", "k-1")
		require.Error(t, err)
		require.Equal(t, c.open, strings.Contains(err.Error(), open), "%d: %v", n, err)
		require.Empty(t, statuses)
	}
}
