package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// An export whose content was erased says so, and can't be redelivered.
func TestErasedExport(t *testing.T) {
	t.Parallel()
	onEach(t, testErasedExport)
}

func testErasedExport(t *testing.T, b *fixture) {
	erased := b.export("acme", "u-1", func(e *model.Export) { e.Attachments = 0 })
	b.delivery(erased, "hris", model.Delivered, 200)
	b.delivery(b.export("acme", "u-2", func(e *model.Export) { e.Attachments = 0 }), "hris", model.Held)
	retention := *b.Runtime.Retention // as the gateway made it, a century later
	later := time.Now().AddDate(100, 0, 0).UTC().Truncate(time.Second)
	retention.Now = func() time.Time { return later }
	b.Config.Retention = 90 * 24 * time.Hour
	n, err := retention.Erase(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)

	shown := b.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme/exports/u-1", "").body
	require.Contains(t, shown, `"erasedAt":"`+later.Format(time.RFC3339)+`"`)
	require.Contains(t, shown, `"candidate":""`)
	require.Contains(t, shown, `"answer":""`)
	require.NotContains(t, b.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme/exports/u-2", "").body, "erasedAt")
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/exports/u-1/redeliver", "{}", http.StatusConflict),
		"was erased, by retention or on request")
	out, _, err := b.cli("export", "show", "acme/u-1")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^erased +`+later.Format(time.RFC3339)+` \(in (99|100)y\)$`, out)
	out, _, err = b.cli("export", "show", "acme/u-2")
	require.NoError(t, err)
	require.NotContains(t, out, "erased")
}
