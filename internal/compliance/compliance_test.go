package compliance_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
)

func TestForms(t *testing.T) {
	t.Parallel()
	questions := map[string][]string{
		"complianceEeo": {"eeocGender", "eeocRace"}, "complianceOfccp": {"eeocDisability", "eeocDisabilitySignature",
			"eeocDisabilitySignatureDate"}, "complianceVevraa": {"eeocVeteran"},
	}
	require.Len(t, compliance.Groups, len(questions))
	for _, group := range compliance.Groups {
		f, ok := compliance.Find(group)
		require.True(t, ok)
		require.Equal(t, group, f.Group)
		for _, s := range append([]string{f.Title, f.Source, f.Form, f.Dated}, f.Text...) {
			require.NotEmpty(t, s)
		}
		var ids []string
		for _, q := range f.Questions {
			ids = append(ids, q.ID)
			require.True(t, q.IsRequired, "an exposed compliance question is required")
			require.Equal(t, group, *q.Group)
			if q.Format == model.Select {
				require.Equal(t, "I do not want to answer", q.Options[len(q.Options)-1], "it offers to decline")
			}
		}
		require.Equal(t, questions[group], ids)
	}
	race, _ := compliance.Find("complianceEeo")
	require.Len(t, race.Questions[1].Options, 7+1)
	_, ok := compliance.Find("complianceX")
	require.False(t, ok)
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	f, _ := compliance.Find("complianceOfccp")
	require.Equal(t, "2026-04-30", f.Expires)
	require.False(t, f.Expired(time.Date(2026, 4, 30, 23, 59, 59, 0, time.UTC)))
	require.True(t, f.Expired(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)))
	f, _ = compliance.Find("complianceEeo")
	require.False(t, f.Expired(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)))
}

// The sample's last three questions are those of the group that they name.
func TestSampleAsksTheFormsQuestions(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../testdata/samples/questions.json")
	require.NoError(t, err)
	var sample []model.Question
	require.NoError(t, json.Unmarshal(raw, &sample))
	own := len(sample) - 3
	job := &model.Job{Questions: sample[:own], ComplianceGroups: []string{"complianceOfccp"}}
	require.Equal(t, sample, compliance.Ask(job))
	job.ComplianceGroups = []string{"complianceVevraa", "complianceEeo"}
	all := compliance.Ask(job)
	require.Equal(t, "eeocGender", all[own].ID)
	require.Equal(t, "eeocVeteran", all[own+2].ID)
}
