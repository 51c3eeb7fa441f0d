package console

import (
	"slices"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/session"
)

// Grant gives a role to people who are known by their e-mail address or by a group of theirs.
type Grant struct {
	Role   string // of Roles
	Tenant string // empty: all tenants
	Emails []string
	Groups []string
	Source string // file and line of the Caddyfile where it stands; empty: that is not known
}

// duty is a set of bits that say what a person may do in the console. The management API checks its own roles as well.
type duty int

const (
	oversees    duty = 1 << iota // see what needs a person, redeliveries and the audit
	redelivers                   // deliver one export once more
	reads                        // see the bodies of exports
	operates                     // redeliver ranges, release and erase exports
	recruits                     // work with candidates, jobs and job applications
	administers                  // change integrations, people and applications
)

// answers are the duties of those who see the text of answers to exports, which may repeat data of a candidate.
const answers = reads | recruits

// Role is a role of the console.
type Role struct {
	API    model.Role // at the management API
	duties duty
}

// recruiterRole is the role of those who work with candidates and not with the gateway.
const recruiterRole = "recruiter"

// Roles are the roles of the console. Each may look at exports and at how integrations do.
var Roles = map[string]Role{
	"viewer":        {model.Viewer, oversees},
	recruiterRole:   {model.Operator, oversees | redelivers | recruits},
	"operator":      {model.Operator, oversees | redelivers | reads | operates},
	"administrator": {model.Admin, oversees | redelivers | reads | operates | recruits | administers},
}

// personOf returns what the portal of a session, or else the first grant that fits, gives; false: none does.
func (c *Console) personOf(s *caller) (model.Person, duty, bool) {
	if p := s.Portal; p != nil {
		return model.Person{ID: "portal:" + p.ID, Tenant: p.Tenant, Role: model.Operator,
			Answers: portalDuties(p)&answers != 0}, portalDuties(p), true
	}
	g := c.grantOf(&s.Session)
	if g == nil {
		return model.Person{}, 0, false
	}
	role := Roles[g.Role]
	return model.Person{ID: "console:" + s.Subject, Name: s.Name, Email: s.Email, Tenant: g.Tenant,
		Role: role.API, Answers: role.duties&answers != 0, Signatures: role.duties&operates != 0}, role.duties, true
}

// grantOf returns the first grant that fits a person; nil: none does.
func (c *Console) grantOf(s *session.Session) *Grant {
	for n := range c.Grants {
		g := &c.Grants[n]
		known := func(address string) bool { return s.Email != "" && identity.SameAddress(address, s.Email) }
		member := func(group string) bool { return slices.Contains(s.Groups, group) }
		if slices.ContainsFunc(g.Emails, known) || slices.ContainsFunc(g.Groups, member) {
			return g
		}
	}
	return nil
}

// roleOf returns the role of a person with its tenant; empty: they have none.
func (c *Console) roleOf(s *session.Session) string {
	if g := c.grantOf(s); g != nil {
		return g.Role + " " + g.Tenant
	}
	return ""
}
