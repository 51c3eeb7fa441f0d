// Package manageapi is the management API: its resources and its OpenAPI document, for operators and their tools. The
// messages are those of internal/api.
package manageapi

import (
	"slices"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// New returns the API for a mount that lets in only those who may do everything, such as Caddy's admin endpoint. It
// calls gateway for each request; nil means no gateway is running.
func New(gateway func() *gateway.Gateway, log *zap.Logger) *rest.Server {
	return rest.New(gateway, rest.Local, log, slices.Concat(routes(), localRoutes()), descriptions())
}

// NewKeyed returns the API for callers with an API key, each within its tenant and its role.
func NewKeyed(gateway func() *gateway.Gateway, log *zap.Logger) *rest.Server {
	return rest.New(gateway, rest.Keyed, log, routes(), descriptions())
}

// NewForPeople returns the API for people who are signed in to the console: see model.WithPerson.
func NewForPeople(gateway func() *gateway.Gateway, log *zap.Logger) *rest.Server {
	return rest.New(gateway, rest.People, log, routes(), descriptions())
}
