package console

import (
	"slices"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/identity"
)

// Grant gives a role to people who are known by their e-mail address or by a group of theirs.
type Grant struct {
	Role   string // of Roles
	Tenant string // empty: all tenants
	Emails []string
	Groups []string
}

// Roles are the roles of the console, and what they may do of the management API.
var Roles = map[string]hiring.Role{
	"viewer": hiring.Viewer, "operator": hiring.Operator, "recruiter": hiring.Operator, "administrator": hiring.Admin,
}

// personOf returns what the first grant that fits gives; false: none does.
func (c *Console) personOf(s *session) (hiring.Person, bool) {
	for _, g := range c.Grants {
		known := func(address string) bool { return s.Email != "" && identity.SameAddress(address, s.Email) }
		member := func(group string) bool { return slices.Contains(s.Groups, group) }
		if slices.ContainsFunc(g.Emails, known) || slices.ContainsFunc(g.Groups, member) {
			return hiring.Person{ID: "console:" + s.Subject, Tenant: g.Tenant, Role: Roles[g.Role]}, true
		}
	}
	return hiring.Person{}, false
}
