package manageapi_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// A spreadsheet gets those that the filters choose, with the answers to the questions of the job. What strangers wrote is
// no formula there, and a phone number is as it was.
func TestTableForSpreadsheets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.must(http.StatusOK, http.MethodPut, acme+"/jobs/NURSE-1", `{"id":"job-1","title":"Nurse","questions":[
		{"id":"why","format":"Text","label":"Why, here?"},{"id":"cv","format":"File","label":"Resume"}]}`)
	b.must(http.StatusOK, http.MethodPut, acme+"/candidates/c-1", `{"name":{"given":"=1+1","family":"Park"},
		"phone":["+49 30 901820"],"email":["zoe@example.org"]}`)
	for n := range 600 {
		b.must(http.StatusCreated, http.MethodPut, fmt.Sprintf("%s/job-applications/b-%d", acme, n), `{"candidate":"c-1"}`)
	}
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertApplicationAnswers("acme", "a-1", &model.ApplicationAnswers{Source: "@board",
			Answers: []model.Given{{Question: "why", Label: "Why?", Format: "Text", Values: []string{"Grace,\nkind \"and\" all"}}}})
	})
	out, _, err := b.cli("application", "list", "acme", "--job", "NURSE-1", "--csv")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(out, "\ufeff"))
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(out, "\ufeff"))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{
		{"application", "arrived", "candidate", "name", "e-mail", "phone", "job board code", "job", "step", "entered", "ended", "source",
			"API user", "Why, here?"},
		{"a-1", "2026-11-20 12:00:00", "c-1", "'=1+1 Park", "zoe@example.org", "+49 30 901820", "NURSE-1", "Nurse", "", "", "", "'@board",
			"", "Grace,\nkind \"and\" all"},
	}, rows)
	all, err := csv.NewReader(strings.NewReader(b.must(http.StatusOK, http.MethodGet, acme+"/job-applications.csv", "").body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, all, 602)

	b.must(http.StatusNotFound, http.MethodGet, acme+"/job-applications.csv?job=none", "")
	b.must(http.StatusBadRequest, http.MethodGet, acme+"/job-applications.csv?count=true", "")
	keyed := b.keyed()
	keyed.as(keyed.key("k-1", "acme", model.Viewer)).refused(http.StatusForbidden, http.MethodGet, acme+"/job-applications.csv", "")
	operator := keyed.as(keyed.key("k-2", "acme", model.Operator))
	require.Equal(t, [][3]string{{"acme", "show-answers", "job-applications"}, {"acme", "show-answers", "job-applications"}},
		operator.entries("action=show-answers"))
}
