package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/store"
)

// serverAnnotation marks Caddy's commands as extended.
const serverAnnotation = "extended"

// extendServer has Caddy's commands reject a wrong command line as ours do. Those that read a configuration say what is
// wrong with it as validate does, and run exits with ExitDamaged where a person has to say how to go on, so that the unit
// of systemd does not start it again and again.
func extendServer(root *cobra.Command) {
	for _, name := range []string{"run", "start", "reload", "validate", "stop", "adapt"} {
		c, _, err := root.Find([]string{name})
		if err != nil || c == root || c.Annotations[serverAnnotation] != "" {
			continue
		}
		c.Annotations = map[string]string{serverAnnotation: "yes"}
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return exitWith(cmd, terminal.ExitUsage, fmt.Errorf("%s takes no argument: name the file with --config, such as: "+
				"hiregate %[1]s --config %s", name, args[0]))
		}
		c.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
			return exitWith(cmd, terminal.ExitUsage, terminal.FlagError(cmd, err))
		})
		if name != "validate" { // which has an end of its own
			c.RunE = explaining(c.RunE)
		}
	}
}

// explaining returns the run of a command that reads a configuration. Its error is in the log already, in Caddy's words.
func explaining(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := withoutConfig(cmd); err != nil {
			return exitWith(cmd, terminal.ExitUsage, err)
		}
		err := run(cmd, args)
		switch {
		case err == nil:
			return nil
		// Caddy passes on the text of an error alone.
		case strings.Contains(err.Error(), store.ErrDamagedLog.Error()):
			return exitWith(cmd, terminal.ExitDamaged, err)
		}
		cmd.SilenceUsage = true
		if sentence := explained(cmd, err); sentence != err.Error() {
			fmt.Fprintln(os.Stderr, sentence)
		}
		return err
	}
}

// withoutConfig rejects the start of a server that has no configuration: Caddy would run, and serve nothing.
func withoutConfig(cmd *cobra.Command) error {
	if file, _ := cmd.Flags().GetString("config"); file != "" || !slices.Contains([]string{"run", "start"}, cmd.Name()) {
		return nil
	}
	if resume, _ := cmd.Flags().GetBool("resume"); resume {
		return nil
	}
	if _, err := os.Stat("Caddyfile"); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("there is no Caddyfile in this folder: name it with --config, such as: hiregate %s --config /etc/hiregate/Caddyfile",
		cmd.Name())
}
