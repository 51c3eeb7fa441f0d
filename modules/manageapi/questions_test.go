package manageapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/model"
)

const nurse = acme + "/jobs/NURSE-1"

func (b *fixture) nurse() {
	b.t.Helper()
	b.must(http.StatusCreated, http.MethodPut, nurse, `{"id":"job-1","title":"Nurse"}`)
}

func (b *fixture) job() *model.Job {
	b.t.Helper()
	j, err := b.Runtime.Store().Job(b.t.Context(), "acme", "NURSE-1")
	require.NoError(b.t, err)
	return j
}

// findings are the sentences of a refusal.
func (b *fixture) findings(status int, method, path, body string, headers ...string) []string {
	b.t.Helper()
	a := b.must(status, method, path, body, headers...)
	return parsed[struct{ Findings []string }](b, a).Findings
}

func TestJobsTakeQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const question = `{"id":"1","format":"Select","label":"Shift","isRequired":true,"options":["Day","Night"],"maxLength":null,"group":null}`
	a := b.must(http.StatusCreated, http.MethodPut, nurse, `{"id":"job-1","closed":true,"syndicate":true,"questions":[`+question+`],"complianceGroups":["complianceOfccp","complianceEeo"]}`)
	j := parsed[model.Job](b, a)
	require.True(t, j.Closed && j.Syndicate)
	require.Equal(t, []string{"complianceOfccp", "complianceEeo"}, j.ComplianceGroups)
	require.Equal(t, []model.Question{{ID: "1", Format: model.Select, Label: "Shift", IsRequired: true,
		Options: []string{"Day", "Night"}}}, j.Questions)

	for rule, want := range map[string]string{
		`{"format":"Text","label":"x"}`:                                          "questions[0].id is missing: set it",
		`{"id":"1","format":"Text"}`:                                             "questions[0].label is missing: set it",
		`{"id":"1","format":"Email","label":"x"}`:                                "questions[0].format is missing or unknown: use Checkbox, ",
		`{"id":"1","label":"x"}`:                                                 "questions[0].format is missing or unknown",
		`{"id":"1","format":"Select","label":"x"}`:                               "questions[0].options are missing: the format Select needs at least one",
		`{"id":"1","format":"Checkbox","label":"x","options":[]}`:                "questions[0].options are missing",
		`{"id":"1","format":"Text","label":"x","options":["a"]}`:                 "questions[0].options do not go with the format Text",
		`{"id":"1","format":"Select","label":"x","options":["a",""]}`:            "questions[0].options[1] is empty",
		`{"id":"1","format":"Select","label":"x","options":["a"," "]}`:           "questions[0].options[1] is empty",
		`{"id":"1","format":"Checkbox","label":"x","options":["a\\"]}`:           "questions[0].options[0] ends in a backslash",
		`{"id":"1","format":"Checkbox","label":"x","options":["a","b","a"]}`:     "questions[0].options[2] is there twice",
		`{"id":"1","format":"Select","label":"x","options":["a"],"maxLength":1}`: "questions[0].maxLength does not go with the format Select",
		`{"id":"1","format":"File","label":"x","maxLength":9}`:                   "questions[0].maxLength does not go with the format File",
		`{"id":"1","format":"Text","label":"x","maxLength":0}`:                   "questions[0].maxLength is not from 1 to 1048576",
		`{"id":"1","format":"Textarea","label":"x","maxLength":1048577}`:         "questions[0].maxLength is not from 1 to 1048576",
		`{"id":"1","format":"Text","label":"x","group":"complianceEeo"}`:         "questions[0].group is set",
		`{"id":"1","format":"Text","label":"x","check":"phone"}`:                 "questions[0].check is unknown: use email",
		`{"id":"1","format":"Textarea","label":"x","check":"email"}`:             "questions[0].check does not go with the format Textarea",
		`{"id":"resume","format":"Text","label":"x"}`:                            "questions[0].format is not File",
		`{"id":"email","format":"Textarea","label":"x"}`:                         "questions[0].format is not Text",
		`{"id":"phone","format":"File","label":"x"}`:                             "questions[0].format is File",
		`{"id":"eeocGender","format":"Text","label":"x"}`:                        "questions[0].id is that of a question of complianceEeo",
		question + "," +
			question: "questions[1].id is that " +
			"of an earlier question",
		strings.TrimSuffix(strings.Repeat(`{"id":"1","format":"File","label":"x"},`, 21),
			","): "questions has more than 20 of the format File",
	} {
		faults := b.findings(http.StatusUnprocessableEntity, http.MethodPut, nurse, `{"id":"job-1","questions":[`+rule+`]}`)
		require.Contains(t, strings.Join(faults, "\n"), want)
	}
	faults := b.findings(http.StatusUnprocessableEntity, http.MethodPut, nurse,
		`{"id":"","complianceGroups":["complianceEeo","complianceGdpr","complianceEeo"]}`)
	require.Equal(t, []string{"id is missing: set it",
		"complianceGroups[1] is unknown: use complianceEeo, complianceOfccp or complianceVevraa",
		"complianceGroups[2] is there twice: leave one out"}, faults)
	require.Len(t, b.job().Questions, 1, "what was refused changed something")
}

func TestQuestionsAreImported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.nurse()
	list := "\ufeffID;Format;Label;isRequired;options;maxLength;check\r\n" +
		"firstName;Text;First name;true;;64;\r\n" +
		"contact;Text;Contact;no;;;email\r\n" +
		"1000123;Checkbox;\"Shifts; all\nyou can\";YES;Day | Night|Weekend \\| Holiday|On\\call;;\r\n"
	want := []model.Question{
		{ID: "firstName", Format: model.Text, Label: "First name", IsRequired: true, MaxLength: number(64)},
		{ID: "contact", Format: model.Text, Label: "Contact", Check: model.CheckEmail},
		{ID: "1000123", Format: model.Checkbox, Label: "Shifts; all\nyou can", IsRequired: true,
			Options: []string{"Day", "Night", "Weekend | Holiday", `On\call`}},
	}
	a := b.must(http.StatusOK, http.MethodPut, nurse+"/questions", list, "Content-Type", "text/csv; charset=utf-8")
	before := a.header.Get("ETag")
	require.Equal(t, before, b.must(http.StatusOK, http.MethodGet, nurse, "").header.Get("ETag"))
	require.Equal(t, want, b.job().Questions)
	require.Equal(t, "Nurse", b.job().Title)

	now := b.must(http.StatusOK, http.MethodPut, nurse+"/questions",
		strings.ReplaceAll(strings.Replace(list, "Shifts; all", "Shifts, all", 1), ";", ","), "Content-Type",
		"text/csv").header.Get("ETag")
	require.Equal(t, "1000123", b.job().Questions[2].ID, "a comma in quotes")
	raw, err := json.Marshal(want)
	require.NoError(t, err)
	b.must(http.StatusOK, http.MethodPut, nurse+"/questions", string(raw), "If-Match", now)
	require.Equal(t, want, b.job().Questions)
	b.refused(http.StatusPreconditionFailed, http.MethodPut, nurse+"/questions", string(raw), "If-Match", before)
	b.must(http.StatusOK, http.MethodPut, nurse+"/questions", `[]`)
	require.Empty(t, b.job().Questions)
}

func number(n int) *int { return &n }

// The sample is what the Apply API shows: what is a compliance group's there is switched on, not imported.
func TestTheSampleIsImported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.nurse()
	raw, err := os.ReadFile("../../testdata/samples/questions.json")
	require.NoError(t, err)
	faults := b.findings(http.StatusUnprocessableEntity, http.MethodPut, nurse+"/questions", string(raw))
	require.Len(t, faults, 3)
	require.Contains(t, faults[0], "line 12, question 11: group is set: questions of a compliance group are asked "+
		"when complianceGroups names it")
	lines := strings.Split(string(raw), "\n")
	own := strings.TrimSuffix(strings.Join(lines[:11], "\n"), ",") + "\n]"
	b.must(http.StatusOK, http.MethodPut, nurse+"/questions", own)
	require.Len(t, b.job().Questions, 10)
}

func TestRefusedRows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.nurse()
	b.must(http.StatusOK, http.MethodPut, nurse+"/questions", `[{"id":"0","format":"Date","label":"Day"}]`)
	const csv = `id,format,label,isRequired,options,maxLength,check
1,Text,"Two
lines",maybe,,x,
2,Select,Shift,true,Day||Night\,,
3,Text,Fine,true,,10,
4,Text
3,File,Again,,,5,
`
	a := b.must(http.StatusUnprocessableEntity, http.MethodPut, nurse+"/questions", csv, "Content-Type", "text/csv")
	p := parsed[struct {
		Detail   string
		Findings []string
	}](b, a)
	require.Equal(t, "4 of 5 rows were refused, and nothing was imported: mend them, and send all of the list again",
		p.Detail)
	require.Equal(t, []string{
		"line 2: isRequired can't be read: write true or false; maxLength is no number: write one such as 255, or nothing",
		"line 4: options[1] is empty: write what can be chosen, or leave it out; options[2] ends in a backslash, which " +
			"would escape the pipe behind it in an answer: write it otherwise",
		"line 6: has 2 cells, and the header line 7: put cells with a separator in them into quotes",
		"line 7: maxLength does not go with the format File: only Text and Textarea have one; id is that of line 5: give " +
			"each question its own",
	}, p.Findings)

	faults := b.findings(http.StatusUnprocessableEntity, http.MethodPut, nurse+"/questions",
		"[\n{\"id\":\"1\",\"format\":\"Text\",\"label\":\"x\"},\n\n{\"id\":\"2\",\"colour\":1},\n 7]")
	require.Equal(t, []string{
		`line 4, question 2: the body has a member "colour", which is unknown here: leave it out, or look for its right name in openapi.json`,
		"line 5, question 3: the body is not what goes here: look at openapi.json",
	}, faults)
	require.Equal(t, "0", b.job().Questions[0].ID, "something was imported")
	faults = b.findings(http.StatusUnprocessableEntity, http.MethodPut, nurse+"/questions",
		"id,format,label\n1,Text,\"a\" b\n2,Text,c\n", "Content-Type", "text/csv")
	require.Len(t, faults, 1)
	require.Contains(t, faults[0], "line 2: has a quote that can't be read")

	for body, want := range map[string]string{
		"":                               "no header line",
		"id,format\n1,Text\n":            "has no column label",
		"id,format,label,colour\n":       `a column "colour"`,
		"id,format,label,ID\n":           "has the column id twice",
		"id,format,label\n1,Text,\xff\n": "not valid UTF-8",
	} {
		require.Contains(t, b.refused(http.StatusBadRequest, http.MethodPut, nurse+"/questions", body, "Content-Type",
			"text/csv"), want)
	}
	for body, want := range map[string]string{
		"[\n{\"id\":\n}]": "not JSON (line 3)", `{"id":"1"}`: "is no array", `[] []`: "not JSON", `[`: "not JSON",
		`[{"id":"1","id":"2"}]`: "not JSON",
	} {
		require.Contains(t, b.refused(http.StatusBadRequest, http.MethodPut, nurse+"/questions", body), want, body)
	}
	for _, kind := range []string{"text/plain", "text/csv; charset=iso-8859-1"} {
		b.refused(http.StatusUnsupportedMediaType, http.MethodPut, nurse+"/questions", `[]`, "Content-Type", kind)
	}
	b.refused(http.StatusNotFound, http.MethodPut, acme+"/jobs/NURSE-2/questions", `[]`)
	require.Equal(t, "0", b.job().Questions[0].ID)
}

// A job with all that can be imported is still changed like any other.
func TestTheLargestJobIsChanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.nurse()
	var options, list strings.Builder
	for n := range 500 {
		fmt.Fprintf(&options, "<%04d|", n)
	}
	list.WriteString("id,format,label,options\n")
	for n := range 300 {
		fmt.Fprintf(&list, "%d,Select,Which?,%s\n", n, strings.TrimSuffix(options.String(), "|"))
	}
	require.Less(t, list.Len(), 1<<20)
	shown := b.must(http.StatusOK, http.MethodPut, nurse+"/questions", list.String(), "Content-Type", "text/csv").body
	require.Greater(t, len(shown), 1<<20)
	_, _, err := run(t, admin.Job(), "close", "acme/NURSE-1", "--admin",
		strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate"))
	require.NoError(t, err)
	require.True(t, b.job().Closed)
	b.must(http.StatusOK, http.MethodPut, nurse, shown)

	larger := strings.ReplaceAll(shown, "<", strings.Repeat("<", 24))
	require.Equal(t, []string{"the job is larger than 4 MiB as JSON: shorten its questions"},
		b.findings(http.StatusUnprocessableEntity, http.MethodPut, nurse, larger))
	require.Contains(t, b.refused(http.StatusRequestEntityTooLarge, http.MethodPut, nurse, larger+larger),
		"larger than 8 MiB")
	require.False(t, b.job().Closed)
}

// What is answered to a list, and what it takes, does not grow with what is wrong with it.
func TestAListOfTooManyQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.nurse()
	for kind, list := range map[string]string{
		"application/json": "[" + strings.Repeat("{},", 1<<20/3-1) + "{}]",
		"text/csv":         "id,format,label\n" + strings.Repeat(",\n", 1<<19-8),
	} {
		require.InDelta(t, 1<<20, len(list), 16)
		a := b.must(http.StatusUnprocessableEntity, http.MethodPut, nurse+"/questions", list, "Content-Type", kind)
		require.Less(t, len(a.body), 1<<10)
		require.Contains(t, a.body, "the list has more than 300 questions, the next one at line ")
	}
	a := b.must(http.StatusUnprocessableEntity, http.MethodPut, nurse+"/questions", "["+strings.Repeat("{},\n", 299)+"{}]")
	p := parsed[struct {
		Detail   string
		Findings []string
	}](b, a)
	require.Equal(t, "300 of 300 rows were refused, and nothing was imported: mend them, and send all of the list "+
		"again; the first 50 are listed", p.Detail)
	require.Len(t, p.Findings, 50)
	require.Contains(t, p.Findings[49], "line 50, question 50: ")
	require.Empty(t, b.job().Questions)
}

func TestJobCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(http.StatusCreated, http.MethodPut, acme+"/jobs/a%2Fb", `{"id":"job-2"}`)
	b.must(http.StatusCreated, http.MethodPut, nurse,
		`{"id":"job-1","title":"Nurse","syndicate":true,"customFields":[{"id":"f","name":"n","type":"text","value":"v"}]}`)
	do := func(in string, args ...string) (string, string, error) {
		cmd := admin.Job()
		cmd.SetIn(strings.NewReader(in))
		return run(t, cmd, append(args, "--admin", strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate"))...)
	}
	file := filepath.Join(t.TempDir(), "questions.CSV")
	require.NoError(t, os.WriteFile(file,
		[]byte("id,format,label,isRequired,options,maxLength\n1,Checkbox,Shifts,yes,Day|Weekend \\| "+
			"Holiday,\n2,Text,Why?,,,200\n"), 0o600))
	out, _, err := do("", "import-questions", "acme/NURSE-1", file)
	require.NoError(t, err)
	require.Equal(t, "acme/NURSE-1 asks 2 questions of its own\n", out)
	out, _, err = do("", "show", "acme/NURSE-1")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^state +open, in the feed$`, out)
	require.Regexp(t, `(?m)^1 +Checkbox +yes +Shifts +Day\|Weekend \\\| Holiday +- +-$`, out)
	require.Regexp(t, `(?m)^2 +Text +- +Why\? +- +200 +-$`, out)

	before := b.job()
	out, _, err = do("", "close", "acme/NURSE-1")
	require.NoError(t, err)
	require.Equal(t, "acme/NURSE-1 is closed\n", out)
	after := b.job()
	require.True(t, after.Closed)
	after.Closed, after.Row = false, before.Row
	after.Questions[1].Options, after.ComplianceGroups = nil, nil // empty as well
	require.Equal(t, before, after, "something else was changed")
	out, _, err = do("", "list", "acme")
	require.NoError(t, err)
	require.Regexp(t, `NURSE-1 +Nurse +closed +2 +- `, out)
	_, _, err = do("", "open", "acme/NURSE-1")
	require.NoError(t, err)
	require.False(t, b.job().Closed)
	_, _, err = do("", "close", "acme/a/b")
	require.NoError(t, err)

	out, _, err = do(`[{"id":"3","format":"Date","label":"Day"}]`, "import-questions", "acme/NURSE-1", "-", "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"id":"3"`)
	_, _, err = do("id,format,label\n1,Date,\n2,Number,\n", "import-questions", "acme/NURSE-1", "-", "--format", "csv")
	require.EqualError(t, err, "2 of 2 rows were refused, and nothing was imported: mend them, and send all of the "+
		"list again\n  line 2: label is missing: set it\n  line 3: label is missing: set it")
	require.Equal(t, "3", b.job().Questions[0].ID)
	_, _, err = do("id,format,label\n"+strings.Repeat("1,Text\n", 300), "import-questions", "acme/NURSE-1", "-",
		"--format", "csv")
	require.ErrorContains(t, err, "300 of 300 rows were refused, and nothing was imported: mend them, and send all of "+
		"the list again; the first 50 are listed")
	require.Equal(t, 50, strings.Count(err.Error(), "\n  line "))
	_, _, err = do("", "import-questions", "acme/NURSE-1", "questions.txt")
	require.ErrorContains(t, err, "questions.txt")

	asked := b.job().Questions
	for kind, list := range map[string]string{"csv": "\ufeff\r\nid,format,label\r\n\r\n", "json": " [ ]\n"} {
		_, _, err = do(list, "import-questions", "acme/NURSE-1", "-", "--format", kind)
		require.ErrorContains(t, err, "the list has no question, and would remove all that the job asks: add --empty")
		require.Equal(t, asked, b.job().Questions)
	}
	_, _, err = do("", "import-questions", "acme/NURSE-1", "-", "--empty")
	require.ErrorContains(t, err, "no header line")
	_, _, err = do("id,format,label\n", "import-questions", "acme/NURSE-1", "-", "--empty")
	require.NoError(t, err)
	require.Empty(t, b.job().Questions)
	_, _, err = do("", "close", "NURSE-1")
	require.ErrorContains(t, err, "write it as TENANT/JOBBOARDCODE")
	_, _, err = do("", "close", "acme/NURSE-2")
	require.EqualError(t, err, "this tenant has no job of that id")
}
