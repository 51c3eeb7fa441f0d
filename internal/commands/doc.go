// Package commands holds the subcommands of hiregate beside those of Caddy. Each is a plain cobra command that
// writes its results to OutOrStdout and everything else (progress, hints) to ErrOrStderr, ends when its context or
// an interrupt says so, and returns an error for exit code 1 rather than exiting.
package commands
