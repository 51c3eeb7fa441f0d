// Command hiregate is a Caddy with hiregate's modules and commands in it.
package main

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/apply"
	"github.com/hiregate/hiregate/internal/cli/dev"
	"github.com/hiregate/hiregate/internal/cli/lifeline"
	"github.com/hiregate/hiregate/internal/cli/partner"
	"github.com/hiregate/hiregate/internal/cli/send"
	"github.com/hiregate/hiregate/internal/version"
	_ "github.com/hiregate/hiregate/modules"
)

func main() {
	useZone()
	if err := refuseForeign(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(2)
	}
	os.Args = forceReload(os.Args)
	lifeline.Hold()
	caddy.CustomBinaryName = "hiregate"
	caddy.CustomVersion = "hiregate " + version.String() + ", Caddy" // whose own version follows
	caddy.CustomLongDescription = description
	cobra.AddTemplateFunc("trimTrailingWhitespaces", trimOfHelp)
	for _, command := range []func() *cobra.Command{
		dev.Command, send.Command, partner.Command, apply.Command,
		admin.Export, admin.Tenant, admin.Integration, admin.Candidate, admin.Job, admin.Compliance,
		admin.User, admin.OAuthClient, admin.APIUser, admin.APIKey, admin.Audit, admin.Healthcheck,
	} {
		register(command)
	}
	caddycmd.Main()
}

const (
	description = `hiregate is the gateway between a recruiting service and its partners: a Caddy
that takes the candidate export webhook in, durably, and carries each export to
the partner's own system with its documents.`

	example = `  hiregate dev                          # everything it needs on this machine, to try it
  hiregate send http://localhost:8080/hooks/acme --secret acme-secret
  hiregate export list

  hiregate validate --config Caddyfile  # a configuration of yours; says what is wrong
  hiregate run --config Caddyfile
  hiregate reload --config Caddyfile`
)

// ours is one of our commands; the root is above it once Caddy has put it there.
var ours *cobra.Command

// trimOfHelp puts our example into the place of Caddy's, caddy run and the like. Caddy makes the root command out of
// anybody's reach, and asks nobody for its example; but its help has the description trimmed by this function before
// it comes to that.
func trimOfHelp(text string) string {
	if text == description && ours != nil {
		ours.Root().Example = example
		hideForeign(ours.Root())
	}
	return strings.TrimRightFunc(text, unicode.IsSpace)
}

// register adds a command of ours to Caddy's.
func register(command func() *cobra.Command) {
	c := command()
	caddycmd.RegisterCommand(caddycmd.Command{
		Name: c.Name(), Usage: c.Use, Short: c.Short, Long: c.Long,
		CobraFunc: func(cmd *cobra.Command) {
			c := command()
			below := c.Commands()
			c.RemoveCommand(below...) // they know the command they are below by its address
			*cmd = *c
			cmd.SetHelpTemplate(c.HelpTemplate()) // below Caddy's help stands where Caddy's commands are documented
			cmd.AddCommand(below...)
			ours = cmd
		},
	})
}
