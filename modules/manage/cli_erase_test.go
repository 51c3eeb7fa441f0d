package manage_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

func TestExportEraseCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.delivery(b.export("acme", "a/b", undocumented), "hris", hiring.Delivered)
	b.delivery(b.export("acme", "u-2", about("c 1")), "hris", hiring.Held)
	b.delivery(b.export("acme", "u-3", about("c 1")), "hris", hiring.Delivered)
	for want, args := range map[string][]string{
		"add --yes":           {"acme/a/b"},
		"takes either":        {"--yes"},
		"or --tenant and --c": {"acme/a/b", "--tenant", "acme", "--candidate", "c-1", "--yes"},
		"add --tenant":        {"--candidate", "c-1", "--yes"},
		"whose export is it":  {"u-2", "--yes"},
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
	b.delivery(b.export("acme", "held", about("c-1")), "hris", hiring.Held) // the first of the first page
	out, _, err := b.cli("export", "erase", "--tenant", "acme", "--candidate", "c-1", "--yes")
	require.ErrorContains(t, err, "1 were not erased")
	require.Equal(t, n+2, strings.Count(out, "\n"), out)
	require.Equal(t, []string{"acme/held"}, get[listed](b, "/v1/tenants/acme/exports?candidate=c-1").ids())
}
