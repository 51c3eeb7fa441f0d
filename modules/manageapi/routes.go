package manageapi

import (
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/model"
)

const (
	inTenant      = "/v1/tenants/{tenant}"
	anIntegration = inTenant + "/integrations/{name}"
	aCandidate    = inTenant + "/candidates/{id}"
	aJob          = inTenant + "/jobs/{id}"
	anApplication = inTenant + "/job-applications/{id}"
	aHelper       = inTenant + "/steps/{step}/helper"
	anExport      = inTenant + "/exports/{uuid}"
	aRedelivery   = inTenant + "/redeliveries/{id}"
	anAPIUser     = inTenant + "/api-users/{id}"
	aUser         = "/v1/users/{id}"
	aClient       = "/v1/oauth-clients/{id}"
)

// routes are all routes of the API, without its description.
func routes() []route {
	return slices.Concat(
		apiKeys.routes(), tenants.routes(), integrations.routes(), allIntegrations.routes(), candidates.routes(),
		jobs.routes(), applications.routes(), applicationDocuments.routes(), transitions.routes(), exports.routes(),
		allExports.routes(), redeliveries.routes(), allRedeliveries.routes(), apiUsers.routes(), users.routes(),
		upstreamAccounts.routes(), clients.routes(), signIns.routes(), refusals.routes(), audit.routes(), actions(),
	)
}

// actions are the routes beside those of the resources.
func actions() []route {
	const (
		get, put, post, del = http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete
		ok, created         = http.StatusOK, http.StatusCreated
		accepted, nothing   = http.StatusAccepted, http.StatusNoContent
	)
	return []route{
		{method: post, path: anIntegration + "/disable", role: model.Admin, action: "disable", status: ok,
			serve: disable},
		{method: post, path: anIntegration + "/enable", role: model.Admin, action: "enable",
			status: accepted, serve: enable, bodiless: true},
		{method: post, path: anIntegration + "/test", role: model.Admin, status: ok, serve: tryIntegration,
			bodiless: true},
		{method: get, path: anIntegration + "/retry", role: model.Viewer, status: ok, serve: showRetry},
		{method: post, path: anIntegration + "/retry", role: model.Operator, action: "retry", status: accepted,
			serve: retry, repeat: retriedBefore, bodiless: true},
		{method: get, path: anIntegration + "/health", role: model.Viewer, status: ok, serve: showHealth,
			query: []string{"since"}},
		{method: get, path: "/v1/status", role: model.Viewer, status: ok, serve: showStatus},
		{method: get, path: "/v1/failures", role: model.Viewer, status: ok, serve: showFailures,
			query: []string{"since"}},
		{method: post, path: aCandidate + "/exports", role: model.Operator, action: model.ActionExport,
			status: created, serve: exportCandidate, repeat: exportedBefore},
		{method: get, path: aJob + "/questions", role: model.Viewer, status: ok, serve: showQuestions},
		{method: post, path: aJob + "/questions/check", role: model.Operator, status: ok, serve: checkAnswers,
			most: maxCheck, place: placeOfCheck},
		{method: get, path: aJob + "/received", role: model.Viewer, status: ok, serve: showReceived,
			query: []string{"since"}},
		{method: put, path: aJob + "/questions", role: model.Operator, action: "set",
			status: ok, serve: importQuestions},

		{method: get, path: inTenant + "/received", role: model.Viewer, status: ok, serve: countReceived},
		{method: get, path: inTenant + "/signatures", role: model.Viewer, status: ok, serve: showSignatures},

		{method: post, path: inTenant + "/portal", role: model.Operator, action: "open-portal", status: ok,
			serve: openPortal},

		{method: get, path: inTenant + "/steps", role: model.Viewer, status: ok, serve: listSteps, list: "step"},
		{method: put, path: inTenant + "/steps", role: model.Operator, action: "set", status: ok, serve: putSteps},
		{method: get, path: aHelper, role: model.Viewer, status: ok, serve: showHelper},
		{method: put, path: aHelper, role: model.Operator, action: "set", status: ok, serve: putHelper},
		{method: del, path: aHelper, role: model.Operator, action: "remove", status: nothing, serve: deleteHelper},

		{method: post, path: anApplication + "/documents", role: model.Operator, status: created, serve: addDocument,
			streamed: true},

		{method: post, path: anExport + "/body", role: model.Operator, action: "show-body", status: ok, scope: removed,
			serve: showBody, bodiless: true, personal: true},
		{method: get, path: anExport + "/structure", role: model.Viewer, status: ok, scope: removed,
			serve: showStructure},
		{method: post, path: anExport + "/redeliver", role: model.Operator, action: "redeliver",
			status: accepted, serve: redeliver, repeat: redelivered},
		{method: post, path: inTenant + "/redeliveries", role: model.Operator, action: "redeliver",
			status: accepted, serve: addRedelivery, repeat: redeliveryAddedBefore},
		{method: post, path: aRedelivery + "/pause", role: model.Operator, action: "pause", status: ok,
			serve: pauseRedelivery, bodiless: true},
		{method: post, path: aRedelivery + "/resume", role: model.Operator, action: "resume", status: ok,
			serve: resumeRedelivery, bodiless: true},
		{method: post, path: aRedelivery + "/cancel", role: model.Operator, action: "cancel", status: ok,
			serve: cancelRedelivery, bodiless: true},
		{method: post, path: anExport + "/release", role: model.Operator, action: "release",
			status: accepted, serve: release, repeat: releasedBefore, bodiless: true},
		{method: post, path: anExport + "/erase", role: model.Operator, action: "erase",
			status: ok, scope: removed, serve: eraseExport},
		{method: post, path: inTenant + "/erasures", role: model.Operator, action: "erase", status: ok, scope: removed,
			serve: eraseCandidate, list: "erasure"},

		{method: get, path: "/v1/strays", role: model.Admin, status: ok, scope: shared, serve: listStrays},
		{method: post, path: "/v1/strays/end", role: model.Admin, action: "end", status: ok, scope: shared,
			serve: endStrays, bodiless: true},

		{method: get, path: inTenant + "/compliance-report", role: model.Compliance, status: ok, serve: complianceReport,
			query: []string{"job"}, personal: true},

		{method: post, path: anAPIUser + "/enable", role: model.Admin, action: "enable", status: ok,
			serve: change(findAPIUser, enableAPIUser, as(apiUserOf)), bodiless: true},
		{method: post, path: anAPIUser + "/reset", role: model.Admin, action: "reset", status: ok, serve: resetAPIUser,
			repeat: repeatedAPIUser},

		{method: post, path: aUser + "/reset", role: model.Admin, action: "reset",
			status: ok, scope: shared, serve: resetUser, repeat: repeatedUser},
		{method: post, path: aUser + "/enable", role: model.Admin, action: "enable", status: ok, scope: shared,
			serve: change(findUser, enableUser, as(userOf)), bodiless: true},
		{method: post, path: aUser + "/totp", role: model.Admin, action: "require-totp", status: ok, scope: shared,
			serve: change(findUser, setTOTP(true), as(userOf)), bodiless: true},
		{method: del, path: aUser + "/totp", role: model.Admin, action: "remove", status: nothing, scope: shared,
			serve: change(findUser, setTOTP(false), nil)},
		{method: del, path: aUser + "/upstream-accounts", role: model.Admin, action: "remove",
			status: nothing, scope: shared, serve: change(findUser, unlinkUpstream, nil)},

		{method: post, path: aClient + "/reset", role: model.Admin, action: "reset",
			status: ok, scope: shared, serve: resetClient, repeat: repeatedClient},
		{method: del, path: aClient + "/former-secrets", role: model.Admin, action: "remove",
			status: nothing, scope: shared, serve: change(findClient, endFormerSecrets, nil)},
	}
}
