package manageapi

import (
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

const (
	inTenant      = "/v1/tenants/{tenant}"
	anIntegration = inTenant + "/integrations/{name}"
	aCandidate    = inTenant + "/candidates/{id}"
	aJob          = inTenant + "/jobs/{id}"
	anApplication = inTenant + "/job-applications/{id}"
	aDocument     = anApplication + "/documents/{document}"
	anUpstream    = inTenant + "/apply-upstream"
	aHelper       = inTenant + "/steps/{step}/helper"
	anExport      = inTenant + "/exports/{uuid}"
	aSubmission   = inTenant + "/submissions/{id}"
	aRedelivery   = inTenant + "/redeliveries/{id}"
	aSubscription = inTenant + "/event-subscriptions/{id}"
	anAPIUser     = inTenant + "/api-users/{id}"
	aUser         = "/v1/users/{id}"
	aClient       = "/v1/oauth-clients/{id}"
	aCause        = "/v1/causes/{cause}"
)

// routes returns all routes of the API, without its description.
func routes() []rest.Route {
	return worded(slices.Concat(
		apiKeys.Routes(), tenants.Routes(), portals.Routes(), integrations.Routes(), allIntegrations.Routes(), candidates.Routes(),
		jobs.Routes(), applications.Routes(), applicationDocuments.Routes(), applicationVersions.Routes(), transitions.Routes(), subscriptions.Routes(),
		exports.Routes(),
		allExports.Routes(), redeliveries.Routes(), allRedeliveries.Routes(), submissions.Routes(), apiUsers.Routes(), users.Routes(),
		upstreamAccounts.Routes(), userSessions.Routes(), clients.Routes(), sessions.Routes(), signIns.Routes(), refusals.Routes(), audit.Routes(),
		actions(),
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
		{Method: del, Path: anIntegration, Role: model.Admin, Action: "remove", Status: nothing, Serve: deleteIntegration,
			Query: []string{"force"}},
		{Method: post, Path: anIntegration + "/disable", Role: model.Admin, Action: "disable", Status: ok,
			Serve: disable},
		{Method: post, Path: anIntegration + "/enable", Role: model.Admin, Action: "enable",
			Status: accepted, Serve: enable, Bodiless: true},
		{Method: post, Path: anIntegration + "/test", Role: model.Admin, Status: ok, Serve: tryIntegration,
			Bodiless: true},
		{Method: post, Path: inTenant + "/receiver-tests", Role: model.Admin, Status: ok, Serve: testReceiver},
		{Method: post, Path: inTenant + "/secrets", Role: model.Admin, Action: "add", Status: created, Serve: addTenantSecret,
			Repeat: func(_ *rest.Request, location string) (any, error) {
				return nil, rest.ShownOnce("secret", "end it, "+location+", and add another with a new Idempotency-Key")
			}},
		{Method: put, Path: inTenant + "/secrets/{number}", Role: model.Admin, Action: "set", Status: ok, Serve: putTenantSecret},
		{Method: del, Path: inTenant + "/secrets/{number}", Role: model.Admin, Action: "remove", Status: nothing,
			Serve: deleteTenantSecret},
		{Method: get, Path: anUpstream, Role: model.Viewer, Status: ok, Serve: showUpstream},
		{Method: put, Path: anUpstream, Role: model.Admin, Action: "set", Status: ok, Serve: putUpstream},
		{Method: del, Path: anUpstream, Role: model.Admin, Action: "remove", Status: nothing, Serve: deleteUpstream},
		{Method: post, Path: anUpstream + "/test", Role: model.Admin, Status: ok, Serve: testUpstream},
		{Method: post, Path: inTenant + "/sample", Role: model.Admin, Action: model.ActionExport, Status: ok,
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
		{Method: post, Path: inTenant + "/export-search", Role: model.Operator, Status: ok, Scope: rest.Removed, Serve: searchAnswers,
			Query: answerFilters, List: "answered export", Personal: true},
		{Method: post, Path: "/v1/export-search", Role: model.Operator, Status: ok, Serve: searchAnswers,
			Query: append(answerFilters, "label"), List: "answered export", Personal: true},
		{Method: get, Path: inTenant + "/export-counts", Role: model.Viewer, Status: ok, Scope: rest.Removed,
			Serve: countExports, Query: api.ExportFilters},
		{Method: get, Path: "/v1/export-counts", Role: model.Viewer, Status: ok, Serve: countExports,
			Query: append(slices.Clone(api.ExportFilters), "label")},
		{Method: post, Path: aCandidate + "/exports", Role: model.Operator, Action: model.ActionExport,
			Status: created, Serve: exportCandidate, Repeat: exportedBefore},
		{Method: get, Path: aJob + "/questions", Role: model.Viewer, Status: ok, Serve: showQuestions},
		{Method: post, Path: aJob + "/questions/check", Role: model.Operator, Status: ok, Serve: checkAnswers,
			MaxBody: maxCheck, Place: placeOfCheck},
		{Method: get, Path: aJob + "/received", Role: model.Viewer, Status: ok, Serve: showReceived,
			Query: []string{"since"}},
		{Method: put, Path: aJob + "/questions", Role: model.Operator, Action: "set",
			Status: ok, Serve: importQuestions},

		{Method: get, Path: aSubscription, Role: model.Viewer, Status: ok, Serve: showSubscription},
		{Method: get, Path: inTenant + "/events", Role: model.Viewer, Status: ok, Serve: listEvents, List: "event"},
		{Method: get, Path: inTenant + "/takeout", Role: model.Admin, Action: "take-out", Status: ok, Serve: takeOut,
			Query: []string{"from"}, Personal: true},
		{Method: post, Path: inTenant + "/import", Role: model.Admin, Action: "import", Status: ok, Serve: importArchive,
			Streamed: true},
		{Method: get, Path: inTenant + "/received", Role: model.Viewer, Status: ok, Serve: countReceived},
		{Method: get, Path: inTenant + "/signatures", Role: model.Viewer, Status: ok, Serve: showSignatures},

		{Method: post, Path: inTenant + "/portal", Role: model.Operator, Action: "open-portal", Status: ok,
			Serve: openPortal},

		{Method: get, Path: inTenant + "/steps", Role: model.Viewer, Status: ok, Serve: listSteps, List: "step"},
		{Method: put, Path: inTenant + "/steps", Role: model.Operator, Action: "set", Status: ok, Serve: putSteps},
		{Method: get, Path: aHelper, Role: model.Viewer, Status: ok, Serve: showHelper},
		{Method: put, Path: aHelper, Role: model.Operator, Action: "set", Status: ok, Serve: putHelper},
		{Method: del, Path: aHelper, Role: model.Operator, Action: "remove", Status: nothing, Serve: deleteHelper},

		{Method: get, Path: inTenant + "/job-applications.csv", Role: model.Operator, Action: "show-answers", Status: ok,
			Serve: applicationTable, Query: applicationFilters, Personal: true},
		{Method: post, Path: anApplication + "/documents", Role: model.Operator, Status: created, Serve: addDocument,
			Streamed: true},
		{Method: get, Path: aDocument + "/content", Role: model.Operator, Action: "download", Status: ok,
			Serve: serveContent, Personal: true},
		{Method: get, Path: anApplication + "/files", Role: model.Operator, Action: "download", Status: ok, Serve: serveFiles,
			Personal: true},
		{Method: post, Path: anApplication + "/answers", Role: model.Operator, Action: "show-answers", Status: ok,
			Serve: showAnswers, Bodiless: true, Personal: true},

		{Method: post, Path: anApplication + "/end", Role: model.Operator, Action: "end", Status: ok, Serve: endApplication,
			Repeat: endedBefore},
		{Method: post, Path: anApplication + "/choose", Role: model.Operator, Action: "choose", Status: ok,
			Serve: chooseVersion, Repeat: chosenBefore, Bodiless: true},
		{Method: post, Path: anApplication + "/reopen", Role: model.Operator, Action: "reopen", Status: ok,
			Serve: reopenApplication, Repeat: endedBefore, Bodiless: true},

		{Method: post, Path: anExport + "/body", Role: model.Operator, Action: "show-body", Status: ok, Scope: rest.Removed,
			Serve: showBody, Bodiless: true, Personal: true},
		{Method: get, Path: anExport + "/structure", Role: model.Viewer, Status: ok, Scope: rest.Removed,
			Serve: showStructure},
		{Method: post, Path: anExport + "/redeliver", Role: model.Operator, Action: "redeliver",
			Status: accepted, Serve: redeliver, Repeat: redelivered},
		{Method: post, Path: aSubmission + "/show", Role: model.Operator, Action: "show-answers", Status: ok,
			Serve: showSubmissionAnswers, Bodiless: true, Personal: true},
		{Method: get, Path: aSubmission + "/archive", Role: model.Operator, Action: "download", Status: ok,
			Serve: serveSubmissionFiles, Personal: true},
		{Method: post, Path: aSubmission + "/redeliver", Role: model.Operator, Action: "redeliver", Status: accepted,
			Serve: redeliverSubmission, Bodiless: true},
		{Method: post, Path: aSubmission + "/resolve", Role: model.Operator, Action: "resolve", Status: ok,
			Serve: resolveSubmission},
		{Method: post, Path: aSubmission + "/erase", Role: model.Operator, Action: "erase", Status: ok,
			Serve: eraseSubmission, Bodiless: true},
		{Method: post, Path: inTenant + "/redeliveries", Role: model.Operator, Action: "redeliver",
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
		{Method: post, Path: inTenant + "/erasures", Role: model.Operator, Action: "erase", Status: ok, Scope: rest.Removed,
			Serve: eraseCandidate, List: "erasure"},
		{Method: post, Path: inTenant + "/people/erase", Role: model.Operator, Action: "erase", Status: ok, Scope: rest.Removed,
			Serve: erasePerson, Personal: true},
		{Method: get, Path: "/v1/erasure-key", Role: model.Viewer, Status: ok, Scope: rest.Shared, Serve: showErasureKey},

		{Method: get, Path: "/v1/strays", Role: model.Admin, Status: ok, Scope: rest.Shared, Serve: listOrphans},
		{Method: post, Path: "/v1/strays/end", Role: model.Admin, Action: "end", Status: ok, Scope: rest.Shared,
			Serve: endOrphans, Bodiless: true},

		{Method: get, Path: inTenant + "/compliance-report", Role: model.Compliance, Status: ok, Serve: complianceReport,
			Query: []string{"job"}, Personal: true},

		{Method: post, Path: anAPIUser + "/enable", Role: model.Admin, Action: "enable", Status: ok,
			Serve: rest.Change(findAPIUser, enableAPIUser, rest.ViewAs(apiUserOf)), Bodiless: true},
		{Method: post, Path: anAPIUser + "/reset", Role: model.Admin, Action: "reset", Status: ok, Serve: resetAPIUser,
			Repeat: repeatedAPIUser},

		{Method: post, Path: aUser + "/reset", Role: model.Admin, Action: "reset",
			Status: ok, Scope: rest.Shared, Serve: resetUser, Repeat: repeatedUser},
		{Method: post, Path: aUser + "/enable", Role: model.Admin, Action: "enable", Status: ok, Scope: rest.Shared,
			Serve: rest.Change(findUser, enableUser, rest.ViewAs(userOf)), Bodiless: true},
		{Method: post, Path: aUser + "/recovery", Role: model.Admin, Action: "recover", Status: ok, Scope: rest.Shared,
			Serve: makeRecovery},
		{Method: post, Path: aUser + "/totp", Role: model.Admin, Action: "require-totp", Status: ok, Scope: rest.Shared,
			Serve: rest.Change(findUser, setTOTP(true), rest.ViewAs(userOf)), Bodiless: true},
		{Method: del, Path: aUser + "/totp", Role: model.Admin, Action: "remove", Status: nothing, Scope: rest.Shared,
			Serve: rest.Change(findUser, setTOTP(false), nil)},
		{Method: del, Path: aUser + "/sessions", Role: model.Admin, Action: "end", Status: nothing, Scope: rest.Shared,
			Serve: rest.Change(findUser, endSessions, nil)},
		{Method: del, Path: aUser + "/upstream-accounts", Role: model.Admin, Action: "remove",
			Status: nothing, Scope: rest.Shared, Serve: rest.Change(findUser, unlinkUpstream, nil)},

		{Method: post, Path: "/v1/sessions/end", Role: model.Admin, Action: "end", Status: ok, Scope: rest.Shared,
			Serve: endSessionsOf},

		{Method: post, Path: aClient + "/reset", Role: model.Admin, Action: "reset",
			Status: ok, Scope: rest.Shared, Serve: resetClient, Repeat: repeatedClient},
		{Method: del, Path: aClient + "/former-secrets", Role: model.Admin, Action: "remove",
			Status: nothing, Scope: rest.Shared, Serve: rest.Change(findClient, endFormerSecrets, nil)},
	}
}
