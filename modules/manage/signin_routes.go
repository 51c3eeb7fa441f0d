package manage

import (
	"net/http"

	"github.com/hiregate/hiregate/internal/hiring"
)

const (
	aUser   = "/v1/users/{id}"
	aClient = "/v1/oauth-clients/{id}"
)

// signInRoutes are those of sign-in. They belong to no tenant.
var signInRoutes = []route{
	{method: http.MethodGet, path: "/v1/users", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listUsers, personal: true},
	{method: http.MethodPost, path: "/v1/users", role: hiring.Admin, status: http.StatusCreated, serve: (*request).addUser},
	{method: http.MethodGet, path: aUser, role: hiring.Viewer, status: http.StatusOK, serve: (*request).showUser, personal: true},
	{method: http.MethodDelete, path: aUser, role: hiring.Admin, status: http.StatusNoContent, serve: (*request).disableUser},
	{method: http.MethodPost, path: aUser + "/reset", role: hiring.Admin, status: http.StatusOK, serve: (*request).resetUser},
	{method: http.MethodPost, path: aUser + "/totp", role: hiring.Admin, status: http.StatusOK, serve: (*request).requireTOTP, bodiless: true},
	{method: http.MethodDelete, path: aUser + "/totp", role: hiring.Admin, status: http.StatusNoContent, serve: (*request).endTOTP},
	{method: http.MethodGet, path: aUser + "/upstream-accounts", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listUpstreamAccounts, personal: true},
	{method: http.MethodDelete, path: aUser + "/upstream-accounts", role: hiring.Admin, status: http.StatusNoContent, serve: (*request).unjoinUpstream},

	{method: http.MethodGet, path: "/v1/oauth-clients", role: hiring.Viewer, status: http.StatusOK, serve: (*request).listClients},
	{method: http.MethodPost, path: "/v1/oauth-clients", role: hiring.Admin, status: http.StatusCreated, serve: (*request).addClient},
	{method: http.MethodGet, path: aClient, role: hiring.Viewer, status: http.StatusOK, serve: (*request).showClient},
	{method: http.MethodPut, path: aClient, role: hiring.Admin, status: http.StatusOK, serve: (*request).putClient},
	{method: http.MethodDelete, path: aClient, role: hiring.Admin, status: http.StatusNoContent, serve: (*request).disableClient},
	{method: http.MethodPost, path: aClient + "/reset", role: hiring.Admin, status: http.StatusOK, serve: (*request).resetClient},
	{method: http.MethodDelete, path: aClient + "/former-secrets", role: hiring.Admin, status: http.StatusNoContent, serve: (*request).endSecrets},

	{method: http.MethodGet, path: "/v1/sign-ins", role: hiring.Admin, status: http.StatusOK, serve: (*request).listSignIns, personal: true},
}

func init() { routes = append(routes, signInRoutes...) }
