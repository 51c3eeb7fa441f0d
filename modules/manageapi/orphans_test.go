package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/temporaltest"
)

type orphans struct {
	Count, Looked, Young int
	More                 bool
	Items                []struct {
		Workflow  string
		StartedAt time.Time
	}
}

func TestOrphansAreListedAndEnded(t *testing.T) {
	t.Parallel()
	address, c := temporaltest.New(t)
	b := &fixture{Fixture: gatewaytest.NewAt(t, t.TempDir(), address), t: t}
	b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
	here := b.export("acme", "here")
	for id, e := range map[string]int64{"export/acme/here": here.ID, "export/acme/gone": 7} {
		o := client.StartWorkflowOptions{ID: id, TaskQueue: workflows.DeliverQueue}
		_, err := c.ExecuteWorkflow(t.Context(), o, export.WorkflowName, export.Input{Exports: []int64{e},
			DeliverTill: time.Now().Add(time.Hour), To: []string{"hris"}})
		require.NoError(t, err)
	}
	b.Clock.Advance(time.Since(b.Clock.Now()) + time.Hour)

	var s orphans
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		s = get[orphans](b, "/v1/strays")
		assert.Equal(c, 1, s.Count)
	}, time.Minute, 100*time.Millisecond)
	require.False(t, s.More)
	require.Equal(t, "export/acme/gone", s.Items[0].Workflow)
	require.WithinDuration(t, time.Now(), s.Items[0].StartedAt, time.Minute)
	out, _, err := b.cli("export", "strays")
	require.NoError(t, err)
	require.Regexp(t, `(?s)^WORKFLOW +STARTED.*\nexport/acme/gone +\S+`, out)

	_, _, err = b.cli("export", "strays", "--end")
	require.ErrorContains(t, err, "add --yes")
	out, _, err = b.cli("export", "strays", "--end", "--yes")
	require.NoError(t, err)
	require.Equal(t, "Workflows that were ended: 1\n", out)
	run := c.GetWorkflow(t.Context(), "export/acme/gone", "")
	require.ErrorContains(t, run.Get(t.Context(), nil), "terminated")
	require.Equal(t, [][3]string{{"", "end", "strays"}}, b.entries("action=end"))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		out, _, err = b.cli("export", "strays")
		assert.NoError(c, err)
		assert.Equal(c, "Each open workflow has its exports in the database.\n", out)
	}, time.Minute, 100*time.Millisecond)
	out, _, err = b.cli("export", "strays", "--end", "--yes", "--json")
	require.NoError(t, err)
	require.JSONEq(t, `{"ended":0,"young":0,"more":false}`, out)
	require.Len(t, b.entries("action=end"), 1, "nothing was ended")

	b.Clock.Advance(-2 * time.Hour) // all are younger than a minute then
	out, said, err := b.cli("export", "strays")
	require.NoError(t, err)
	require.Equal(t, "No open workflow was compared.\n", out)
	require.Contains(t, said, "not compared, as they are younger than a minute: 1. Look again in a minute.")
}

func TestOrphansBelongToNoTenant(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	one, operator := b.as(b.key("k-1", "acme", model.Admin)), b.as(b.key("k-2", "", model.Operator))
	for path, method := range map[string]string{"/v1/strays": http.MethodGet, "/v1/strays/end": http.MethodPost} {
		require.Contains(t, one.problem(method, path, "", http.StatusNotFound), "a key that opens all")
		operator.problem(method, path, "", http.StatusForbidden)
	}
}

func TestOrphansWithoutTemporal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, method := range map[string]string{"/v1/strays": http.MethodGet, "/v1/strays/end": http.MethodPost} {
		require.Contains(t, b.problem(method, path, "", http.StatusServiceUnavailable), "Temporal does not answer")
	}
	require.Empty(t, b.entries("action=end"))
}
