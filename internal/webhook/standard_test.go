package webhook_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

var sentAt = time.Unix(1614265330, 999_000_000)

// The vector is that of the specification's reference implementations.
func TestStandardSignature(t *testing.T) {
	t.Parallel()
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		webhook.SignStandard("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", sentAt,
			[]byte(`{"test": 2432232314}`)))
}

func TestStandardSignatureIsThatOfOpenSSL(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	require.NoError(t, err, "run make deps")
	key := []byte{0, 1, 2, 0xff, 'k'}
	for secret, raw := range map[string][]byte{
		"a plain secret": []byte("a plain secret"),
		"whsec_" + base64.StdEncoding.EncodeToString(key): key,
		"WHSEC_AAEC":         []byte("WHSEC_AAEC"),
		"whsec_ no base64 !": []byte("whsec_ no base64 !"),
	} {
		body := []byte(`{"candidate":{"name":"Zoë"}}`)
		cmd := exec.CommandContext(t.Context(), openssl, "dgst", "-sha256", "-mac", "HMAC", "-macopt",
			"hexkey:"+hex.EncodeToString(raw), "-binary")
		cmd.Stdin = bytes.NewReader(append([]byte("e-1.1614265330."), body...))
		want, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(want), webhook.SignStandard(secret, "e-1", sentAt, body),
			secret)
	}
}

func TestStandardSecretIsChecked(t *testing.T) {
	t.Parallel()
	require.NoError(t, webhook.ValidateStandardSecret("any bytes at all"))
	require.NoError(t, webhook.ValidateStandardSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
	for _, secret := range []string{"whsec_", "whsec_*", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa"} {
		err := webhook.ValidateStandardSecret(secret)
		require.ErrorContains(t, err, "base64")
		require.NotContains(t, err.Error(), "MfKQ", "the error shows the secret")
	}
}

// Switched on, both events carry the second set beside the contract's own headers; each attempt has the time it was
// made.
func TestStandardHeadersStandBesideTheContracts(t *testing.T) {
	t.Parallel()
	var got http.Header
	partner := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Clone() }))
	t.Cleanup(partner.Close)
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	i := &model.Integration{URL: partner.URL + "/acme", Secret: "s", Options: model.Options{StandardWebhooks: true}}
	send := func(d webhook.Delivery) {
		before := time.Now().Unix()
		_, err := names.Send(t.Context(), http.DefaultClient, d)
		require.NoError(t, err)
		at, err := strconv.ParseInt(got.Get("Webhook-Timestamp"), 10, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, at, before)
		require.LessOrEqual(t, at, time.Now().Unix())
		require.Equal(t, d.WebhookID, got.Get("Webhook-Id"))
		require.Equal(t, webhook.SignStandard("s", d.WebhookID, time.Unix(at, 0), d.Body), got.Get("Webhook-Signature"))
		require.Equal(t, webhook.Sign("s", d.Body), got.Get("X-Service-Signature"))
	}
	send(webhook.Delivery{URL: i.URL, Secret: "s", Event: webhook.EventExport, Body: []byte(`{}`), UUID: []byte("u-1"),
		WebhookID: "u-1"})
	first, second := names.Verification(i), names.Verification(i)
	send(first)
	require.NotEqual(t, first.WebhookID, second.WebhookID)

	i.StandardWebhooks = false
	_, err = names.Send(t.Context(), http.DefaultClient, names.Verification(i))
	require.NoError(t, err)
	for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		require.NotContains(t, got, name)
	}
}
