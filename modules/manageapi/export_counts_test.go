package manageapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// The counts are those of the lists that they stand for, of the tenants that the caller sees.
func TestExportCounts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.t = t
		b.delivery(b.export("acme", "u-1"), "hris", model.Failed, 500)
		b.delivery(b.export("acme", "u-2"), "hris", model.Delivered, 200)
		b.delivery(b.export("acme", "u-3"), "crm", model.Delivered, 200)
		b.export("acme", "u-4", func(e *model.Export) { e.Quarantined = true })
		b.delivery(b.export("globex", "u-5"), "hris", model.Retrying, 500)

		all := get[api.ExportCounts](b, "/v1/export-counts")
		require.Equal(t, api.Count{Count: 5}, all.All)
		require.Equal(t, []int64{1, 0, 2, 1, 0, 1}, []int64{all.Retrying.Count, all.Held.Count, all.Delivered.Count,
			all.Failed.Count, all.Expired.Count, all.Quarantined.Count})
		hris := get[api.ExportCounts](b, acme+"/export-counts?integration=hris&outcome=failed")
		require.Equal(t, []int64{1, 1, 1, 0}, []int64{hris.All.Count, hris.Failed.Count, hris.Delivered.Count,
			hris.Retrying.Count})
		waiting := get[api.ExportCounts](b, "/v1/export-counts?undelivered=true")
		require.Equal(t, []int64{1, 1, 0}, []int64{waiting.All.Count, waiting.Retrying.Count, waiting.Failed.Count})
		require.Nil(t, waiting.Delivered)
		for query, why := range map[string]string{"uuid=6f1c0f1e": "not counted by uuid", "outcome=lost": "no such outcome",
			"order=oldest": "order"} {
			require.Contains(t, b.problem(http.MethodGet, acme+"/export-counts?"+query, "", http.StatusBadRequest), why)
		}
		require.Equal(t, []string{"acme/u-1", "acme/u-2", "acme/u-3", "acme/u-4"},
			get[listed](b, acme+"/exports?order=oldest").ids())
		first := get[listed](b, acme+"/exports?order=oldest&limit=3")
		require.Equal(t, []string{"acme/u-4"}, get[listed](b, acme+"/exports?order=oldest&limit=3&cursor="+*first.Next).ids())
		require.Contains(t, b.problem(http.MethodGet, acme+"/exports?order=newest", "", http.StatusBadRequest),
			"order can only be oldest")
	})
}
