package console

import (
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/session"
)

// Grant gives a role to people who are known by their e-mail address or by a group of theirs.
type Grant struct {
	Role   string       // of Roles
	Tenant string       // empty: all tenants
	Labels model.Labels // of the tenants with all of these; without Tenant
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

// strength orders the roles, the weakest first.
var strength = []string{"viewer", recruiterRole, "operator", "administrator"}

// Roles are the roles of the console. Each may look at exports and at how integrations do.
var Roles = map[string]Role{
	"viewer":        {model.Viewer, oversees},
	recruiterRole:   {model.Operator, oversees | redelivers | recruits},
	"operator":      {model.Operator, oversees | redelivers | reads | operates},
	"administrator": {model.Admin, oversees | redelivers | reads | operates | recruits | administers},
}

// grants holds the lines that give a person a role.
type grants struct {
	first    *Grant   // the first one that fits them, of those without labels; nil: none does
	labelled []*Grant // all that fit them, of those with labels
}

func (c *Console) grantsOf(s *session.Session) (all grants) {
	known := func(address string) bool { return s.Email != "" && identity.SameAddress(address, s.Email) }
	member := func(group string) bool { return slices.Contains(s.Groups, group) }
	for n := range c.Grants {
		g := &c.Grants[n]
		switch {
		case !slices.ContainsFunc(g.Emails, known) && !slices.ContainsFunc(g.Groups, member):
		case len(g.Labels) > 0:
			all.labelled = append(all.labelled, g)
		case all.first == nil:
			all.first = g
		}
	}
	return all
}

// at returns the strongest that gives a role at a tenant; nil: none does. The tenant's labels are those that it has now.
func (all grants) at(t *model.Tenant) (g *Grant) {
	if all.first != nil && (all.first.Tenant == "" || all.first.Tenant == t.Name) {
		g = all.first
	}
	for _, one := range all.labelled {
		if t.Labels.Has(one.Labels) && (g == nil || slices.Index(strength, one.Role) > slices.Index(strength, g.Role)) {
			g = one
		}
	}
	return g
}

// roleOf returns the roles of a person, each with its tenant or its labels; empty: they have none.
func (c *Console) roleOf(s *session.Session) string {
	all := c.grantsOf(s)
	var roles []string
	if all.first != nil {
		roles = append(roles, all.first.Role+" "+all.first.Tenant)
	}
	for _, g := range all.labelled {
		roles = append(roles, g.Role+" "+strings.Join(g.Labels.Words(), " "))
	}
	return strings.Join(roles, ", ")
}
