// Package recruiting is the part of the management API about recruiting: candidates, jobs, steps, job applications, and what
// applicants send.
package recruiting

import (
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

const (
	aJob          = rest.InTenant + "/jobs/{id}"
	anApplication = rest.InTenant + "/job-applications/{id}"
	aDocument     = anApplication + "/documents/{document}"
	aHelper       = rest.InTenant + "/steps/{step}/helper"
	aSubmission   = rest.InTenant + "/submissions/{id}"
	aSubscription = rest.InTenant + "/event-subscriptions/{id}"
)

// Routes returns all routes about recruiting.
func Routes() []rest.Route {
	return slices.Concat(candidates.Routes(), jobs.Routes(), applications.Routes(), applicationDocuments.Routes(), applicationVersions.Routes(),
		transitions.Routes(), subscriptions.Routes(), submissions.Routes(), actions())
}

// actions returns the routes beside the resources' own.
func actions() []rest.Route {
	const (
		get, put, post, del = http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete
		ok, created         = http.StatusOK, http.StatusCreated
		accepted, nothing   = http.StatusAccepted, http.StatusNoContent
	)
	return []rest.Route{
		{Method: get, Path: aJob + "/questions", Role: model.Viewer, Status: ok, Serve: showQuestions},
		{Method: post, Path: aJob + "/questions/check", Role: model.Operator, Status: ok, Serve: checkAnswers,
			MaxBody: maxCheck, Place: placeOfCheck},
		{Method: get, Path: aJob + "/received", Role: model.Viewer, Status: ok, Serve: showReceived,
			Query: []string{"since"}},
		{Method: put, Path: aJob + "/questions", Role: model.Operator, Action: "set",
			Status: ok, Serve: importQuestions},
		{Method: get, Path: aSubscription, Role: model.Viewer, Status: ok, Serve: showSubscription},
		{Method: get, Path: rest.InTenant + "/events", Role: model.Viewer, Status: ok, Serve: listEvents, List: "event"},
		{Method: get, Path: rest.InTenant + "/steps", Role: model.Viewer, Status: ok, Serve: listSteps, List: "step"},
		{Method: put, Path: rest.InTenant + "/steps", Role: model.Operator, Action: "set", Status: ok, Serve: putSteps},
		{Method: get, Path: aHelper, Role: model.Viewer, Status: ok, Serve: showHelper},
		{Method: put, Path: aHelper, Role: model.Operator, Action: "set", Status: ok, Serve: putHelper},
		{Method: del, Path: aHelper, Role: model.Operator, Action: "remove", Status: nothing, Serve: deleteHelper},
		{Method: get, Path: rest.InTenant + "/job-applications.csv", Role: model.Operator, Action: "show-answers", Status: ok,
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
		{Method: post, Path: aSubmission + "/show", Role: model.Operator, Action: "show-answers", Status: ok,
			Scope: rest.Removed, Serve: showSubmissionAnswers, Bodiless: true, Personal: true},
		{Method: get, Path: aSubmission + "/archive", Role: model.Operator, Action: "download", Status: ok,
			Scope: rest.Removed, Serve: serveSubmissionFiles, Personal: true},
		{Method: post, Path: aSubmission + "/redeliver", Role: model.Operator, Action: "redeliver", Status: accepted,
			Serve: redeliverSubmission, Bodiless: true},
		{Method: post, Path: aSubmission + "/resolve", Role: model.Operator, Action: "resolve", Status: ok,
			Scope: rest.Removed, Serve: resolveSubmission},
		{Method: post, Path: aSubmission + "/erase", Role: model.Operator, Action: "erase", Status: ok,
			Scope: rest.Removed, Serve: eraseSubmission, Bodiless: true},
		{Method: get, Path: rest.InTenant + "/compliance-report", Role: model.Compliance, Status: ok, Serve: complianceReport,
			Query: []string{"job"}, Personal: true},
	}
}
