// Command hiregate is a Caddy with hiregate's modules and commands in it.
package main

import (
	"fmt"
	"os"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/lifeline"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/version"
	_ "github.com/hiregate/hiregate/modules"
)

func main() {
	useZone()
	if err := refuseForeign(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(2)
	}
	os.Args = guessAdapter(forceReload(os.Args))
	lifeline.Hold()
	caddy.CustomBinaryName = "hiregate"
	caddy.CustomVersion = "hiregate " + version.String() + ", Caddy" // whose own version follows
	caddy.CustomLongDescription = description
	for _, g := range groups {
		for _, command := range g.commands {
			register(g.id, command)
		}
	}
	register(serverGroup, func() *cobra.Command { return overview })
	if err := refuseUnknown(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(terminal.ExitUsage)
	}
	os.Args = showOverview(os.Args)
	caddycmd.Main()
}

const (
	description = `hiregate is the gateway between a recruiting service and its partners: a Caddy
that takes the candidate export webhook in, durably, and carries each export to
the partner's own system with its documents.`

	example = `  hiregate dev                          # everything it needs on this machine, to try it
  hiregate send http://localhost:8080/hooks/acme --secret acme-signing-secret
  hiregate export list

  hiregate validate --config Caddyfile  # a configuration of yours; says what is wrong
  hiregate run --config Caddyfile
  hiregate reload --config Caddyfile`
)
