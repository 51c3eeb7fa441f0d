package manageapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// What was triggered can't be redelivered once its document URLs have ended: its candidates are exported again, as new
// events, after a preview, and once.
func TestCandidatesOfARangeAreExportedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.must(http.StatusCreated, http.MethodPut, acme+"/steps/hired/helper", `{}`)
	b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"hired"}`)
	former := b.Exports(t)[0]
	shown := get[api.ExportDetail](b, acme+"/exports/"+former.Key)
	require.Equal(t, [3]string{"triggered", "a-1", "hired"}, [3]string{string(shown.Origin), shown.JobApplication, shown.Step})
	b.Delivery(t, former, "hris", model.Expired, http.StatusServiceUnavailable)
	b.Clock.Advance(3 * time.Hour)
	require.Contains(t, b.refused(http.StatusConflict, http.MethodPost, acme+"/exports/"+former.Key+"/redeliver", ""),
		"hiregate candidate export")
	again := func(more ...string) (string, error) {
		out, hints, err := b.cli(append([]string{"candidate", "export", "--tenant", "acme", "--integration", "hris", "--since",
			b.Clock.Now().Add(-4 * time.Hour).Format(time.RFC3339), "--until", b.Clock.Now().Add(time.Hour).Format(time.RFC3339),
			"--rate", "1000"}, more...)...)
		return out + hints, err
	}
	out, err := again("--dry-run", "--step", "hired")
	require.NoError(t, err)
	require.Regexp(t, `exports +1\n`, out)
	require.Contains(t, out, "Nothing was exported")
	require.Len(t, b.Exports(t), 1)
	_, err = again("--step", "applied")
	require.ErrorContains(t, err, "nothing to export again")

	out, err = again("--step", "hired")
	require.NoError(t, err)
	require.Contains(t, out, "exported 1 candidates again")
	all := b.Exports(t)
	require.Len(t, all, 2)
	require.Equal(t, []string{"hris"}, all[0].Integrations)
	require.Equal(t, "a-1", get[api.ExportDetail](b, acme+"/exports/"+all[0].Key).JobApplication)
	_, err = again()
	require.ErrorContains(t, err, "nothing to export again")

	b.must(http.StatusNoContent, http.MethodDelete, application, "")
	require.Empty(t, get[api.ExportDetail](b, acme+"/exports/"+former.Key).JobApplication, "what was erased is named nowhere")
}
