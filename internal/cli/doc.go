// Package cli has the subcommands of hiregate beside those of Caddy, in the packages below it. Each is a plain cobra
// command that writes its results to OutOrStdout and everything else (progress, hints) to ErrOrStderr, ends when its
// context or an interrupt says so, and returns an error for exit code 1 rather than exiting.
package cli
