package manageapi

import (
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi/accounts"
	"github.com/hiregate/hiregate/modules/manageapi/recruiting"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

const (
	anIntegration = rest.InTenant + "/integrations/{name}"
	aCandidate    = rest.InTenant + "/candidates/{id}"
	anUpstream    = rest.InTenant + "/apply-upstream"
	anExport      = rest.InTenant + "/exports/{uuid}"
	aRedelivery   = rest.InTenant + "/redeliveries/{id}"
	aCause        = "/v1/causes/{cause}"
)

// routes returns all routes of the API, without its description.
func routes() []rest.Route {
	return worded(slices.Concat(
		tenants.Routes(), portals.Routes(), integrations.Routes(), allIntegrations.Routes(), exports.Routes(), allExports.Routes(),
		redeliveries.Routes(), allRedeliveries.Routes(), audit.Routes(), actions(), accounts.Routes(), recruiting.Routes(),
	))
}

// localRoutes returns the routes that are served at Caddy's admin endpoint alone: no API key and nobody in the console
// gets what they answer.
func localRoutes() []rest.Route {
	return worded([]rest.Route{
		{Method: http.MethodPost, Path: aCandidate + "/dump", Role: model.Admin, Action: "dump", Status: http.StatusOK,
			Scope: rest.Removed, Serve: dumpCandidate, Bodiless: true, Personal: true},
	})
}

// actions returns the routes beside the resources' own.
func actions() []rest.Route {
	const (
		get, put, post, del = http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete
		ok, created         = http.StatusOK, http.StatusCreated
		accepted, nothing   = http.StatusAccepted, http.StatusNoContent
	)
	return []rest.Route{
		{Method: del, Path: rest.InTenant, Role: model.Admin, Action: "remove", Status: nothing, Scope: rest.Removed,
			Serve: deleteTenant, Query: []string{"force"}},
		{Method: del, Path: anIntegration, Role: model.Admin, Action: "remove", Status: nothing, Serve: deleteIntegration,
			Query: []string{"force"}},
		{Method: post, Path: anIntegration + "/disable", Role: model.Admin, Action: "disable", Status: ok,
			Serve: disable},
		{Method: post, Path: anIntegration + "/enable", Role: model.Admin, Action: "enable",
			Status: accepted, Serve: enable, Bodiless: true},
		{Method: post, Path: anIntegration + "/test", Role: model.Admin, Status: ok, Serve: tryIntegration,
			Bodiless: true},
		{Method: post, Path: rest.InTenant + "/receiver-tests", Role: model.Admin, Status: ok, Serve: testReceiver},
		{Method: post, Path: rest.InTenant + "/secrets", Role: model.Admin, Action: "add", Status: created, Serve: addTenantSecret,
			Repeat: func(_ *rest.Request, location string) (any, error) {
				return nil, rest.ShownOnce("secret", "end it, "+location+", and add another with a new Idempotency-Key")
			}},
		{Method: put, Path: rest.InTenant + "/secrets/{number}", Role: model.Admin, Action: "set", Status: ok, Serve: putTenantSecret},
		{Method: del, Path: rest.InTenant + "/secrets/{number}", Role: model.Admin, Action: "remove", Status: nothing,
			Serve: deleteTenantSecret},
		{Method: get, Path: anUpstream, Role: model.Viewer, Status: ok, Serve: showUpstream},
		{Method: put, Path: anUpstream, Role: model.Admin, Action: "set", Status: ok, Serve: putUpstream},
		{Method: del, Path: anUpstream, Role: model.Admin, Action: "remove", Status: nothing, Serve: deleteUpstream},
		{Method: post, Path: anUpstream + "/test", Role: model.Admin, Status: ok, Serve: testUpstream},
		{Method: post, Path: rest.InTenant + "/sample", Role: model.Admin, Action: model.ActionExport, Status: ok,
			Serve: sendSample, Bodiless: true},
		{Method: get, Path: anIntegration + "/retry", Role: model.Viewer, Status: ok, Serve: showRetry},
		{Method: post, Path: anIntegration + "/retry", Role: model.Operator, Action: "retry", Status: accepted,
			Serve: retry, Repeat: retriedBefore, Bodiless: true},
		{Method: get, Path: anIntegration + "/health", Role: model.Viewer, Status: ok, Serve: showHealth,
			Query: []string{"since"}},
		{Method: get, Path: anIntegration + "/causes", Role: model.Viewer, Status: ok, Serve: showCauses,
			Query: []string{"since"}, Personal: true},
		{Method: get, Path: "/v1/status", Role: model.Viewer, Status: ok, Serve: showStatus,
			Query: []string{"hours", "limit", "from", "order", "tenant", "grouped", "label"}},
		{Method: put, Path: aCause + "/acknowledgement", Role: model.Operator, Action: "acknowledge", Status: ok, Serve: acknowledge},
		{Method: del, Path: aCause + "/acknowledgement", Role: model.Operator, Action: "remove", Status: nothing,
			Serve: unacknowledge},
		{Method: post, Path: aCause + "/retry", Role: model.Operator, Action: "retry", Status: accepted, Serve: retryCause},
		{Method: get, Path: "/v1/overview", Role: model.Viewer, Status: ok, Serve: showOverview,
			Query: []string{"since", "tenant"}},
		{Method: get, Path: "/v1/failures", Role: model.Viewer, Status: ok, Serve: showFailures,
			Query: []string{"since"}},
		{Method: post, Path: rest.InTenant + "/export-search", Role: model.Operator, Status: ok, Scope: rest.Removed, Serve: searchAnswers,
			Query: answerFilters, List: "answered export", Personal: true},
		{Method: post, Path: "/v1/export-search", Role: model.Operator, Status: ok, Serve: searchAnswers,
			Query: append(answerFilters, "label"), List: "answered export", Personal: true},
		{Method: get, Path: rest.InTenant + "/export-counts", Role: model.Viewer, Status: ok, Scope: rest.Removed,
			Serve: countExports, Query: api.ExportFilters},
		{Method: get, Path: "/v1/export-counts", Role: model.Viewer, Status: ok, Serve: countExports,
			Query: append(slices.Clone(api.ExportFilters), "label")},
		{Method: post, Path: aCandidate + "/exports", Role: model.Operator, Action: model.ActionExport,
			Status: created, Serve: exportCandidate, Repeat: exportedBefore},
		{Method: get, Path: rest.InTenant + "/takeout", Role: model.Admin, Action: "take-out", Status: ok, Serve: takeOut,
			Query: []string{"from"}, Personal: true},
		{Method: post, Path: rest.InTenant + "/import", Role: model.Admin, Action: "import", Status: ok, Serve: importArchive,
			Streamed: true},
		{Method: get, Path: rest.InTenant + "/received", Role: model.Viewer, Status: ok, Serve: countReceived},
		{Method: get, Path: rest.InTenant + "/signatures", Role: model.Viewer, Status: ok, Serve: showSignatures},
		{Method: post, Path: rest.InTenant + "/portal", Role: model.Operator, Action: "open-portal", Status: ok,
			Serve: openPortal},
		{Method: post, Path: anExport + "/body", Role: model.Operator, Action: "show-body", Status: ok, Scope: rest.Removed,
			Serve: showBody, Bodiless: true, Personal: true},
		{Method: get, Path: anExport + "/structure", Role: model.Viewer, Status: ok, Scope: rest.Removed,
			Serve: showStructure},
		{Method: post, Path: anExport + "/redeliver", Role: model.Operator, Action: "redeliver",
			Status: accepted, Serve: redeliver, Repeat: redelivered},
		{Method: post, Path: rest.InTenant + "/redeliveries", Role: model.Operator, Action: "redeliver",
			Status: accepted, Serve: addRedelivery, Repeat: redeliveryAddedBefore},
		{Method: post, Path: aRedelivery + "/pause", Role: model.Operator, Action: "pause", Status: ok,
			Serve: pauseRedelivery, Bodiless: true},
		{Method: post, Path: aRedelivery + "/resume", Role: model.Operator, Action: "resume", Status: ok,
			Serve: resumeRedelivery, Bodiless: true},
		{Method: post, Path: aRedelivery + "/cancel", Role: model.Operator, Action: "cancel", Status: ok,
			Serve: cancelRedelivery, Bodiless: true},
		{Method: post, Path: anExport + "/release", Role: model.Operator, Action: "release",
			Status: accepted, Serve: release, Repeat: releasedBefore, Bodiless: true},
		{Method: post, Path: anExport + "/fetch", Role: model.Operator, Action: "fetch", Status: accepted, Serve: fetchDocuments,
			Bodiless: true},
		{Method: post, Path: anExport + "/erase", Role: model.Operator, Action: "erase",
			Status: ok, Scope: rest.Removed, Serve: eraseExport},
		{Method: post, Path: rest.InTenant + "/erasures", Role: model.Operator, Action: "erase", Status: ok, Scope: rest.Removed,
			Serve: eraseCandidate, List: "erasure"},
		{Method: post, Path: rest.InTenant + "/people/erase", Role: model.Operator, Action: "erase", Status: ok, Scope: rest.Removed,
			Serve: erasePerson, Personal: true},
		{Method: get, Path: "/v1/erasure-key", Role: model.Viewer, Status: ok, Scope: rest.Shared, Serve: showErasureKey},
		{Method: get, Path: "/v1/strays", Role: model.Admin, Status: ok, Scope: rest.Shared, Serve: listOrphans},
		{Method: post, Path: "/v1/strays/end", Role: model.Admin, Action: "end", Status: ok, Scope: rest.Shared,
			Serve: endOrphans, Bodiless: true},
	}
}
