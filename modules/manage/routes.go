package manage

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/hiring"
)

// route is one thing that can be asked for. serve gives what is answered with status, or the problem that is answered instead.
type route struct {
	method, path string
	role         hiring.Role // the least that it takes
	status       int
	serve        func(*request) (any, error)
	streamed     bool  // the body is a file, which serve reads by itself
	most         int64 // bytes of the body; 0: maxBody
	bodiless     bool  // it takes none
	personal     bool  // what it shows is about people: who reads it is in the log
}

const (
	inTenant      = "/v1/tenants/{tenant}"
	anIntegration = inTenant + "/integrations/{name}"
	aCandidate    = inTenant + "/candidates/{id}"
	aJob          = inTenant + "/jobs/{id}"
	anApplication = inTenant + "/job-applications/{id}"
	aDocument     = anApplication + "/documents/{document}"
	aHelper       = inTenant + "/steps/{step}/helper"
	anExport      = inTenant + "/exports/{uuid}"
)

var routes = []route{
	{method: http.MethodGet, path: "/v1/api-keys", role: hiring.Admin, status: http.StatusOK, serve: (*request).listAPIKeys},
	{method: http.MethodPost, path: "/v1/api-keys", role: hiring.Admin, status: http.StatusCreated, serve: (*request).addAPIKey},
	{method: http.MethodGet, path: "/v1/api-keys/{id}", role: hiring.Admin, status: http.StatusOK, serve: (*request).showAPIKey},
	{method: http.MethodDelete, path: "/v1/api-keys/{id}", role: hiring.Admin, status: http.StatusNoContent, serve: (*request).revokeAPIKey},

	{method: http.MethodGet, path: "/v1/tenants", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listTenants},
	{method: http.MethodGet, path: inTenant, role: hiring.Viewer, status: http.StatusOK, serve: (*request).showTenant},
	{method: http.MethodPut, path: inTenant, role: hiring.Admin, status: http.StatusOK, serve: (*request).putTenant},
	{method: http.MethodDelete, path: inTenant, role: hiring.Admin, status: http.StatusOK, serve: (*request).deleteTenant},

	{method: http.MethodGet, path: "/v1/integrations", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listIntegrations},
	{method: http.MethodGet, path: inTenant + "/integrations", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listIntegrations},
	{method: http.MethodPost, path: inTenant + "/integrations", role: hiring.Admin, status: http.StatusCreated, serve: (*request).addIntegration},
	{method: http.MethodGet, path: anIntegration, role: hiring.Viewer, status: http.StatusOK, serve: (*request).showIntegration},
	{method: http.MethodPut, path: anIntegration, role: hiring.Admin, status: http.StatusOK, serve: (*request).putIntegration},
	{method: http.MethodDelete, path: anIntegration, role: hiring.Admin, status: http.StatusNoContent, serve: (*request).deleteIntegration},
	{method: http.MethodPost, path: anIntegration + "/enable", role: hiring.Admin, status: http.StatusAccepted, serve: (*request).enable, bodiless: true},

	{method: http.MethodGet, path: inTenant + "/candidates", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listCandidates, personal: true},
	{method: http.MethodGet, path: aCandidate, role: hiring.Viewer, status: http.StatusOK, serve: candidates.show, personal: true},
	{method: http.MethodPut, path: aCandidate, role: hiring.Operator, status: http.StatusOK, serve: candidates.save},
	{method: http.MethodDelete, path: aCandidate, role: hiring.Operator, status: http.StatusNoContent, serve: candidates.drop},
	{method: http.MethodPost, path: aCandidate + "/exports", role: hiring.Operator, status: http.StatusCreated, serve: (*request).exportCandidate},

	{method: http.MethodGet, path: inTenant + "/jobs", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listJobs},
	{method: http.MethodGet, path: aJob, role: hiring.Viewer, status: http.StatusOK, serve: jobs.show},
	{method: http.MethodPut, path: aJob, role: hiring.Operator, status: http.StatusOK, serve: jobs.save, most: 2 * maxJob},
	{method: http.MethodDelete, path: aJob, role: hiring.Operator, status: http.StatusNoContent, serve: jobs.drop},

	{method: http.MethodGet, path: inTenant + "/steps", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listSteps},
	{method: http.MethodPut, path: inTenant + "/steps", role: hiring.Operator, status: http.StatusOK, serve: (*request).putSteps},
	{method: http.MethodGet, path: aHelper, role: hiring.Viewer, status: http.StatusOK, serve: (*request).showHelper},
	{method: http.MethodPut, path: aHelper, role: hiring.Operator, status: http.StatusOK, serve: (*request).putHelper},
	{method: http.MethodDelete, path: aHelper, role: hiring.Operator, status: http.StatusNoContent, serve: (*request).deleteHelper},

	{method: http.MethodGet, path: inTenant + "/job-applications", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listApplications, personal: true},
	{method: http.MethodGet, path: anApplication, role: hiring.Viewer, status: http.StatusOK, serve: applications.show, personal: true},
	{method: http.MethodPut, path: anApplication, role: hiring.Operator, status: http.StatusOK, serve: applications.save},
	{method: http.MethodDelete, path: anApplication, role: hiring.Operator, status: http.StatusNoContent, serve: applications.drop},
	{method: http.MethodGet, path: anApplication + "/documents", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listDocuments, personal: true},
	{method: http.MethodPost, path: anApplication + "/documents", role: hiring.Operator, status: http.StatusCreated, serve: (*request).addDocument, streamed: true},
	{method: http.MethodGet, path: aDocument, role: hiring.Viewer, status: http.StatusOK, serve: (*request).showDocument, personal: true},
	{method: http.MethodDelete, path: aDocument, role: hiring.Operator, status: http.StatusNoContent, serve: (*request).deleteDocument},
	{method: http.MethodGet, path: anApplication + "/transitions", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listTransitions},
	{method: http.MethodPost, path: anApplication + "/transitions", role: hiring.Operator, status: http.StatusCreated, serve: (*request).enter},

	{method: http.MethodGet, path: "/v1/exports", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listExports, personal: true},
	{method: http.MethodGet, path: inTenant + "/exports", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listExports, personal: true},
	{method: http.MethodGet, path: anExport, role: hiring.Viewer, status: http.StatusOK, serve: (*request).showExport, personal: true},
	{method: http.MethodPost, path: anExport + "/redeliver", role: hiring.Operator, status: http.StatusAccepted, serve: (*request).redeliver},
	{method: http.MethodPost, path: anExport + "/release", role: hiring.Operator, status: http.StatusAccepted, serve: (*request).release, bodiless: true},
	{method: http.MethodPost, path: anExport + "/erase", role: hiring.Operator, status: http.StatusOK, serve: (*request).eraseExport},
	{method: http.MethodPost, path: inTenant + "/erasures", role: hiring.Operator, status: http.StatusOK, serve: (*request).eraseCandidate},
}
