package manageapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

func TestSignInRefusals(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		for n, r := range []identity.Refusal{
			identity.NewRefusal("payroll", true, identity.RedirectURIDiffers, "https://app.example/cb/", gatewaytest.Noon),
			identity.NewRefusal("payrol", false, identity.UnknownClient, "", gatewaytest.Noon),
		} {
			r.LastAt = r.LastAt.Add(time.Duration(n) * time.Minute)
			b.Write(t, func(tx *store.Tx) error { return tx.CountRefusal(r) })
		}
		type item = map[string]any
		page := get[struct {
			Items []item
			Next  *string
		}](b, "/v1/sign-in-refusals?limit=1")
		require.Equal(t, "payrol", page.Items[0]["client"])
		page = get[struct {
			Items []item
			Next  *string
		}](b, "/v1/sign-in-refusals?limit=1&cursor="+*page.Next)
		require.Equal(t, "payroll", page.Items[0]["client"])
		require.Nil(t, page.Next)
		require.Equal(t, page.Items, items(b, "/v1/sign-in-refusals?client=payroll"))
		out, _, err := b.cli("oauth-client", "refusals")
		require.NoError(t, err)
		require.Regexp(t, `^LAST +CLIENT +REASON +REDIRECT URI +COUNT\n`+
			`2026-11-20T12:01:00Z \(\d+\w ago\) +payrol +unknown client +- +1\n`+
			`2026-11-20T12:00:00Z \(\d+\w ago\) +payroll +redirect URI differs +https://app.example/cb/ +1\n$`, out)
	})
}
