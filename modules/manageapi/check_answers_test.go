package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const nurseJob = "/v1/tenants/acme/jobs/NURSE-1"

// What applicants are asked has the questions of the compliance groups behind the job's own, and their text.
func TestAskedQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(http.StatusCreated, http.MethodPut, nurseJob, `{"id":"job-1",
		"complianceGroups":["complianceVevraa","complianceEeo"],
		"questions":[{"id":"motto","format":"Text","label":"Motto","isRequired":true}]}`)
	type asked struct {
		Questions []struct {
			ID    string
			Group *string
		}
		Groups []struct {
			Group   string
			Text    []string
			Expired bool
		}
	}
	all := get[asked](b, nurseJob+"/questions")
	require.Equal(t, "motto", all.Questions[0].ID)
	require.Nil(t, all.Questions[0].Group)
	require.Equal(t, "complianceEeo", *all.Questions[1].Group)
	require.Equal(t, "complianceVevraa", *all.Questions[len(all.Questions)-1].Group)
	require.Len(t, all.Groups, 2)
	require.Equal(t, "complianceEeo", all.Groups[0].Group)
	require.NotEmpty(t, all.Groups[0].Text)
	b.refused(http.StatusNotFound, http.MethodGet, "/v1/tenants/acme/jobs/none/questions", "")

	check := nurse + "/questions/check"
	require.Contains(t, b.must(http.StatusOK, http.MethodPost, check, `{"answers":[]}`).body,
		`{"questionId":"motto","messages":["Motto: an answer is required"]}`)
	b.refused(http.StatusNotFound, http.MethodPost, "/v1/tenants/acme/jobs/none/questions/check", `{"answers":[]}`)
	b.requireCleanLog()
}

// A file may be sent as what it is, without its content.
func TestFilesAreCheckedWithoutTheirContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(http.StatusCreated, http.MethodPut, nurseJob, `{"id":"job-1","questions":[
		{"id":"resume","format":"File","label":"Resume"},{"id":"motto","format":"Text","label":"Motto"}]}`)
	const check = nurseJob + "/questions/check"
	for file, want := range map[string]string{
		`{"mediaType":"application/pdf","size":2097151}`: `{"errors":[]}`,
		`{"mediaType":"application/pdf","size":2097152}`: "Resume: the file must be smaller than 2 MB (2097152 bytes)",
		`{"mediaType":"application/pdf","size":0}`:       "Resume: the file is empty",
		`{"mediaType":"video/mpeg","size":1}`:            "Resume: files of this type are not accepted",
	} {
		require.Contains(t, b.must(http.StatusOK, http.MethodPost, check,
			`{"answers":[{"questionId":"resume","file":`+file+`}]}`).body, want, file)
	}
	for _, answer := range []string{`{"questionId":"motto","file":{"mediaType":"text/plain","size":1}}`,
		`{"questionId":"resume","value":"eA==","file":{"mediaType":"text/plain","size":1}}`} {
		require.Contains(t, b.problem(http.MethodPost, check, `{"answers":[`+answer+`]}`, http.StatusUnprocessableEntity),
			"answers[0].file goes in the place of the value of a File question")
	}
}

// A tenant whose checks take all places that it may have keeps no other tenant waiting.
func TestChecksOfATenantAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, tenant := range []string{"acme", "globex"} {
		b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/"+tenant+"/jobs/NURSE-1", `{"id":"job-1","questions":[]}`)
	}
	taken := int64(0)
	for b.Runtime.Previews.TryAcquire("acme", 1) {
		taken++
	}
	require.Positive(t, taken)
	const check = "/jobs/NURSE-1/questions/check"
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme"+check, `{"answers":[]}`,
		http.StatusTooManyRequests), "too many answers are being checked")
	b.must(http.StatusOK, http.MethodPost, "/v1/tenants/globex"+check, `{"answers":[]}`)
	b.Runtime.Previews.Release("acme", taken)
	b.must(http.StatusOK, http.MethodPost, "/v1/tenants/acme"+check, `{"answers":[]}`)
}

// A job's page tells what came for it, and what was refused in the last week or since a time.
func TestReceivedForAJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	type received struct {
		Applications int
		Latest       time.Time
		Refused      []struct {
			QuestionID, Format string
			Count              int
			LastHour           time.Time
		}
	}
	require.Empty(t, get[received](b, nurseJob+"/received").Refused)
	b.Write(t, func(tx *store.Tx) error {
		for age, n := range map[time.Duration]int64{0: 1, 8 * 24 * time.Hour: 2, 91 * 24 * time.Hour: 4} {
			if err := tx.CountRefusedAnswers("acme", "NURSE-1", store.RefusedAnswers{Question: "motto",
				Format: model.Text, Count: n, LastHour: b.Clock.Now().Add(-age)}); err != nil {
				return err
			}
		}
		return nil
	})
	week := get[received](b, nurseJob+"/received")
	require.Equal(t, 1, week.Applications)
	require.Equal(t, b.Clock.Now(), week.Latest)
	require.Len(t, week.Refused, 1)
	require.Equal(t, 1, week.Refused[0].Count)
	require.Equal(t, gatewaytest.Noon.Truncate(time.Hour), week.Refused[0].LastHour)
	require.Equal(t, 3, get[received](b, nurseJob+"/received?since=2020-01-01T00:00:00Z").Refused[0].Count, "90 days")
	b.refused(http.StatusBadRequest, http.MethodGet, nurseJob+"/received?since=yesterday", "")
	b.refused(http.StatusNotFound, http.MethodGet, "/v1/tenants/acme/jobs/none/received", "")
}
