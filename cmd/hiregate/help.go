package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/apply"
	"github.com/hiregate/hiregate/internal/cli/check"
	"github.com/hiregate/hiregate/internal/cli/database"
	"github.com/hiregate/hiregate/internal/cli/dev"
	"github.com/hiregate/hiregate/internal/cli/documents"
	"github.com/hiregate/hiregate/internal/cli/listen"
	"github.com/hiregate/hiregate/internal/cli/send"
	"github.com/hiregate/hiregate/internal/cli/signature"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// groups are our commands, by who needs them.
var groups = []struct {
	id, title string
	commands  []func() *cobra.Command
}{
	{"operate", "Exports and where they go:", []func() *cobra.Command{
		admin.Status, admin.Cause, admin.Export, admin.Redelivery, admin.Submission, admin.Integration, admin.Tenant, admin.APIKey, admin.Audit, admin.Erase,
		admin.Healthcheck, documents.Command, database.Command,
	}},
	{"hire", "Recruiting data:", []func() *cobra.Command{
		admin.Candidate, admin.Application, admin.Document, admin.Job, admin.Step, admin.Compliance,
		admin.Takeout, admin.Import, admin.Subscription, admin.Event, admin.Portal,
	}},
	{"people", "People and programs that sign in or apply:", []func() *cobra.Command{
		admin.User, admin.Session, admin.OAuthClient, admin.APIUser,
	}},
	{"try", "Trying it out:", []func() *cobra.Command{
		dev.Command, send.Command, listen.Command, apply.Command, check.Command, signature.Command,
	}},
}

// The groups of Caddy's commands: those that run the gateway, and the others.
const (
	serverGroup, serverTitle = "server", "The server, which is Caddy:"
	caddyGroup, caddyTitle   = "caddy", "Other commands of Caddy:"
)

var serverCommands = []string{"run", "start", "stop", "reload", "validate", "adapt", "fmt"}

// overview is the hidden command that shows the help of the root. Caddy makes the root itself, and ends its help with a
// link to its own documentation: only a command that runs can reach it.
var overview = &cobra.Command{
	Use: "overview", Short: "Shows the help of hiregate", Hidden: true, Args: cobra.NoArgs, Annotations: map[string]string{groupAnnotation: serverGroup},
	RunE: func(cmd *cobra.Command, _ []string) error {
		root := cmd.Root()
		root.Example = example
		root.SetHelpTemplate(cmd.HelpTemplate() + exits)
		hideForeign(root)
		groupCommands(root)
		return root.Help()
	},
}

// exits ends the help of the root.
const exits = `
Our commands exit with 0: done; 1: failed or not received; 2: the command line is wrong, and nothing was asked;
3: what was to be checked could not be reached; 4: hiregate run found that the database's log is damaged.

Documentation: https://github.com/hiregate/hiregate/tree/main/docs
That of Caddy and its commands: https://caddyserver.com/docs/command-line
`

// showOverview has the help of the root shown by our command.
func showOverview(args []string) []string {
	if len(args) < 2 || len(args) == 2 && slices.Contains([]string{"help", "--help", "-h"}, args[1]) {
		return []string{args[0], overview.Name()}
	}
	return args
}

// refuseUnknown rejects a command that neither we nor Caddy have. Cobra would do so as well, but exit with 1.
func refuseUnknown(args []string) error {
	if len(args) < 2 || strings.HasPrefix(args[1], "-") {
		return nil
	}
	if args[1] == "help" { // of one
		return refuseUnknown(args[1:])
	}
	names := append(slices.Collect(maps.Keys(caddycmd.Commands())), "help", "completion", "manpage") // which the root gets later
	slices.Sort(names)
	if slices.Contains(names, args[1]) || strings.HasPrefix(args[1], "__complete") {
		return nil
	}
	meant := ""
	if nearest := terminal.Nearest(args[1], names); nearest != "" {
		meant = "did you mean " + nearest + "? "
	}
	return fmt.Errorf("hiregate has no command %q: %s`hiregate help` lists them", args[1], meant)
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

// groupAnnotation holds the group of a command of ours until the root has groups: cobra refuses to run a command whose
// group is unknown.
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
			exitByCode(cmd)
			if registered != nil { // below the root already
				extendValidate(registered.Root())
				extendServer(registered.Root())
			}
			registered = cmd
		},
	})
}

// exitByCode makes a command, and those below it, exit with the code of their error: ExitUsage for a wrong argument or
// flag.
func exitByCode(cmd *cobra.Command) {
	coded := func(cmd *cobra.Command, err error) error {
		if code := terminal.ExitCode(err); code > terminal.ExitFailed {
			return exitWith(cmd, code, err)
		}
		return err
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return coded(cmd, terminal.Usage(check(cmd, args))) }
	}
	for _, field := range []*func(*cobra.Command, []string) error{&cmd.RunE, &cmd.PersistentPreRunE} {
		if run := *field; run != nil {
			*field = func(cmd *cobra.Command, args []string) error { return coded(cmd, run(cmd, args)) }
		}
	}
	if ofFlag := cmd.FlagErrorFunc(); !cmd.HasParent() {
		cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return coded(cmd, terminal.Usage(ofFlag(cmd, err))) })
	}
	for _, below := range cmd.Commands() {
		exitByCode(below)
	}
}
