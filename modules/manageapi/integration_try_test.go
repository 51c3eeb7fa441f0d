package manageapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/sample"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

type tried struct {
	UUID, Event, Class, URL, Body, Answer, Error string
	Received                                     bool
	Status                                       int
	Header                                       map[string]string
}

// hris changes the integration acme/hris of the configuration, and returns it.
func (b *fixture) hris(change func(*model.Integration)) *model.Integration {
	b.t.Helper()
	b.Reconfigure(func(c *config.Config) {
		i, ok := c.Integration("acme", "hris")
		require.True(b.t, ok)
		change(i)
	})
	i, _ := b.Config.Integration("acme", "hris")
	return i
}

// A test export is like any other to the partner, in each document mode; and to the gateway it never was.
func TestTestExport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var status, verified atomic.Int64
	var header http.Header
	var body []byte
	address := b.partner(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Service-Event") == webhook.EventVerify { // it is disabled
			verified.Add(1)
			return
		}
		header = r.Header
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(int(status.Load()))
		io.WriteString(w, "what it says")
	})
	hris := b.hris(func(i *model.Integration) { i.URL = address + "/" + urlPath })
	byOperator := store.IntegrationStatus{State: model.Disabled, Reason: "an operator disabled it", ByOperator: true,
		UpdatedAt: gatewaytest.Noon}
	b.status("acme", "hris", byOperator)
	test := func() tried {
		return parsed[tried](b, b.must(http.StatusOK, http.MethodPost, "/v1/tenants/acme/integrations/hris/test", ""))
	}
	status.Store(http.StatusAccepted)
	validator, err := schemas.New("Service")
	require.NoError(t, err)
	for _, mode := range []model.DocumentMode{model.Rehost, model.Passthrough, model.Inline} {
		hris = b.hris(func(i *model.Integration) { i.Documents, i.StandardWebhooks = mode, mode == model.Rehost })
		got := test()
		require.Equal(t, tried{UUID: got.UUID, Event: webhook.EventExport, URL: address, Body: string(body), Answer: "what it says", Received: true,
			Status: http.StatusAccepted, Header: got.Header}, got)
		require.Regexp(t, "^test-[0-9a-f-]{36}$", got.UUID)
		require.True(t, webhook.Verify(header.Get("X-Service-Signature"), body, secretKey))
		for name, value := range map[string]string{
			"X-Service-Event": webhook.EventExport, "X-Service-Uuid": got.UUID, "X-Service-Export-Context": "test-job",
			"Link": "https://service.example/candidates/" + got.UUID,
		} {
			require.Equal(t, value, header.Get(name))
		}
		require.Equal(t, hris.StandardWebhooks, header.Get("Webhook-Signature") != "")
		require.Equal(t, header.Get("X-Service-Signature"), got.Header["X-Service-Signature"])
		parsed, err := schemas.Guard(body)
		require.NoError(t, err)
		require.Empty(t, validator.Export(parsed))
		require.Len(t, parsed.Attachments, 1)
		require.Contains(t, string(body), `"url":"`+b.Config.PublicURL+"/documents/"+sample.DocumentToken+`"`)
		require.Equal(t, mode == model.Inline, parsed.Attachments[0].HasDocument)
	}

	require.EqualValues(t, 3, verified.Load())
	for range 20 { // more than open a breaker
		status.Store(http.StatusGone)
		got := test()
		require.False(t, got.Received)
		require.Equal(t, "partner_fault", got.Class)
		require.Contains(t, got.Error, "answered 410")
	}
	stands, err := b.Runtime.Store().IntegrationStatus(t.Context(), hris)
	require.NoError(t, err)
	require.True(t, stands.ByOperator, "it counted as an answer to VERIFY, or as a 410")
	exports := get[struct{ Items []json.RawMessage }](b, "/v1/exports")
	require.Empty(t, exports.Items)

	b.hris(func(i *model.Integration) { i.URL = "http://10.0.0.1/" + urlPath }) // where egress leads nobody
	got := test()
	require.Equal(t, "our_fault", got.Class)
	require.NotEmpty(t, got.Error)
	require.Zero(t, got.Status)
	b.requireCleanLog()
}

// An integration that is not verified gets no other event than VERIFY before it answers that with 200 (contract, "States
// and transitions"). One that exports go to gets the export alone.
func TestTestExportAfterVerify(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var status atomic.Int64
	var events []string
	address := b.partner(func(w http.ResponseWriter, r *http.Request) {
		events = append(events, r.Header.Get("X-Service-Event"))
		w.WriteHeader(int(status.Load()))
	})
	hris := b.hris(func(i *model.Integration) { i.URL = address + "/" + urlPath })
	test := func() tried {
		events = nil
		return parsed[tried](b, b.must(http.StatusOK, http.MethodPost, "/v1/tenants/acme/integrations/hris/test", ""))
	}
	for _, state := range []model.IntegrationState{model.NotConfigured, model.Disabled} {
		b.status("acme", "hris", store.IntegrationStatus{State: state, Reason: "why", UpdatedAt: gatewaytest.Noon})
		status.Store(http.StatusNoContent)
		got := test()
		require.Equal(t, []string{webhook.EventVerify}, events)
		require.Equal(t, tried{UUID: got.UUID, Event: webhook.EventVerify, Class: "partner_fault", URL: address,
			Body: `{"data":"Service Verify Event"}`, Error: "VERIFY was answered 204; it must be exactly 200",
			Status: http.StatusNoContent, Header: got.Header}, got)
		require.Equal(t, webhook.EventVerify, got.Header["X-Service-Event"])
		_, _, err := b.cli("integration", "test", "acme/hris")
		require.EqualError(t, err, "acme/hris was sent no test export, since it takes none before it answers VERIFY: "+
			"VERIFY was answered 204; it must be exactly 200")
		status.Store(http.StatusOK)
		require.True(t, test().Received)
		require.Equal(t, []string{webhook.EventVerify, webhook.EventExport}, events)
		stands, err := b.Runtime.Store().IntegrationStatus(t.Context(), hris)
		require.NoError(t, err)
		require.Equal(t, state, stands.State)
	}
	b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	require.True(t, test().Received)
	require.Equal(t, []string{webhook.EventExport}, events)
	b.status("acme", "hris", store.IntegrationStatus{State: model.NotConfigured, UpdatedAt: gatewaytest.Noon})
	b.hris(func(i *model.Integration) { i.Verify = false })
	require.True(t, test().Received)
	require.Equal(t, []string{webhook.EventExport}, events)
	b.hris(func(i *model.Integration) { i.URL, i.Verify = "http://10.0.0.1/"+urlPath, true }) // where egress leads nobody
	require.Equal(t, []string{"our_fault", webhook.EventVerify}, []string{test().Class, test().Event})
}

func TestTestExportCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var status atomic.Int64
	address := b.partner(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(int(status.Load())) })
	b.hris(func(i *model.Integration) { i.URL = address + "/" + urlPath })
	b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	status.Store(http.StatusOK)
	out, _, err := b.cli("integration", "test", "acme/hris")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^X-Service-UUID +test-`, out)
	require.Regexp(t, `(?m)^status +200 OK$`, out)
	require.True(t, strings.HasSuffix(out, "acme/hris received the test export\n"), out)
	status.Store(http.StatusTeapot)
	out, _, err = b.cli("integration", "test", "acme/hris", "--json")
	require.EqualError(t, err,
		"acme/hris did not receive the test export: answered 418; only 2xx means received")
	require.Contains(t, out, `"received":false`)
}
