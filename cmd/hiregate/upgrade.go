package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// foreign are the commands of Caddy that put a binary from its build server into the place of the running one. That
// server knows none of our modules: what came would be no hiregate any more. (Caddy 2.11 panics before it comes to
// that.)
var foreign = []string{"upgrade", "add-package", "remove-package"}

// refuseForeign rejects them, and says what to do instead.
func refuseForeign(args []string) error {
	if len(args) < 2 || !slices.Contains(foreign, args[1]) {
		return nil
	}
	return fmt.Errorf("hiregate has no command %s, which is Caddy's and would replace this binary by "+
		"one without hiregate: "+
		"install the binary of another version, as docs/install.md says, or build it with make build", args[1])
}

// hideForeign leaves them out of the help.
func hideForeign(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Hidden = c.Hidden || slices.Contains(foreign, c.Name())
	}
}
