package admin

import (
	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// Portal returns the command `hiregate portal`.
func Portal() *cobra.Command {
	return group(&cobra.Command{
		Use:   "portal",
		Short: "Lists and revokes the links with which clients see their exports",
		Long: `Lists and revokes the links with which clients see their exports in the console, without signing in. "hiregate
tenant portal" makes one.`,
		Example: `  hiregate tenant portal initech --label "Sam Rivera"
  hiregate portal list initech
  hiregate portal remove initech/4f8f7a3e-2c55-4a53-9d0c-7a1f2f0f4a11`,
	}, portals.list, portals.remove)
}

var portals = noun[api.PortalLink]{
	kind: kind{command: "portal", word: "link", at: "portals", arg: "TENANT/ID",
		example: "initech/4f8f7a3e-2c55-4a53-9d0c-7a1f2f0f4a11"},
	listHelp:   help{short: "Lists the links of a tenant that are valid"},
	removeHelp: help{short: "Revokes a link: who has it sees nothing any more"},
	removed:    "is revoked",
	columns:    []string{"id", "label", "bodies", "made by", "opened", "expires"},
	fields: func(l *api.PortalLink) []field {
		return []field{{"id", l.ID}, {"label", terminal.ID(l.Label)}, {"bodies", yesOrNo(l.Bodies)},
			{"made by", l.MadeBy.String()}, {"opened", l.OpenedAt}, {"expires", l.ExpiresAt}}
	},
}
