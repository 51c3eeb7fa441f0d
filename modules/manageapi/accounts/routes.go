// Package accounts is the part of the management API about accounts: people and applications that sign in, their sessions, users
// of the Apply API, and API keys.
package accounts

import (
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

const (
	anAPIUser = rest.InTenant + "/api-users/{id}"
	aUser     = "/v1/users/{id}"
	aClient   = "/v1/oauth-clients/{id}"
)

// Routes returns all routes about accounts.
func Routes() []rest.Route {
	return slices.Concat(apiKeys.Routes(), apiUsers.Routes(), users.Routes(), upstreamAccounts.Routes(), userSessions.Routes(),
		clients.Routes(), sessions.Routes(), signIns.Routes(), refusals.Routes(), actions())
}

// actions returns the routes beside the resources' own.
func actions() []rest.Route {
	const (
		get, put, post, del = http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete
		ok, created         = http.StatusOK, http.StatusCreated
		accepted, nothing   = http.StatusAccepted, http.StatusNoContent
	)
	return []rest.Route{
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
