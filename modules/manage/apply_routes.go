package manage

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/hiring"
)

const anAPIUser = inTenant + "/api-users/{id}"

// applyRoutes are those of the Apply API's users, beside the jobs that they apply for.
var applyRoutes = []route{
	{method: http.MethodGet, path: inTenant + "/api-users", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listAPIUsers, personal: true},
	{method: http.MethodPost, path: inTenant + "/api-users", role: hiring.Admin, status: http.StatusCreated, serve: (*request).addAPIUser},
	{method: http.MethodGet, path: anAPIUser, role: hiring.Viewer, status: http.StatusOK, serve: (*request).showAPIUser, personal: true},
	{method: http.MethodDelete, path: anAPIUser, role: hiring.Admin, status: http.StatusNoContent, serve: (*request).disableAPIUser},
	{method: http.MethodPost, path: anAPIUser + "/enable", role: hiring.Admin, status: http.StatusOK, serve: (*request).enableAPIUser, bodiless: true},
	{method: http.MethodPost, path: anAPIUser + "/reset", role: hiring.Admin, status: http.StatusOK, serve: (*request).resetAPIUser},

	{method: http.MethodPut, path: aJob + "/questions", role: hiring.Operator, status: http.StatusOK, serve: (*request).importQuestions},

	{method: http.MethodGet, path: inTenant + "/compliance-report", role: hiring.Compliance, status: http.StatusOK, serve: (*request).complianceReport, personal: true},
}

func init() { routes = append(routes, applyRoutes...) }
