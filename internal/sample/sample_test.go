package sample_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/sample"
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
	var questions []hiring.Question
	require.NoError(t, json.Unmarshal(raw, &questions))
	asked := compliance.Ask(&d.Jobs[0])
	for n := range questions {
		require.Equal(t, questions[n], asked[n])
	}
	require.Len(t, asked, len(questions))
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
