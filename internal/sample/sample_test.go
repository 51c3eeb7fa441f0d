package sample_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/sample"
	"github.com/hiregate/hiregate/schemas"
)

func TestSampleDataBelongsTogether(t *testing.T) {
	t.Parallel()
	d, err := sample.Load()
	require.NoError(t, err)
	require.Equal(t, "initech", d.Tenant)
	require.Len(t, d.Candidates, 3)
	require.Len(t, d.Jobs, 5)
	raw, err := os.ReadFile("../../testdata/samples/questions.json")
	require.NoError(t, err)
	var questions []model.Question
	require.NoError(t, json.Unmarshal(raw, &questions))
	own := slices.IndexFunc(questions, func(q model.Question) bool { return q.Group != nil })
	require.Equal(t, questions[:own], d.Jobs[0].Questions)
	jobs, candidates, applications, steps := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, j := range d.Jobs {
		jobs[j.BoardCode] = true
	}
	for _, c := range d.Candidates {
		candidates[c.ID] = true
	}
	for _, s := range d.Steps {
		steps[s.ID] = true
	}
	for _, a := range d.Applications {
		require.True(t, jobs[a.Job], a.ID)
		require.True(t, candidates[a.Candidate], a.ID)
		applications[a.ID] = true
	}
	helps := map[string]bool{}
	for _, h := range d.Helpers {
		require.True(t, steps[h.Step], h.Step)
		helps[h.Step] = true
	}
	for _, e := range d.Entered {
		require.True(t, applications[e.Application], e.Application)
		require.True(t, steps[e.Step], e.Step)
		require.False(t, helps[e.Step], "nothing is exported before anybody asks")
	}
	for _, doc := range d.Documents {
		require.True(t, applications[doc.Application], doc.ID)
		content, err := doc.Content()
		require.NoError(t, err)
		require.NotEmpty(t, content)
	}
}

// Whoever tries the sample data is not shown a form that has expired: the log would warn about what they did not choose.
func TestSampleJobsExposeNoFormThatExpires(t *testing.T) {
	t.Parallel()
	d, err := sample.Load()
	require.NoError(t, err)
	require.NotEmpty(t, d.Jobs[0].ComplianceGroups, "the sample shows a compliance group")
	for _, j := range d.Jobs {
		for _, group := range j.ComplianceGroups {
			form, ok := compliance.Find(group)
			require.True(t, ok)
			require.Empty(t, form.Expires, "%s: %s", j.BoardCode, group)
		}
	}
}

// The application that docs/apply-api.md sends answers what the sample job asks.
func TestSampleApplicationAnswersTheSampleJob(t *testing.T) {
	t.Parallel()
	d, err := sample.Load()
	require.NoError(t, err)
	raw, err := os.ReadFile("../../testdata/samples/application.json")
	require.NoError(t, err)
	var application struct {
		JobBoardCode string
		Answers      []struct{ QuestionID, Value string }
	}
	require.NoError(t, json.Unmarshal(raw, &application))
	require.Equal(t, d.Jobs[0].BoardCode, application.JobBoardCode)
	answers, err := schemas.NewAnswers(compliance.Ask(&d.Jobs[0]))
	require.NoError(t, err)
	var given []schemas.Answer
	for _, a := range application.Answers {
		one := schemas.Answer{QuestionID: a.QuestionID, Text: a.Value}
		if a.QuestionID == "resume" {
			one = schemas.Answer{QuestionID: a.QuestionID, File: &schemas.File{MediaType: "application/pdf",
				Size: int64(len(a.Value))}}
		}
		given = append(given, one)
	}
	require.Empty(t, answers.Check(given))
}
