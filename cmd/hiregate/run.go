package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/store"
)

// runAnnotation marks Caddy's command run as extended.
const runAnnotation = "exits"

// extendRun has Caddy's command run exit with ExitDamaged where a person has to say how to go on, so that the unit of
// systemd does not start it again and again.
func extendRun(root *cobra.Command) {
	c, _, err := root.Find([]string{"run"})
	if err != nil || c == root || c.Annotations[runAnnotation] != "" {
		return
	}
	c.Annotations = map[string]string{runAnnotation: "by code"}
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		// Caddy passes on the text of an error alone.
		if err != nil && strings.Contains(err.Error(), store.ErrDamagedLog.Error()) {
			return exitWith(cmd, terminal.ExitDamaged, err)
		}
		return err
	}
}
