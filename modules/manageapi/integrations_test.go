package manageapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func TestIntegrationsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.status("acme", "hris", store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410", Attempts: 2,
		UpdatedAt: gatewaytest.Noon})
	b.status("globex", "hris", store.IntegrationStatus{State: model.Configured, Attempts: 1, UpdatedAt: gatewaytest.Noon})
	unused := `"standardWebhooks":false,"inFlight":16,"declared":true,"waiting":0,"consecutiveFailures":0,
		"breaker":{"state":"closed"},
		"lastDay":{"attempts":0,"delivered":0,"partnerFault":0,"dataFault":0,"ourFault":0},
		"lastWeek":{"attempts":0,"delivered":0,"partnerFault":0,"dataFault":0,"ourFault":0}}`
	status, _, answer := b.ask(http.MethodGet, "/v1/integrations", "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, strings.ReplaceAll(`{"items":[
		{"id":"crm","tenant":"acme","name":"crm","state":"not_configured","reason":"VERIFY was not sent yet","why":{"code":"verify_not_sent"},
			"need":{"kind":"integration_not_configured","tenant":"acme","integration":"crm",
				"sentence":"acme/crm: it is not verified: VERIFY was not sent yet",
				"action":"hiregate integration show acme/crm"},"attempts":0,
			"url":"https://crm.acme.example:8443","documents":"passthrough",UNUSED,
		{"id":"hris","tenant":"acme","name":"hris","state":"disabled",
			"reason":"it answered 410","why":{"code":"answered_gone"},"attempts":2,"updatedAt":"2026-11-20T12:00:00Z","since":"2026-11-20T12:00:00Z",
			"disabledBy":"partner","url":"https://hr.acme.example","documents":"rehost",UNUSED,
		{"id":"own","tenant":"acme","name":"own","state":"unproven",
			"reason":"verify off: it is trusted without VERIFY; nothing sent yet","why":{"code":"trusted_nothing_sent"},"attempts":0,
			"url":"https://own.acme.example","documents":"passthrough",UNUSED,
		{"id":"hris","tenant":"globex","name":"hris","state":"unproven","reason":"verified, nothing sent yet",
			"why":{"code":"nothing_sent"},"attempts":1,
			"updatedAt":"2026-11-20T12:00:00Z","since":"2026-11-20T12:00:00Z",
			"url":"https://hr.globex.example","documents":"rehost",UNUSED],
		"next":null}`, "UNUSED", unused), answer)
}

func TestEnableWithoutTemporalIsNotLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.status("acme", "hris", store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410", Attempts: 2,
		UpdatedAt: gatewaytest.Noon})
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/integrations/hris/enable", "",
		http.StatusServiceUnavailable), "VERIFY is sent once that is back")
	status, err := b.Runtime.Store().IntegrationStatus(t.Context(), i)
	require.NoError(t, err)
	require.Equal(t, model.NotConfigured, status.State, "the gateway verifies it by itself, now")
	require.Zero(t, status.Attempts)
	b.requireCleanLog()
}

func TestEnableWhatNeedsNoVerify(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, Attempts: 1, UpdatedAt: gatewaytest.Noon})
	i := b.status("acme", "own", store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410",
		UpdatedAt: gatewaytest.Noon})
	for _, name := range []string{"hris", "own"} {
		status, _, answer := b.ask(http.MethodPost, "/v1/tenants/acme/integrations/"+name+"/enable", "")
		require.Equal(t, http.StatusAccepted, status, answer)
		require.Contains(t, answer, `"state":"configured"`)
	}
	status, err := b.Runtime.Store().IntegrationStatus(t.Context(), i)
	require.NoError(t, err)
	require.Equal(t, model.NotConfigured, status.State, "should verify be switched on, it is asked for")
}

func TestDisableHolds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const hris, own = "/v1/tenants/acme/integrations/hris", "/v1/tenants/acme/integrations/own"
	i := b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, Attempts: 1,
		UpdatedAt: gatewaytest.Noon})
	for range 2 { // once more changes the reason alone
		answer := b.must(http.StatusOK, http.MethodPost, hris+"/disable", `{"reason":"they move"}`).body
		require.Contains(t, answer, `"state":"disabled"`)
		require.Contains(t, answer, `"disabledBy":"operator"`)
		require.Contains(t, answer, `"reason":"an operator disabled it, because: they move"`)
	}
	require.Contains(t, b.must(http.StatusOK, http.MethodPost, own+"/disable", "").body,
		`"reason":"an operator disabled it"`)
	status, err := b.Runtime.Store().IntegrationStatus(t.Context(), i)
	require.NoError(t, err)
	require.False(t, status.Deliverable(i))

	// Temporal is away, which does not keep it disabled.
	b.problem(http.MethodPost, hris+"/enable", "", http.StatusServiceUnavailable)
	require.Contains(t, b.must(http.StatusOK, http.MethodGet, hris, "").body, `"state":"not_configured"`)
	require.Contains(t, b.must(http.StatusAccepted, http.MethodPost, own+"/enable", "").body, `"state":"configured"`)

	require.Contains(t, b.problem(http.MethodPost, hris+"/disable", `{"reason":"`+strings.Repeat("x", 201)+`"}`,
		http.StatusUnprocessableEntity), "at most 200 characters")
	b.problem(http.MethodPost, hris+"/disable", `{"reason":"two\nlines"}`, http.StatusUnprocessableEntity)
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/acme/integrations/nothing/disable", "",
		http.StatusNotFound), "no integration of that name")
}
