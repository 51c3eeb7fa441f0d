package manageapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
)

func TestExportEraseCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.delivery(b.export("acme", "a/b", undocumented), "hris", model.Delivered)
	b.delivery(b.export("acme", "u-2", about("c 1")), "hris", model.Held)
	b.delivery(b.export("acme", "u-3", about("c 1")), "hris", model.Delivered)
	for want, args := range map[string][]string{
		"add --yes":            {"acme/a/b"},
		"takes either":         {"--yes"},
		"or --tenant with --c": {"acme/a/b", "--tenant", "acme", "--candidate", "c-1", "--yes"},
		"add --tenant":         {"--candidate", "c-1", "--yes"},
		"whose export is it":   {"u-2", "--yes"},
	} {
		_, _, err := b.cli(append([]string{"export", "erase"}, args...)...)
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, b.must(http.StatusOK, http.MethodGet, "/v1/exports", "").body, "erasedAt")

	out, _, err := b.cli("export", "erase", "acme/a/b", "acme/u-2", "--yes")
	require.ErrorContains(t, err, "1 were not erased, since they are not finished: --cancel ends")
	require.Regexp(t, `^EXPORT +ERASED +WHY NOT\nacme/a/b +20\d\d-\S+Z \(.*\) +-\n`+
		`acme/u-2 +- +this export is not finished: its delivery to hris is held; .*\n$`, out)
	out, _, err = b.cli("export", "erase", "--tenant", "acme", "--candidate", "c 1", "--yes", "--json")
	require.ErrorContains(t, err, "1 were not erased")
	require.Regexp(t, `^{"id":"u-3","receivedAt":"2026-11-20T12:00:00Z","erasedAt":"\S+"}\n{"id":"u-2","receivedAt":"2026-11-20T12:00:00Z","refused":".*"}\n$`, out)
	out, _, err = b.cli("export", "erase", "--tenant", "acme", "--candidate", "c 1", "--cancel", "--yes")
	require.NoError(t, err)
	require.Regexp(t, `^EXPORT +ERASED +WHY NOT\nacme/u-2 +20\d\d-\S+Z \(.*\) +-\n$`, out)
	_, _, err = b.cli("export", "erase", "--tenant", "acme", "--candidate", "c 1", "--cancel", "--yes")
	require.ErrorContains(t, err, "nothing was erased: tenant acme has no export about a candidate c 1")
	_, _, err = b.cli("export", "erase", "acme/u-9", "--yes")
	require.EqualError(t, err, "this tenant has no export of that UUID")
	out, _, err = b.cli("export", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^acme/u-2 .* hris failed, erased$`, out)
}

// A candidate may have more exports than a page holds.
func TestExportEraseCommandPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 53
	for i := range n {
		b.export("acme", fmt.Sprint("u-", i), about("c-1"))
	}
	b.delivery(b.export("acme", "held", about("c-1")), "hris", model.Held) // the first of the first page
	out, _, err := b.cli("export", "erase", "--tenant", "acme", "--candidate", "c-1", "--yes")
	require.ErrorContains(t, err, "1 were not erased")
	require.Equal(t, n+2, strings.Count(out, "\n"), out)
	require.Equal(t, []string{"acme/held"}, get[listed](b, "/v1/tenants/acme/exports?candidate=c-1").ids())
}

// Exports of a range are erased, or released, one after the other.
func TestExportRangeCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := func(minutes int, change ...func(*model.Export)) func(*model.Export) {
		return func(e *model.Export) {
			e.ReceivedAt = gatewaytest.Noon.Add(time.Duration(minutes) * time.Minute)
			e.ID = model.FirstID(e.ReceivedAt)
			e.Attachments = 0
			for _, fn := range change {
				fn(e)
			}
		}
	}
	quarantined := func(e *model.Export) { e.Quarantined = true }
	for minute, outcome := range []model.Outcome{model.Delivered, model.Delivered, model.Held} {
		b.delivery(b.export("acme", fmt.Sprint("u-", minute), at(minute)), "hris", outcome)
	}
	b.export("acme", "q-3", at(3, quarantined))
	b.export("acme", "q-4", at(4, quarantined))
	flags := []string{"--tenant", "acme", "--since", "2026-11-20T12:01:00Z", "--until", "2026-11-20T12:04:00Z"}

	_, _, err := b.cli(append([]string{"export", "release"}, flags[2:]...)...)
	require.ErrorContains(t, err, "add --tenant")
	_, _, err = b.cli(append([]string{"export", "release", "acme/q-3"}, flags...)...)
	require.ErrorContains(t, err, "takes either exports")
	out, _, err := b.cli(append([]string{"export", "release"}, flags...)...)
	require.NoError(t, err)
	require.Contains(t, out, "acme/q-3")
	require.NotContains(t, out, "acme/q-4")
	out, _, err = b.cli(append([]string{"export", "release"}, flags...)...)
	require.ErrorContains(t, err, "no export matches")
	require.Empty(t, out)

	out, _, err = b.cli(append([]string{"export", "erase", "--yes"}, flags...)...)
	require.ErrorContains(t, err, "1 were not erased", "u-2 is held")
	require.Regexp(t, `(?s)^EXPORT .*\nacme/q-3 .*\nacme/u-2 .*\nacme/u-1 `, out)
	require.NotContains(t, out, "acme/u-0")
	out, _, err = b.cli(append([]string{"export", "erase", "--yes", "--undelivered", "--cancel"}, flags...)...)
	require.NoError(t, err)
	require.Regexp(t, `^EXPORT .*\nacme/u-2 .*\n$`, out)
	_, _, err = b.cli(append([]string{"export", "erase", "--yes", "--candidate", "c-9"}, flags...)...)
	require.ErrorContains(t, err, "no export matches")
}
