package schemas

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// answersTo compiles the schema of questions that have the ids as labels.
func answersTo(t testing.TB, questions ...model.Question) *Answers {
	t.Helper()
	a, err := NewAnswers(questions)
	require.NoError(t, err)
	return a
}

func sampleAnswers(t testing.TB) *Answers {
	t.Helper()
	raw, err := os.ReadFile("../testdata/samples/questions.json")
	require.NoError(t, err)
	var questions []model.Question
	require.NoError(t, json.Unmarshal(raw, &questions))
	return answersTo(t, questions...)
}

func goodApplication() []Answer {
	return []Answer{
		{QuestionID: "eeocDisabilitySignatureDate", Text: "2026-10-02"},
		{QuestionID: "eeocDisabilitySignature", Text: "Ann Smith"},
		{QuestionID: "eeocDisability", Text: "I do not want to answer"},
		{QuestionID: "1000123", Text: `Day|Weekend \| Holiday|On\call`},
		{QuestionID: "citizenWorkStatus", Text: "Authorized"},
		{QuestionID: "resume", File: &File{MediaType: "application/pdf", Size: 1000}},
		{QuestionID: "email", Text: "ann@example.com"},
		{QuestionID: "lastName", Text: "Smith"},
		{QuestionID: "firstName", Text: "Ann"},
	}
}

func TestSampleApplication(t *testing.T) {
	t.Parallel()
	require.Nil(t, sampleAnswers(t).Check(goodApplication()))
}

// All faults come at once, in the order of the questions, and then what was not asked in the order given.
func TestAllFaultsInTheQuestionsOrder(t *testing.T) {
	t.Parallel()
	got := sampleAnswers(t).Check([]Answer{
		{QuestionID: "stranger/2", Text: "x"},
		{QuestionID: "1000123", Text: "Day|Day|Noon"},
		{QuestionID: "phone", Text: "12345"},
		{QuestionID: "lastName", Text: "Smith"},
		{QuestionID: "lastName", Text: "Jones"},
		{QuestionID: "resume", Fault: NotBase64},
		{QuestionID: "a stranger", Text: "x"},
		{QuestionID: "stranger/2", Text: "y"},
		{QuestionID: "email", Text: "Ann <ann@example.com>" + strings.Repeat("x", 254)},
		{QuestionID: "email", Text: "ann@example.com"},
		{QuestionID: "startDate", Text: " \t\n"},
	})
	require.Equal(t, []InvalidAnswer{
		{"firstName", model.Text, []string{"First name: " + Required}},
		{"lastName", model.Text, []string{"Last name: " + Repeated}},
		{"email", model.Text, []string{"E-mail: at most 254 characters are allowed", "E-mail: " + NotEmail,
			"E-mail: " + Repeated}},
		{"phone", model.Phone, []string{"Phone: at least 7 digits are needed"}},
		{"resume", model.File, []string{"Resume: " + NotBase64}},
		{"citizenWorkStatus", model.Select, []string{"Work authorization: " + Required}},
		{"1000123", model.Checkbox, []string{"Shifts you can work: " + ChooseOnce, "Shifts you can work: " + ChooseSome}},
		{"eeocDisability", model.Select, []string{"Please check one of the boxes below: " + Required}},
		{"eeocDisabilitySignature", model.Text, []string{"Your name: " + Required}},
		{"eeocDisabilitySignatureDate", model.Date, []string{"Today's date: " + Required}},
		{"stranger/2", "", []string{Unasked}},
		{"a stranger", "", []string{Unasked}},
	}, got)
}

// A message begins with the label, and with the id where there is none.
func TestLabels(t *testing.T) {
	t.Parallel()
	a := answersTo(t, model.Question{ID: "1", Format: model.Date, IsRequired: true},
		model.Question{ID: "2", Format: model.Date, IsRequired: true, Label: " "},
		model.Question{ID: "3", Format: model.Date, IsRequired: true, Label: "Day: 100%"})
	require.Equal(t, []InvalidAnswer{
		{"1", model.Date, []string{"1: " + Required}}, {"2", model.Date, []string{"2: " + Required}},
		{"3", model.Date, []string{"Day: 100%: " + Required}},
	}, a.Check(nil))
}

// Ids that mean something in a JSON pointer, to the library or to a schema are ids as any other.
func TestStrangeIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a/b", "a.b", "~0", "(root)", "", "$ref", "required", "size", "é", "0", "{{.field}}",
		strings.Repeat("x", 255)} {
		a := answersTo(t, model.Question{ID: id, Format: model.Phone, Label: "L", IsRequired: true})
		require.Nil(t, a.Check([]Answer{{QuestionID: id, Text: "1234567"}}), id)
		require.Equal(t, []InvalidAnswer{{id, model.Phone, []string{"L: " + NotPhone}}},
			a.Check([]Answer{{QuestionID: id, Text: "1"}}), id)
		require.Equal(t, []InvalidAnswer{{id, model.Phone, []string{"L: " + Required}}}, a.Check(nil), id)
	}
	stranger := "a\x00b"
	require.Equal(t, []InvalidAnswer{{stranger, "", []string{Unasked}}},
		answersTo(t).Check([]Answer{{QuestionID: stranger}}))
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	_, err := NewAnswers([]model.Question{{ID: "a", Format: "Slider"}})
	require.ErrorContains(t, err, `question a has the format "Slider"`)
	_, err = NewAnswers([]model.Question{{ID: "a\x00", Format: model.Text}})
	require.ErrorContains(t, err, "U+0000")
	limit := -1
	a := answersTo(t, model.Question{ID: "a", Format: model.Text, MaxLength: &limit})
	require.Nil(t, a.Check([]Answer{{QuestionID: "a", Text: "x"}}))
	twice := answersTo(t, model.Question{ID: "a", Format: model.Text},
		model.Question{ID: "a", Format: model.Date, IsRequired: true})
	require.Len(t, twice.Questions(), 1, "the first of two with the same id counts")
	require.Nil(t, twice.Check([]Answer{{QuestionID: "a", Text: "no date"}}))
	q, ok := twice.Question("a")
	require.True(t, ok)
	require.Equal(t, model.Text, q.Format)
	_, ok = twice.Question("b")
	require.False(t, ok)
}

// Schemas are compiled once for each version of a job.
func TestJobsAreRememberedUntilTheyChange(t *testing.T) {
	t.Parallel()
	jobs := NewJobs()
	job := model.Job{Row: model.Row{Tenant: "acme", Version: 1, UpdatedAt: time.Unix(1, 0)}, BoardCode: "A",
		Questions: []model.Question{{ID: "a", Format: model.Date}}, ComplianceGroups: []string{"complianceVevraa"}}
	first, err := jobs.Answers(&job)
	require.NoError(t, err)
	require.Len(t, first.Questions(), 2)
	require.Equal(t, []string{"eeocVeteran"}, []string{first.Check(nil)[0].QuestionID}, "a group's questions are required")
	again, err := jobs.Answers(&job)
	require.NoError(t, err)
	require.Same(t, first, again)
	for _, change := range []func(j *model.Job){
		func(j *model.Job) { j.Version = 2 },
		func(j *model.Job) { j.Tenant = "initech" },
		func(j *model.Job) { j.BoardCode = "B" },
		func(j *model.Job) { j.UpdatedAt = time.Unix(2, 0) }, // deleted, and made anew
	} {
		other := job
		other.Questions = nil
		change(&other)
		got, err := jobs.Answers(&other)
		require.NoError(t, err)
		require.Len(t, got.Questions(), 1)
	}
	for n := range 2 * rememberedJobs {
		other := job
		other.Version = int64(n + 10)
		_, err := jobs.Answers(&other)
		require.NoError(t, err)
	}
	require.Equal(t, rememberedJobs, jobs.compiled.Len(), "there is an end to it")
	unstored := model.Job{BoardCode: "A"}
	_, err = jobs.Answers(&unstored)
	require.NoError(t, err)
	unstored.Questions = job.Questions
	got, err := jobs.Answers(&unstored)
	require.NoError(t, err)
	require.Len(t, got.Questions(), 1)
	unstored.Questions = []model.Question{{ID: "a", Format: "x"}}
	_, err = jobs.Answers(&unstored)
	require.ErrorContains(t, err, "job A: question a")
}

func TestAnswersAreCheckedConcurrently(t *testing.T) {
	t.Parallel()
	a := sampleAnswers(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				if a.Check(goodApplication()) != nil || len(a.Check(nil)) != 9 {
					t.Error("the outcome is another one than alone")
				}
			}
		})
	}
	wait.Wait()
}

// No message has anything of an answer in it.
func TestMessagesDoNotQuoteAnswers(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	a := sampleAnswers(t)
	var given []Answer
	for _, q := range a.Questions() {
		given = append(given, Answer{QuestionID: q.ID, Text: secret + "|" + strings.Repeat(secret, 500)})
	}
	given[5] = Answer{QuestionID: "resume", File: &File{MediaType: "text/" + secret, Size: 1}}
	for _, invalid := range a.Check(given) {
		require.NotContains(t, strings.Join(invalid.Messages, " "), secret)
	}
}

func TestApplicationsShape(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"jobBoardCode":"A","source":"","answers":[]}`:                                 nil,
		`{"answers":[{"value":"","questionId":"a"}],"source":"s","jobBoardCode":"A"}`:   nil,
		`{"jobBoardCode":"A","source":"` + strings.Repeat("é", 255) + `","answers":[]}`: nil,
		`{"jobBoardCode":"A","source":"` + strings.Repeat("é", 256) +
			`","answers":[]}`: {"source is longer than 255 characters: shorten it"},
		`{"jobBoardCode":"A","source":"","answers":[],"more":{"x":1}}`:                     nil,
		`{"jobBoardCode":"A","source":"","answers":[{"questionId":"a","value":"","x":1}]}`: nil,
		`[]`: {"an application is a JSON object"},
		`{}`: {"jobBoardCode is missing: send the job board code of the job",
			"source is missing: send a text, which may be empty", "answers are missing: send an array"},
		`{"jobBoardCode":1,"source":null,"answers":{}}`: {"jobBoardCode is a string: send the job board code of the job",
			"source is a string, which may be empty", "answers are an array: send one"},
		`{"jobBoardCode":"A","source":"","answers":[1,{},{"questionId":1,"value":2},{"questionId":null,"value":null}]}`: {
			"an answer is an object with questionId and value",
			"an answer has a questionId and a value, which are strings: a questionId is missing",
			"an answer has a questionId and a value, which are strings: a value is missing",
			"questionId is a string: send the id of a question", "the value of an answer is a string, which may be empty",
		},
		`{"jobBoardCode":"A","source":"","answers":[` + strings.TrimSuffix(strings.Repeat(`{"questionId":"a","value":""},`,
			MaxAnswers), ",") + `]}`: nil,
		`{"jobBoardCode":"A","source":"","answers":[` + strings.TrimSuffix(strings.Repeat(`{"questionId":"a","value":""},`,
			MaxAnswers+1), ",") + `]}`: {"there are more than 1000 answers: leave some out"},
	} {
		var application any
		decoder := json.NewDecoder(strings.NewReader(body))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&application))
		require.Equal(t, want, CheckApplication(application), "%.80s", body)
		anything, err := compileDocument(map[string]any{})
		require.NoError(t, err)
		require.Nil(t, checkApplication(anything, application), "it is the schema that finds it")
	}
}

// An application may choose all 150,000 options of a job: each is looked up, and none is compared with all others.
func TestChoosingAllOptionsOfALargeJobTakesLittle(t *testing.T) {
	options := make([]string, 500)
	for n := range options {
		options[n] = fmt.Sprintf("o-%03d", n)
	}
	questions, given := make([]model.Question, model.MaxQuestions), make([]Answer, model.MaxQuestions)
	for n := range questions {
		id := fmt.Sprintf("q-%03d", n)
		questions[n] = model.Question{ID: id, Format: model.Checkbox, Options: options}
		given[n] = Answer{QuestionID: id, Text: strings.Join(options, "|")}
	}
	a := answersTo(t, questions...)
	took := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.Empty(t, a.Check(given))
		}
	})
	t.Log(took, took.MemString())
	require.Less(t, took.AllocedBytesPerOp(), int64(2<<20))
}

// What is kept of jobs is bounded in bytes as well: one may ask 4 MiB.
func TestLargeJobsAreForgottenEarlier(t *testing.T) {
	t.Parallel()
	jobs := NewJobs()
	for n := range 64 {
		job := model.Job{Row: model.Row{Tenant: "acme", Version: int64(n + 1)}, BoardCode: "A",
			Questions: []model.Question{{ID: "a", Format: model.Select, Options: []string{strings.Repeat("x", 3<<20)}}}}
		_, err := jobs.Answers(&job)
		require.NoError(t, err)
		require.NotNil(t, jobs.Known(&job))
	}
	require.LessOrEqual(t, jobs.bytes, rememberedBytes)
	require.Equal(t, rememberedBytes/(3<<20), jobs.compiled.Len())
}
