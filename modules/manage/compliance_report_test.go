package manage_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/commands"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

// veterans puts answers to the question of complianceVevraa into the store: so many of each option, in the form's order.
func (b *bench) veterans(job string, of ...int) {
	b.t.Helper()
	b.must(http.StatusCreated, http.MethodPut, acme+"/jobs/"+job, `{"id":"id-`+job+`","complianceGroups":["complianceVevraa"]}`)
	b.Write(b.t, func(tx *store.Tx) error {
		for option, n := range of {
			for i := range n {
				a := &hiring.JobApplication{Row: hiring.Row{Tenant: "acme"}, ID: fmt.Sprint(job, option, "-", i), Job: job}
				answer := hiring.ComplianceAnswer{Question: "eeocVeteran", Group: "complianceVevraa", Choice: true, Value: veteran[option]}
				if err := tx.AddComplianceAnswer(a, answer, b.Clock.Now()); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

var veteran = []string{
	"I identify as one or more of the classifications of protected veteran listed above", "I am not a protected veteran", "I do not want to answer",
}

func TestComplianceReport(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *bench) {
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

func TestComplianceReportHasItsOwnRole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.veterans("A", 5, 6, 7)
	k := b.keyed()
	admin := k.as(k.key("root", "acme", hiring.Admin))
	made := parsed[struct{ ID, Key string }](b, admin.must(http.StatusCreated, http.MethodPost, "/v1/api-keys", `{"label":"EEO officer","tenant":"acme","role":"compliance"}`))
	officer := k.as("Bearer " + made.Key)
	officer.must(http.StatusOK, http.MethodGet, acme+"/compliance-report", "")
	require.Equal(t, 1, b.Logged.FilterMessage("a compliance report was read").FilterField(zap.String("key", made.ID)).Len())
	officer.refused(http.StatusNotFound, http.MethodGet, "/v1/tenants/globex/compliance-report", "")
	officer.refused(http.StatusForbidden, http.MethodGet, acme+"/jobs", "")
	admin.must(http.StatusOK, http.MethodGet, acme+"/compliance-report", "")
	for _, role := range []hiring.Role{hiring.Viewer, hiring.Operator} {
		require.Contains(t, k.as(k.key(string(role), "acme", role)).refused(http.StatusForbidden, http.MethodGet, acme+"/compliance-report", ""), "this takes compliance")
	}
}

func TestComplianceCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.veterans("A", 3, 8, 20)
	do := func(args ...string) (string, string, error) {
		return run(t, commands.Compliance(), append(args, "--admin", strings.TrimSuffix(strings.TrimPrefix(b.url, "http://"), "/hiregate"))...)
	}
	out, hints, err := do("report", "--tenant", "acme", "--job", "A")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^complianceVevraa +eeocVeteran +I do not want to answer +20$`, out)
	require.Regexp(t, `(?m)^complianceVevraa +eeocVeteran +I am not a protected veteran +hidden$`, out)
	require.Regexp(t, `(?m)^complianceVevraa +eeocVeteran +\(all\) +31$`, out)
	require.Contains(t, hints, "fewer than 5")
	out, _, err = do("report", "--tenant", "acme", "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"count":null`)
	_, hints, err = do("report", "--tenant", "globex")
	require.NoError(t, err)
	require.Contains(t, hints, "Nobody was asked")
	_, _, err = do("report")
	require.ErrorContains(t, err, "name the tenant")
}
