package main

import "slices"

// forceReload has the command reload put the configuration in force in any case. Caddy passes over one that says what
// it said before, although a secret in a file that it names may be another one.
func forceReload(args []string) []string {
	if len(args) < 2 || args[1] != "reload" {
		return args
	}
	return slices.Insert(slices.Clone(args), 2, "--force") // before --force=false, which takes it back
}
