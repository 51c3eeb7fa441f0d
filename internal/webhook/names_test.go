package webhook_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
)

func TestNamesForTheContractsWord(t *testing.T) {
	t.Parallel()
	n, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	require.Equal(t, webhook.Names{
		Service:       "Service",
		Signature:     "X-Service-Signature",
		Event:         "X-Service-Event",
		ExportContext: "X-Service-Export-Context",
		UUID:          "X-Service-UUID",
		UserAgent:     "Service",
		VerifyText:    "Service Verify Event",
	}, n)
	require.Equal(t, `{"data":"Service Verify Event"}`, string(n.VerifyBody()))
	require.Equal(t, "Service Legacy Candidate", n.SchemeID("Legacy Candidate"))
}

func TestNamesForAnotherMaker(t *testing.T) {
	t.Parallel()
	n, err := webhook.NamesFor("Acme_2")
	require.NoError(t, err)
	require.Equal(t, "X-Acme_2-Signature", n.Signature)
	require.Equal(t, "Acme_2", n.UserAgent)
	require.Equal(t, `{"data":"Acme_2 Verify Event"}`, string(n.VerifyBody()))

	received := http.Header{}
	received.Set("x-acme_2-uuid", "a") // as net/http stores what comes in
	require.Equal(t, "a", received.Get(n.UUID), "header names are matched case-insensitively")
}

func TestServiceNameMustBeAToken(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"S", "a-b", "x.y", "!#$%&'*+-.^_`|~09AZaz"} {
		_, err := webhook.NamesFor(ok)
		require.NoError(t, err, ok)
	}
	for _, bad := range []string{"", "My Service", "Sérvice", "a:b", "a/b", `a"b`, "a\n", "a\x00", "(a)", "a,b", "a\xff"} {
		_, err := webhook.NamesFor(bad)
		require.ErrorContains(t, err, "is not an HTTP token", "%q", bad)
	}
}
