package identity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxGroups is how many groups an administrator puts a user in, or opens a client to.
const maxGroups = 100

// MaxUpstreamGroups is how many groups of a user are taken from another provider.
const MaxUpstreamGroups = 1000

// AllGroups returns the groups of a user, in order.
func (u *User) AllGroups() []string {
	all := append(append([]string{}, u.Groups...), u.UpstreamGroups...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Admits reports whether a user may sign in to a client.
func (c *Client) Admits(u *User) bool {
	return len(c.Groups) == 0 || slices.ContainsFunc(u.AllGroups(), func(g string) bool { return slices.Contains(c.Groups, g) })
}

// UpstreamGroups returns groups of another provider as they are called here: none is a group of another provider, or one
// that an administrator made.
func UpstreamGroups(provider string, groups []string) (all []string) {
	for _, g := range groups {
		if g = Tidy(g); g != "" {
			all = append(all, provider+"/"+g)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// checkGroups returns what is wrong with groups, or nil. Only those of providers have a slash.
func checkGroups(groups []string, slash bool) error {
	if len(groups) > maxGroups {
		return fmt.Errorf("there are too many groups: use at most %d", maxGroups)
	}
	for _, g := range groups {
		switch {
		case g == "" || strings.TrimSpace(g) != g:
			return errors.New("a group is empty, or has blanks around it: write its name alone")
		case !slash && strings.Contains(g, "/"):
			return fmt.Errorf("the group %q has a slash: only groups of other providers have one, and those providers say who is in them", g)
		}
		if err := checkText("a group", g); err != nil {
			return err
		}
	}
	return nil
}
