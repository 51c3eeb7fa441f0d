package manageapi_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// veterans puts answers to the question of complianceVevraa into the store: so many of each option, in the form's
// order.
func (b *fixture) veterans(job string, of ...int) {
	b.t.Helper()
	b.must(http.StatusCreated, http.MethodPut, acme+"/jobs/"+job,
		`{"id":"id-`+job+`","complianceGroups":["complianceVevraa"]}`)
	b.Write(b.t, func(tx *store.Tx) error {
		for option, n := range of {
			for i := range n {
				a := &model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: fmt.Sprint(job, option, "-", i), Job: job}
				answer := model.ComplianceAnswer{Question: "eeocVeteran", Group: "complianceVevraa", Choice: true,
					Value: veteran[option]}
				if err := tx.InsertComplianceAnswer(a, answer, b.Clock.Now()); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

var veteran = []string{
	"I identify as one or more of the classifications of protected veteran listed above", "I am not a protected veteran",
	"I do not want to answer",
}

func TestComplianceReport(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.veterans("A", 3, 8, 20)
		b.veterans("B", 7, 9, 20)
		type report struct {
			Job    *string
			Groups []struct {
				Group     string
				Questions []struct {
					ID      string
					Answers *int
					Options []struct {
						Option string
						Count  *int
					}
				}
			}
		}
		told := func(query string) (all []int) {
			r := get[report](b, acme+"/compliance-report"+query)
			require.Len(t, r.Groups, 1)
			require.Equal(t, "complianceVevraa", r.Groups[0].Group)
			q := r.Groups[0].Questions[0]
			for n, o := range q.Options {
				require.Equal(t, veteran[n], o.Option)
				if o.Count == nil {
					all = append(all, -1)
				} else {
					all = append(all, *o.Count)
				}
			}
			return append(all, *q.Answers)
		}
		require.Equal(t, []int{-1, -1, 20, 31}, told("?job=A"))
		require.Equal(t, []int{-1, -1, 20, 36}, told("?job=B"), "all less this is A")
		require.Equal(t, []int{10, 17, 40, 67}, told(""))

		b.must(http.StatusCreated, http.MethodPut, acme+"/jobs/C", `{"id":"id-C"}`)
		require.Empty(t, get[report](b, acme+"/compliance-report?job=C").Groups)
		b.refused(http.StatusNotFound, http.MethodGet, acme+"/compliance-report?job=D", "")
		b.refused(http.StatusBadRequest, http.MethodGet, acme+"/compliance-report?candidate=c-1", "")
		require.Empty(t, get[report](b, "/v1/tenants/globex/compliance-report").Groups)
	})
}

// What was answered goes with its application: to another job, and away.
func TestAnswersGoWithTheirApplication(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-1", `{}`)
		for _, job := range []string{"A", "B"} {
			b.must(http.StatusCreated, http.MethodPut, acme+"/jobs/"+job, `{"id":"id-`+job+`"}`)
		}
		db := b.Runtime.Store()
		for n := range 5 {
			id := fmt.Sprint("a-", n)
			b.must(http.StatusCreated, http.MethodPut, acme+"/job-applications/"+id, `{"candidate":"c-1","jobBoardCode":"A"}`)
			b.Write(t, func(tx *store.Tx) error {
				a := &model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: id, Job: "A"}
				if err := tx.InsertApplicationAnswers(a.Tenant, a.ID, &model.ApplicationAnswers{Answers: []model.Given{{Question: "why",
					Values: []string{"so"}}}}); err != nil {
					return err
				}
				return tx.InsertComplianceAnswer(a, model.ComplianceAnswer{Question: "eeocVeteran", Group: "complianceVevraa",
					Choice: true, Value: veteran[0]}, b.Clock.Now())
			})
		}
		told := func(query string) string {
			return regexp.MustCompile(`"answers":\w+`).FindString(b.must(http.StatusOK, http.MethodGet,
				acme+"/compliance-report"+query, "").body)
		}
		require.Equal(t, `"answers":5`, told("?job=A"))
		b.must(http.StatusNoContent, http.MethodDelete, acme+"/job-applications/a-0", "")
		_, err := db.ApplicationAnswers(t.Context(), "acme", "a-0")
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Equal(t, `"answers":null`, told("?job=A"), "four are few enough to hide")

		b.must(http.StatusOK, http.MethodPut, acme+"/job-applications/a-1", `{"candidate":"c-1","jobBoardCode":"B"}`)
		b.must(http.StatusOK, http.MethodPut, acme+"/job-applications/a-2", `{"candidate":"c-1"}`)
		for _, id := range []string{"a-3", "a-4"} {
			b.refused(http.StatusConflict, http.MethodDelete, acme+"/jobs/A", "")
			b.refused(http.StatusConflict, http.MethodDelete, acme+"/candidates/c-1", "")
			b.must(http.StatusNoContent, http.MethodDelete, acme+"/job-applications/"+id, "")
		}
		b.must(http.StatusNoContent, http.MethodDelete, acme+"/jobs/A", "")
		b.must(http.StatusCreated, http.MethodPut, acme+"/jobs/A", `{"id":"id-A"}`)
		require.Empty(t, told("?job=A"), "a job made anew has the answers of the one before")
		counts, err := db.CountComplianceAnswers(t.Context(), "acme", "")
		require.NoError(t, err)
		of := model.ComplianceCount{Group: "complianceVevraa", Question: "eeocVeteran", Value: veteran[0], Count: 1}
		without, another := of, of
		another.Job = "B"
		require.Equal(t, []model.ComplianceCount{without, another}, counts)
	})
}

func TestComplianceReportHasItsOwnRole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.veterans("A", 5, 6, 7)
	k := b.keyed()
	admin := k.as(k.key("root", "acme", model.Admin))
	made := parsed[struct{ ID, Key string }](b, admin.must(http.StatusCreated, http.MethodPost, "/v1/api-keys",
		`{"label":"EEO officer","tenant":"acme","role":"compliance"}`))
	officer := k.as("Bearer " + made.Key)
	officer.must(http.StatusOK, http.MethodGet, acme+"/compliance-report", "")
	require.Equal(t, 1, b.Logged.FilterMessage("compliance report read").FilterField(zap.String("actor", made.ID)).Len())
	officer.refused(http.StatusNotFound, http.MethodGet, "/v1/tenants/globex/compliance-report", "")
	officer.refused(http.StatusForbidden, http.MethodGet, acme+"/jobs", "")
	admin.must(http.StatusOK, http.MethodGet, acme+"/compliance-report", "")
	for _, role := range []model.Role{model.Viewer, model.Operator} {
		require.Contains(t, k.as(k.key(string(role), "acme", role)).refused(http.StatusForbidden, http.MethodGet,
			acme+"/compliance-report", ""), "this takes compliance")
	}
}

func TestComplianceCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.veterans("A", 3, 8, 20)
	do := func(args ...string) (string, string, error) {
		return run(t, admin.Compliance(), append(args, "--admin",
			strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate"))...)
	}
	out, hints, err := do("show", "acme", "--job", "A")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^complianceVevraa +eeocVeteran +I do not want to answer +20$`, out)
	require.Regexp(t, `(?m)^complianceVevraa +eeocVeteran +I am not a protected veteran +hidden$`, out)
	require.Regexp(t, `(?m)^complianceVevraa +eeocVeteran +\(all\) +31$`, out)
	require.Contains(t, hints, "fewer than 5")
	out, _, err = do("show", "acme", "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"count":null`)
	_, hints, err = do("show", "globex")
	require.NoError(t, err)
	require.Contains(t, hints, "Nobody was asked")
	_, _, err = do("show")
	require.ErrorContains(t, err, "name the tenant")
}
