package main

import (
	"slices"
	"strings"
	"unicode"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/apply"
	"github.com/hiregate/hiregate/internal/cli/dev"
	"github.com/hiregate/hiregate/internal/cli/partner"
	"github.com/hiregate/hiregate/internal/cli/send"
)

// groups are our commands, by who needs them.
var groups = []struct {
	id, title string
	commands  []func() *cobra.Command
}{
	{"operate", "Exports and where they go:", []func() *cobra.Command{
		admin.Status, admin.Export, admin.Redelivery, admin.Integration, admin.Tenant, admin.APIKey, admin.Audit,
		admin.Healthcheck,
	}},
	{"hire", "Recruiting data:", []func() *cobra.Command{
		admin.Candidate, admin.Application, admin.Document, admin.Job, admin.Step, admin.Compliance,
	}},
	{"people", "People and programs that sign in or apply:", []func() *cobra.Command{
		admin.User, admin.OAuthClient, admin.APIUser,
	}},
	{"try", "Trying it out:", []func() *cobra.Command{
		dev.Command, send.Command, partner.Command, apply.Command,
	}},
}

// Caddy's commands stand apart from ours: those that run the gateway, and the others.
const (
	serverGroup, serverTitle = "server", "The server, which is Caddy:"
	caddyGroup, caddyTitle   = "caddy", "Other commands of Caddy:"
)

var serverCommands = []string{"run", "start", "stop", "reload", "validate", "adapt", "fmt"}

// ours is one of our commands; the root is above it once Caddy has put it there.
var ours *cobra.Command

// trimOfHelp completes the root command, which Caddy makes out of anybody's reach and asks nobody about: its example,
// its groups, and the commands that it hides. Its help has the description trimmed by this function before it comes to
// these.
func trimOfHelp(text string) string {
	if text == description && ours != nil {
		root := ours.Root()
		root.Example = example
		hideForeign(root)
		groupCommands(root)
	}
	return strings.TrimRightFunc(text, unicode.IsSpace)
}

// groupCommands puts every command into the group it belongs to.
func groupCommands(root *cobra.Command) {
	if len(root.Groups()) > 0 {
		return
	}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
	}
	root.AddGroup(&cobra.Group{ID: serverGroup, Title: serverTitle}, &cobra.Group{ID: caddyGroup, Title: caddyTitle})
	for _, c := range root.Commands() {
		id, known := c.Annotations[groupAnnotation]
		switch {
		case known:
			c.GroupID = id
		case slices.Contains(serverCommands, c.Name()):
			c.GroupID = serverGroup
		default:
			c.GroupID = caddyGroup
		}
	}
}

// groupAnnotation is where a command of ours has its group until the root has groups: cobra refuses to run a command
// whose group is unknown.
const groupAnnotation = "group"

// register adds a command of ours to Caddy's.
func register(group string, command func() *cobra.Command) {
	c := command()
	caddycmd.RegisterCommand(caddycmd.Command{
		Name: c.Name(), Usage: c.Use, Short: c.Short, Long: c.Long,
		CobraFunc: func(cmd *cobra.Command) {
			c := command()
			below := c.Commands()
			c.RemoveCommand(below...) // they know the command they are below by its address
			*cmd = *c
			cmd.Annotations = map[string]string{groupAnnotation: group}
			cmd.SetHelpTemplate(c.HelpTemplate()) // below Caddy's help stands where Caddy's commands are documented
			cmd.AddCommand(below...)
			ours = cmd
		},
	})
}
